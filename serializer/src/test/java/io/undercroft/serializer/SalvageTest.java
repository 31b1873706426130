package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Three snapshots of two storages each; the first storage has three chunks with tensors `left`, `middle`, `right` and
/// `all`.
class SalvageTest {
    private static final int CHUNK = CroftImage.CHUNK;

    @TempDir
    private Path folder;
    private Path file;
    private byte[] bytes;
    private long middle;
    /// Where the indexes of the snapshots are.
    private final long[] indexes = new long[3];

    @BeforeEach
    void write() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(chunk(1));
        middle = image.write(chunk(2));
        image.write(chunk(3));
        byte[] first = named(image).commit("first", 0);
        byte[] second = again(CroftImage.after(first)).commit("second", 0);
        bytes = again(CroftImage.after(second)).commit("third", 0);
        file = Files.write(folder.resolve("model.croft"), bytes);
        for (int i = 0; i < indexes.length; i++) {
            indexes[i] = CroftImage.snapshot(bytes).openAt(i + 1).commit().indexOffset();
        }
    }

    private static CroftImage again(CroftImage image) {
        for (int i = 1; i <= 3; i++) {
            image.reuse(FileLayout.MAPPING_ALIGNMENT + (i - 1L) * CHUNK, chunk(i));
        }
        return named(image);
    }

    private static CroftImage named(CroftImage image) {
        int storage = image.storage();
        image.tensor("right", storage, 2L * CHUNK, CHUNK).tensor("middle", storage, CHUNK, CHUNK)
                .tensor("left", storage, 0, CHUNK).tensor("all", storage, 0, 3L * CHUNK);
        image.write(chunk(9));
        return image.tensor("other", CHUNK);
    }

    private static byte[] chunk(int seed) {
        return noise(CHUNK, seed);
    }

    /// Chunks of equal bytes are stored once.
    @Test
    void aDamagedChunkThatIsUsedTwiceIsOneDamage() throws IOException {
        Path constant = folder.resolve("constant.croft");
        Checkpoint.save(constant, Map.of("ones", Tensor.ones(DType.UINT8, 2 * CHUNK)),
                SaveOptions.defaults().chunkSize(CHUNK));
        byte[] damaged = Files.readAllBytes(constant);
        damaged[(int) FileLayout.MAPPING_ALIGNMENT + 5] ^= 1;
        Files.write(constant, damaged);
        try (CroftFile checkpoints = CroftFile.open(constant); Salvage salvage = checkpoints.salvage()) {
            assertThat(checkpoints.verify().damages()).hasSize(1);
            assertThat(salvage.damages()).hasSize(1);
        }
    }

    @Test
    void aSoundFileIsAllThere() throws IOException {
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            assertThat(salvage.names()).containsExactly("all", "left", "middle", "other", "right");
            assertThat(salvage.damagedNames()).isEmpty();
            assertThat(salvage.damages()).isEmpty();
            assertThat(salvage.isSearched()).isFalse();
            assertThat(salvage.skippedCommit()).isEmpty();
            assertThat(salvage.snapshot().message()).isEqualTo("third");
        }
    }

    /// The number of a commit in its record is not that of its snapshot after a file was compacted.
    @Test
    void aTruncatedFileIsRefusedWithoutTheNumberOfACommitAndWithWhatSavesTheRest() throws IOException {
        Path one = folder.resolve("one.croft");
        CroftFile.open(one).commit(Map.of("a", Tensor.ones(DType.UINT8, 2 * CHUNK)), "one");
        byte[] whole = Files.readAllBytes(one);
        Files.write(one, Arrays.copyOf(whole, whole.length - 1));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(one))
                .withMessageContaining("the file has " + (whole.length - 1) + " bytes, but a commit made it ")
                .withMessageEndingWith("The file is damaged: fetch it again, restore a copy, or save what is intact "
                        + "with CroftFile.salvage");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> CroftFile.open(one).salvage())
                .withMessageContaining("no snapshot of the file can be salvaged: the file has ")
                .withMessageEndingWith("Fetch the file again or restore a copy");
    }

    @Test
    void soundTensorsAreGivenAndDamagedOnesOnlyAsWhatTheyAre() throws IOException {
        bytes[(int) middle + 5] ^= 1;
        Files.write(file, bytes);
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            assertThat(salvage.names()).containsExactly("left", "other", "right");
            assertThat(salvage.damagedNames()).containsExactly("all", "middle");
            assertThat(salvage.damages()).containsExactly(new Damage("tensors 'middle', 'all'", middle, CHUNK,
                    "V14-CHECKSUM",
                    "the checksum of a chunk of storage 0 does not match",
                    Remedy.naming("The file is damaged: fetch it again, restore a copy, or save what is intact with {}",
                            "CroftFile.salvage")));
            assertThat(salvage.tensor("left").getLong(7)).isEqualTo(chunk(1)[7]);
            assertThat(salvage.tensor("right").storage()).isSameAs(salvage.tensor("left").storage());
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> salvage.tensor("middle"))
                    .withMessageContainingAll(file.toString(), "'middle'").extracting(FormatException::code)
                    .isEqualTo("V14-CHECKSUM");
            Tensor damaged = salvage.damagedTensor("middle");
            assertThat(damaged.getLong(5)).isEqualTo(chunk(2)[5] ^ 1);
            assertThat(damaged.storage()).isSameAs(salvage.tensor("left").storage());
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> salvage.damagedTensor("left"));
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> salvage.tensor("nowhere"))
                    .withMessageContaining("'nowhere' among its 3 intact and 2 damaged");
        }
        assertThat(Files.readAllBytes(file)).isEqualTo(bytes);
    }

    @Test
    void whatIsSoundCanBeSavedAgain() throws IOException {
        bytes[(int) middle + 5] ^= 1;
        Files.write(file, bytes);
        Path rescued = folder.resolve("rescued.croft");
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            Map<String, Tensor> left = new LinkedHashMap<>();
            salvage.names().forEach(name -> left.put(name, salvage.tensor(name)));
            Checkpoint.save(rescued, left);
        }
        try (Checkpoint checkpoint = Checkpoint.open(rescued)) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
            assertThat(checkpoint.tensor("right").getLong(1)).isEqualTo(chunk(3)[1]);
        }
    }

    @Test
    void anOlderSnapshotIsOpenedIfTheNewerOnesDoNot() throws IOException {
        bytes[(int) indexes[2] + 40] ^= 1;
        Files.write(file, bytes);
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            assertThat(salvage.snapshot().message()).isEqualTo("second");
            assertThat(salvage.isSearched()).isFalse();
            assertThat(salvage.skippedCommit()).get().extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        }
        bytes[(int) indexes[1] + 40] ^= 1;
        Files.write(file, bytes);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file));
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            assertThat(salvage.snapshot().message()).isEqualTo("first");
            assertThat(salvage.isSearched()).isTrue();
            assertThat(salvage.skippedCommit()).isPresent();
            assertThat(salvage.names()).hasSize(5);
        }
    }

    @Test
    void aSnapshotMayBeAskedFor() throws IOException {
        try (Salvage salvage = CroftFile.open(file, SaveOptions.defaults(),
                OpenOptions.defaults().snapshot(1)).salvage()) {
            assertThat(salvage.snapshot().message()).isEqualTo("first");
        }
    }

    @Test
    void aDamagedIndexHasItsSoundTensorsStill() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(chunk(1));
        int storage = image.storage();
        for (int i = 0; i < 2000; i++) {
            image.tensor(String.format(Locale.ROOT, "tensor %04d", i), storage, i, 1);
        }
        bytes = image.commit();
        String name = "tensor 1500";
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(name);
        bytes[at] ^= 1;
        Files.write(file, bytes);
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            assertThat(salvage.names()).hasSizeBetween(1000, 1999).contains("tensor 0000", "tensor 1999")
                    .doesNotContain(name);
            assertThat(salvage.damages()).isNotEmpty()
                    .allSatisfy(damage -> assertThat(damage.code()).isEqualTo("V14-CHECKSUM"));
            assertThat(salvage.tensor("tensor 1999").getLong(0)).isEqualTo(chunk(1)[1999]);
        }
    }

    @Test
    void bytesInAFileThatIsGoneAreMissedWhenTheyAreTouched() throws IOException {
        CroftImage image = CroftImage.first();
        int base = image.base(BaseRecord.foreign("gone.bin", Digest128.ZERO, CHUNK));
        image.borrow(base, 0, chunk(1)).tensor("gone", CHUNK).write(chunk(2));
        Files.write(file, image.tensor("here", CHUNK).commit());
        try (Salvage salvage = CroftFile.open(file, SaveOptions.defaults(),
                OpenOptions.defaults().root(folder)).salvage()) {
            assertThat(salvage.names()).containsExactly("gone", "here");
            assertThat(salvage.tensor("here").getLong(0)).isEqualTo(chunk(2)[0]);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> salvage.tensor("gone").getLong(0))
                    .extracting(FormatException::code).isEqualTo("V18-BASE");
        }
    }

    @Test
    void everyTruncationGivesTensorsThatAreRightOrATypedError() throws IOException {
        for (int length = bytes.length - 1; length > 0; length -= 4093) {
            Files.write(file, Arrays.copyOf(bytes, length));
            try (Salvage salvage = CroftFile.open(file).salvage()) {
                assertThat(salvage.tensor("left").getLong(7)).isEqualTo(chunk(1)[7]);
            } catch (FormatException e) {
                assertThat(e.getMessage()).contains(file.toString());
            }
        }
    }

    @Test
    void whatIsNoCroftFileOrIsToBeWrittenToIsRefused() throws IOException {
        assertThatIllegalArgumentException().isThrownBy(
                () -> CroftFile.open(file, SaveOptions.defaults(),
                        OpenOptions.defaults().mapping(MapMode.SHARED)).salvage());
        Files.writeString(file, "something else");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> CroftFile.open(file).salvage())
                .withMessageContaining("only those can be salvaged");
    }

    @Test
    void whatWasClosedIsGone() throws IOException {
        Salvage salvage = CroftFile.open(file).salvage();
        Tensor left = salvage.tensor("left");
        salvage.close();
        assertThatIllegalStateException().isThrownBy(() -> left.getLong(0));
    }
}
