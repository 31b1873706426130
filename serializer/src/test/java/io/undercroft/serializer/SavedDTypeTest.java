package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// States that are saved with another dtype.
class SavedDTypeTest {
    private static final SaveOptions HALVES = SaveOptions.defaults().dtype(DType.FLOAT16);

    @TempDir
    Path folder;

    private Path file() {
        return folder.resolve("x.croft");
    }

    @Test
    void floatingPointNumbersAreConvertedAndOthersAreNot() throws IOException {
        Tensor floats = Tensor.of(1f, 1 / 3f);
        SaveReport report = Checkpoint.save(file(), Map.of("f", floats, "d", Tensor.of(2.0), "h",
                Tensor.of(3f).to(DType.FLOAT16), "i", Tensor.of(4L), "b", Tensor.of(true), "list",
                List.of(Tensor.of(5f), "text")), HALVES);
        assertThat(report.losses()).isEmpty();
        try (Checkpoint c = Checkpoint.open(file())) {
            assertThat(c.tensor("f").contentEquals(floats.to(DType.FLOAT16))).isTrue();
            assertThat(c.tensor("d").dtype()).isEqualTo(DType.FLOAT16);
            assertThat(c.tensor("h").getFloat(0)).isEqualTo(3);
            assertThat(c.tensor("i").dtype()).isEqualTo(DType.INT64);
            assertThat(c.tensor("b").dtype()).isEqualTo(DType.BOOL);
            assertThat(c.tensor("list/0").dtype()).isEqualTo(DType.FLOAT16);
            assertThat(c.verify().damages()).isEmpty();
        }
        assertThat(floats.dtype()).isEqualTo(DType.FLOAT32);
    }

    @Test
    void tensorsThatShareAStorageStillDo() throws IOException {
        Tensor whole = Tensor.arange(DType.FLOAT32, 12).view(3, 4);
        Checkpoint.save(file(), Map.of("whole", whole, "column", whole.select(1, 2), "turned", whole.t(), "storage",
                new TypedStorage(whole.storage(), DType.FLOAT32)), HALVES);
        try (Checkpoint c = Checkpoint.open(file())) {
            Tensor saved = c.tensor("whole");
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("column").toFloatArray()).containsExactly(2, 6, 10);
            assertThat(c.tensor("turned").contentEquals(saved.t())).isTrue();
            assertThat(c.value("storage", TypedStorage.class).dtype()).isEqualTo(DType.FLOAT16);
        }
    }

    @Test
    void blocksAreDecodedWhereTheyAre() throws IOException {
        DType blocks = DType.blocks("Q8_0");
        Tensor rows = Tensor.zeros(blocks, 3, 2);
        rows.bytes().fill((byte) 0x3C);
        Checkpoint.save(file(), Map.of("rows", rows, "row", rows.select(0, 2), "block", rows.select(0, 1).select(0, 1)),
                SaveOptions.defaults().dtype(DType.FLOAT32));
        try (Checkpoint c = Checkpoint.open(file())) {
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("rows").contentEquals(rows.to(DType.FLOAT32))).isTrue();
            assertThat(c.tensor("row").shape()).isEqualTo(Shape.of(64));
            assertThat(c.tensor("row").storageOffset()).isEqualTo(128);
            assertThat(c.tensor("block").shape()).isEqualTo(Shape.of(32));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file(), Map.of("t", rows.t()),
                        SaveOptions.defaults().dtype(DType.FLOAT32)))
                .withMessageContaining("'t' has rows of blocks that are not adjacent");
    }

    @Test
    void whatCannotBeConvertedIsNamed() {
        Storage storage = Storage.allocate(16);
        Tensor floats = Tensor.of(storage, DType.FLOAT32, 0, Shape.of(4));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file(), Map.of("f", floats, "g",
                Tensor.of(storage, DType.FLOAT32, 0, Shape.of(2)), "i",
                Tensor.of(storage, DType.INT64, 0, Shape.of(2))), HALVES))
                .withMessageContaining("'i' shares its storage with a tensor of float32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file(), Map.of("f", floats, "s", storage), HALVES))
                .withMessageContaining("as bytes");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file(), Map.of("q", Tensor.zeros(DType.QINT8, 2)), HALVES))
                .withMessageContaining("dequantize()");
        assertThatIllegalArgumentException().isThrownBy(() -> SaveOptions.defaults().dtype(DType.INT8))
                .withMessageContaining("int8");
        Tensor freed = Tensor.of(1f);
        freed.storage().release();
        assertThatIllegalStateException().isThrownBy(() -> Checkpoint.save(file(), Map.of("f", freed), HALVES));
    }

    @Test
    void aStateIsConvertedInTheBackgroundAndOverItsOwnFile() throws Exception {
        Checkpoint.save(file(), Map.of("w", Tensor.of(1f, 2f), "m", Tensor.meta(DType.FLOAT32, 3)));
        try (Checkpoint c = Checkpoint.open(file())) {
            assertThat(c.tensor("w").device()).isEqualTo(Device.CPU);
            assertThatThrownBy(() -> Checkpoint.save(file(), c.state(), HALVES))
                    .isInstanceOf(SourceFileException.class);
            Checkpoint.save(file(), c.state(), HALVES.replacingSource());
            Path later = folder.resolve("later.croft");
            try (var saving = Checkpoint.saveAsync(later, c.state(), HALVES)) {
                saving.join();
            }
            for (Path path : List.of(file(), later)) {
                try (Checkpoint saved = Checkpoint.open(path)) {
                    assertThat(saved.tensor("w").dtype()).isEqualTo(DType.FLOAT16);
                    assertThat(saved.tensor("w").toFloatArray()).containsExactly(1, 2);
                    assertThat(saved.tensor("m").dtype()).isEqualTo(DType.FLOAT16);
                }
            }
        }
    }
}
