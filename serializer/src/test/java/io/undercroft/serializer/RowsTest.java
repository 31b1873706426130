package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Rows of a tensor without the rest.
class RowsTest {
    private static final int ROWS = 1 << 16;
    private static final int COLUMNS = 64;

    @TempDir
    private Path folder;
    private Path file;
    private Tensor embedding;

    @BeforeEach
    void saveSixteenMebibytes() throws IOException {
        file = folder.resolve("model.croft");
        embedding = Tensor.arange(DType.INT32, ROWS * COLUMNS).view(ROWS, COLUMNS);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("wte", embedding);
        state.put("wte.t", embedding.t());
        state.put("half", embedding.narrow(1, 3, 7));
        state.put("scalar", Tensor.scalar(1.5));
        state.put("complex", Tensor.of(new Complex(1, 2), new Complex(3, 4)).conj());
        state.put("nibbles", nibbles());
        Checkpoint.save(file, state);
    }

    private static Tensor nibbles() {
        Storage storage = Storage.copyOf(noise(50, 3));
        return Tensor.of(storage, DType.QUINT4X2, 0, Shape.of(20, 5), 5, 1);
    }

    @Test
    void anyRowsAreGatheredInTheirOrderAndNoOtherIsRead() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Tensor rows = c.rows("wte", new long[]{5, 60_000, 5});
            assertThat(rows.shape()).isEqualTo(Shape.of(3, COLUMNS));
            assertThat(rows.getInt(0, 2)).isEqualTo(5 * COLUMNS + 2).isEqualTo(rows.getInt(2, 2));
            assertThat(rows.getInt(1, 63)).isEqualTo(60_000 * COLUMNS + 63);
            assertThat(c.rows("wte.t", new long[]{1}).getInt(0, 3)).isEqualTo(3 * COLUMNS + 1);
            assertThat(c.storages()).noneMatch(Storage::isMaterialized);
            assertThat(c.rows("wte", new long[0]).shape()).isEqualTo(Shape.of(0, COLUMNS));
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> c.rows("wte", new long[]{0, 7, ROWS}))
                    .withMessage("row " + ROWS + ", at index 2 of the array, of 'wte', which has " + ROWS
                            + " rows, counted from 0");
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> c.rows("wte", new long[]{-1})).withMessageContaining("row -1, at index 0");
            assertThatExceptionOfType(NoSuchElementException.class)
                    .isThrownBy(() -> c.rows("wtf", new long[]{0})).withMessageContaining("did you mean 'wte'");
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> c.rows("scalar", new long[]{0}));
        }
    }

    @Test
    void tensorsAreAMapInTheOrderOfTheirNames() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().readOnly())) {
            Map<String, Tensor> tensors = c.tensors();
            assertThat(tensors.keySet()).containsExactlyElementsOf(c.names());
            assertThat(tensors).hasSize(c.names().size()).containsKey("wte").doesNotContainKey("wtf");
            assertThat(tensors.get("wte")).isSameAs(c.tensor("wte"));
            assertThat(tensors.get("wtf")).isNull();
            tensors.forEach((name, tensor) -> assertThat(tensor).isSameAs(c.tensor(name)));
            assertThat(c.storages()).noneMatch(Storage::isMaterialized);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> c.tensor("wte").setLong(0, 0, 1));
        }
    }

    @Test
    void rowsAreThoseOfTheTensor() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            for (String name : new String[]{"wte", "wte.t", "half"}) {
                Tensor rows = c.rows(name, 3, 6);
                assertThat(c.storages()).noneMatch(Storage::isMaterialized);
                try (Checkpoint other = Checkpoint.open(file)) {
                    assertThat(rows.contentEquals(other.tensor(name).narrow(0, 3, 3))).as(name).isTrue();
                }
                assertThat(rows.isContiguous()).isTrue();
                assertThat(rows.storage().nbytes()).isEqualTo(rows.nbytes());
            }
            assertThat(c.rows("wte", ROWS, ROWS).numel()).isZero();
            assertThat(c.rows("complex", 1, 2).getComplex(0).imaginary()).isEqualTo(-4);
        }
    }

    @Test
    void rowsThatBeginWithinAByteAreThoseOfTheTensor() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            for (int from = 0; from < 20; from++) {
                assertThat(c.rows("nibbles", from, 20).contentEquals(nibbles().narrow(0, from, 20 - from))).isTrue();
            }
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingElseIsRead() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH))) {
            assertThat(c.contains("wte")).isTrue();
            long before = Proc.bytesReadByThisThread();
            Tensor rows = c.rows("wte", ROWS / 2, ROWS / 2 + 100);
            long read = Proc.bytesReadByThisThread() - before;
            assertThat(rows.getLong(99, 63)).isEqualTo((ROWS / 2 + 100) * COLUMNS - 1);
            // The chunks that cover the rows; a chunk has 1 MiB at most.
            assertThat(read).isBetween(rows.nbytes(), (2L << 20) + 4096);
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.contains("wte")).isTrue();
            long before = Proc.bytesReadByThisThread();
            Tensor rows = c.rows("wte", 5, 6);
            assertThat(Proc.bytesReadByThisThread() - before).isBetween(rows.nbytes(), rows.nbytes() + 2048);
        }
    }

    @Test
    void theyStayWhenTheCheckpointIsClosedAndChangesDoNotShow() throws IOException {
        Tensor rows;
        try (Checkpoint c = Checkpoint.open(file)) {
            rows = c.rows("wte", 1, 2);
            rows.setLong(0, 0, -1);
            assertThat(c.tensor("wte").getLong(1, 0)).isEqualTo(COLUMNS);
            c.tensor("wte").setLong(1, 0, -2);
            assertThat(c.rows("wte", 1, 2).getLong(0, 0)).isEqualTo(-2);
        }
        assertThat(rows.getLong(0, 0)).isEqualTo(-1);
    }

    @Test
    void rowsThatAreNotThereAreRefused() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> c.rows("wte", 0, ROWS + 1))
                    .withMessage("rows from 0 to " + (ROWS + 1) + " of 'wte', which has " + ROWS
                            + " rows, counted from 0");
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> c.rows("scalar", 0, 1))
                    .withMessage("rows from 0 to 1 of 'scalar', which has no dimensions");
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> c.rows("wte", -2, 0))
                    .withMessageContaining("rows from -2 to 0 of 'wte'");
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> c.rows("wte", 3, 2));
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.rows("wtf", 0, 1))
                    .withMessageContaining("did you mean 'wte'");
        }
    }

    @Test
    void theyCanBeWrittenToHoweverTheFileIsMapped() throws IOException {
        for (MapMode mode : MapMode.values()) {
            try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().mapping(mode))) {
                Tensor rows = c.rows("wte", 1, 2);
                rows.setLong(0, 0, -1);
                assertThat(rows.getLong(0, 0)).as("%s", mode).isEqualTo(-1);
                assertThat(c.rows("wte", 1, 2).getLong(0, 0)).isEqualTo(COLUMNS);
            }
        }
    }

    @Test
    void onMetaThereAreNoElements() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().onMeta())) {
            Tensor rows = c.rows("wte", 3, 5);
            assertThat(rows.storage().isMeta()).isTrue();
            assertThat(rows.shape()).isEqualTo(Shape.of(2, COLUMNS));
        }
    }

    @Test
    void rowsInSoundChunksAreGivenWhateverElseIsDamaged() throws IOException {
        int chunk = CroftImage.CHUNK;
        CroftImage image = CroftImage.first();
        byte[] first = noise(3 * chunk, 1);
        long place = image.write(first);
        image.zeros(chunk).write(noise(chunk, 2));
        byte[] bytes = image.tensor("all", 5L * chunk).commit();
        bytes[(int) place + chunk + 5] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH))) {
            assertThat(c.rows("all", 0, chunk).getLong(chunk - 1)).isEqualTo(first[chunk - 1]);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.rows("all", chunk - 1, chunk + 1))
                    .withMessageContainingAll(file.toString(), "V14-CHECKSUM", "'all'");
            assertThat(c.damages()).singleElement().extracting(Damage::where).asString().contains("'all'");
            Tensor rows = c.rows("all", 3 * chunk - 1, 4 * chunk + 1);
            assertThat(rows.getLong(0)).isEqualTo(first[3 * chunk - 1]);
            assertThat(rows.narrow(0, 1, chunk).toByteArray()).containsOnly(0);
            assertThat(rows.getLong(chunk + 1)).isEqualTo(noise(chunk, 2)[0]);
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.rows("all", chunk - 1, chunk + 1).numel()).isEqualTo(2);
        }
    }
}
