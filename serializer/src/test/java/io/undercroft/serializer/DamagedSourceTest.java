package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// A flipped bit in one of three chunks of a storage, with default options: whatever reads many bytes finds it, and
/// gives it no new checksum.
class DamagedSourceTest {
    private static final int CHUNK = 1 << 20;
    private static final int SIZE = 3 * CHUNK;

    @TempDir
    Path folder;

    private final byte[] bytes = new byte[SIZE];
    private Path file;
    private Path copy;

    @BeforeEach
    void saveAndDamage() throws IOException {
        new Random(1).nextBytes(bytes);
        file = folder.resolve("model.croft");
        copy = folder.resolve("copy.croft");
        Checkpoint.save(file, state());
        damage(CHUNK + 7, 1);
    }

    /// The second chunk is that of `middle`.
    private Map<String, Object> state() {
        Tensor all = Tensor.of(Storage.copyOf(bytes), DType.UINT8, 0, Shape.of(SIZE),
                new long[]{1});
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("start", all.narrow(0, 0, 100));
        state.put("middle", all.narrow(0, CHUNK, CHUNK));
        state.put("end", all.narrow(0, 2 * CHUNK, CHUNK));
        state.put("other", Tensor.of(1f, 2f));
        return state;
    }

    private void damage(int at, int mask) throws IOException {
        byte[] saved = Files.readAllBytes(file);
        int start = indexOf(saved, Arrays.copyOf(bytes, 64));
        saved[start + at] ^= (byte) mask;
        Path other = Files.write(folder.resolve("damaged"), saved);
        Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
    }

    private static int indexOf(byte[] all, byte[] part) {
        for (int at = 0;; at++) {
            if (Arrays.equals(all, at, at + part.length, part, 0, part.length)) {
                return at;
            }
        }
    }

    private void assertRefused(ThrowingCallable work) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(work)
                .withMessageContainingAll(file.toString(), "damages tensor 'middle'")
                .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        assertThat(copy).doesNotExist();
    }

    /// What reads all bytes of a state.
    enum Use {
        SAVE, SAVE_SMALL_CHUNKS, SAVE_WHOLE_STORAGES, SAVE_ASYNC, STREAM, COMMIT, EXPORT, LOAD_INTO
    }

    private void use(Use use, Checkpoint c) throws IOException {
        SaveOptions options = SaveOptions.defaults();
        switch (use) {
            case SAVE -> Checkpoint.save(copy, c.tree());
            case SAVE_SMALL_CHUNKS -> Checkpoint.save(copy, c.tree(), options.chunkSize(1 << 16));
            case SAVE_WHOLE_STORAGES -> Checkpoint.save(copy, c.tree(), options.wholeStorages());
            case SAVE_ASYNC -> Checkpoint.saveAsync(copy, c.tree()).join();
            case STREAM -> Checkpoint.save(Channels.newChannel(new ByteArrayOutputStream()), c.tree(), options);
            case COMMIT -> {
                try (CroftFile growing = CroftFile.open(copy, options, OpenOptions.defaults())) {
                    growing.commit(c.tree(), "first");
                }
            }
            case EXPORT -> Checkpoint.save(folder.resolve("middle.raw"), c.tensor("middle"));
            case LOAD_INTO -> c.loadInto(zeros(c));
        }
    }

    private static Map<String, Object> zeros(Checkpoint c) {
        Map<String, Object> zeros = new LinkedHashMap<>();
        c.tensors().forEach((name, tensor) -> zeros.put(name, Tensor.zeros(tensor.dtype(), tensor.size(0))));
        return zeros;
    }

    @ParameterizedTest
    @EnumSource
    void whatReadsAllBytesFindsTheDamageAndWritesNothing(Use use) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            assertRefused(() -> use(use, c));
            assertRefused(() -> use(use, c));
            assertThat(c.damages()).extracting(Damage::where).containsExactly("tensor 'middle'");
        }
        assertThat(folder.resolve("middle.raw")).doesNotExist();
        assertThat(folder.toFile().list()).noneMatch(name -> name.endsWith(".croft-tmp"));
    }

    /// A storage that has bytes of the file in common with another one is not kept in memory.
    @ParameterizedTest
    @EnumSource
    void damageOfAStorageThatIsNotKeptIsFoundToo(Use use) throws IOException {
        Map<String, Object> state = state();
        state.put("equal", Tensor.of(Storage.copyOf(bytes), DType.UINT8, 0, Shape.of(100), new long[]{1}));
        Checkpoint.save(file, state);
        damage(CHUNK + 7, 1);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.storages().getFirst().isDecodedOnDemand()).isTrue();
            assertRefused(() -> use(use, c));
            Checkpoint.save(copy, Map.of("end", c.tensor("end")));
        }
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.tensor("end").getLong(CHUNK - 1)).isEqualTo(bytes[SIZE - 1] & 0xFF);
        }
    }

    /// What copies all bytes of a storage to other memory.
    enum Copying {
        COPY, COPY_FROM, SLICE, SHARING_COPY, MOVE, SHARE, TENSOR_COPY, TENSOR_COPY_FROM, TENSOR_CONVERSION
    }

    @SuppressWarnings("CheckReturnValue")
    private static void copy(Copying copying, Storage storage) {
        Tensor all = Tensor.of(storage, DType.UINT8, 0, Shape.of(SIZE), new long[]{1});
        switch (copying) {
            case COPY -> storage.copy().release();
            case COPY_FROM -> Storage.allocate(SIZE, Allocator.offHeap()).copyFrom(storage);
            case SLICE -> storage.slice(CHUNK, 100).copy();
            case SHARING_COPY -> StorageCopier.into(Allocator.offHeap()).copy(storage);
            case MOVE -> storage.moveTo(Allocator.offHeap());
            case SHARE -> storage.shareMemory();
            case TENSOR_COPY -> all.copy();
            case TENSOR_COPY_FROM -> Tensor.zeros(DType.UINT8, SIZE).copyFrom(all);
            case TENSOR_CONVERSION -> all.to(DType.INT16);
        }
    }

    /// Nothing could find the damage in the copy.
    @ParameterizedTest
    @EnumSource
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void aCopyOfAWholeStorageFindsTheDamage(Copying copying) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Storage storage = c.tensor("middle").storage();
            assertRefused(() -> copy(copying, storage));
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
            assertThat(c.tensor("end").copy().contentEquals((Tensor) state().get("end"))).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.NONE))) {
            copy(copying, c.tensor("middle").storage());
        }
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsCheckedIfThatIsWanted(Use use) throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.NONE))) {
            use(use, c);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void publishingFindsItToo() throws IOException {
        String name = "croft-test-" + UUID.randomUUID().toString().substring(0, 12);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertRefused(() -> PublishedCheckpoint.publish(name, c.tree(), SaveOptions.defaults()));
        }
        assertThat(PublishedCheckpoint.unpublish(name)).isFalse();
    }

    @Test
    void loadingIntoAStateChangesNothing() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Map<String, Object> target = zeros(c);
            assertRefused(() -> c.loadInto(target));
            assertThat(((Tensor) target.get("other")).getFloat(0)).isZero();
        }
    }

    @Test
    void inMemoryADamagedStorageIsRefusedAndOthersAreGiven() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
            assertThat(c.damages()).extracting(Damage::where).containsExactly("tensor 'middle'");
            assertRefused(() -> c.tensor("middle"));
            assertRefused(() -> c.storages().getFirst().get(0));
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
            assertThat(c.tensor("other").getFloat(1)).isEqualTo(2);
            assertThat(c.tensor("end").getLong(5)).isEqualTo(Byte.toUnsignedInt(bytes[2 * CHUNK + 5]));
        }
        OpenOptions unchecked = OpenOptions.defaults().inMemory().checksums(ChecksumPolicy.NONE);
        try (Checkpoint c = Checkpoint.open(file, unchecked)) {
            assertThat(c.damages()).isEmpty();
            assertThat(c.tensor("middle").getLong(7)).isEqualTo(Byte.toUnsignedInt(bytes[CHUNK + 7]) ^ 1);
        }
    }

    /// Only chunks that hold elements are written.
    @ParameterizedTest
    @ValueSource(longs = {1 << 16, 1 << 20, 1 << 21})
    void whatTheDamageDoesNotTouchIsSaved(long chunkSize) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Map<String, Object> part = Map.of("start", c.tensor("start"), "end", c.tensor("end"));
            Checkpoint.save(copy, part, SaveOptions.defaults().chunkSize(chunkSize));
            Checkpoint.save(folder.resolve("end.raw"), c.tensor("end"));
        }
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.verify().isIntact()).isTrue();
            assertThat(c.tensor("end").contentEquals((Tensor) state().get("end"))).isTrue();
        }
    }

    @Test
    void aSingleElementIsReadWithoutLookingAtTheOthersUnlessThatIsWanted() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("middle").getLong(3)).isEqualTo(Byte.toUnsignedInt(bytes[CHUNK + 3]));
            assertThat(c.damages()).isEmpty();
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH))) {
            assertRefused(() -> c.tensor("middle"));
        }
    }

    @Test
    void whatTheProgramWroteIsNotDamage() throws IOException {
        damage(CHUNK + 7, 1);
        try (Checkpoint c = Checkpoint.open(file)) {
            c.tensor("middle").setLong(5, 99);
            c.tensor("end").fill(3);
            Checkpoint.save(copy, c.tree());
            Checkpoint.saveAsync(folder.resolve("async.croft"), c.tree()).join();
            Checkpoint.save(folder.resolve("middle.raw"), c.tensor("middle"));
        }
        for (String name : List.of("copy.croft", "async.croft")) {
            try (Checkpoint c = Checkpoint.open(folder.resolve(name))) {
                assertThat(c.verify().isIntact()).isTrue();
                assertThat(c.tensor("middle").getLong(5)).isEqualTo(99);
                assertThat(c.tensor("end").getLong(CHUNK - 1)).isEqualTo(3);
            }
        }
    }

    /// The rest of the chunk would be saved as it is.
    @Test
    void aDamagedChunkToWhichTheProgramWroteIsRefused() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            c.tensor("middle").setLong(5, 99);
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
            assertRefused(() -> Checkpoint.saveAsync(copy, c.tree()).join());
        }
    }

    @Test
    void damageThatTheProgramRepairedIsSaved() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            c.tensor("middle").setLong(7, bytes[CHUNK + 7]);
            Checkpoint.save(copy, c.tree());
        }
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.tensor("middle").contentEquals((Tensor) state().get("middle"))).isTrue();
        }
    }

    /// Runs of zeros are not written, so nothing sums them up.
    @Test
    void bytesThatBecameZerosAreNotTakenForZeros() throws IOException {
        byte[] saved = Files.readAllBytes(file);
        int start = indexOf(saved, Arrays.copyOf(bytes, 64));
        Arrays.fill(saved, start + CHUNK, start + 2 * CHUNK, (byte) 0);
        Files.write(file, saved);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
        }
    }

    @Test
    void aChunkLargerThanABlockIsCheckedToo() throws IOException {
        byte[] large = noise(20 << 20, 2);
        Path source = folder.resolve("large.croft");
        Checkpoint.save(source, Map.of("middle", Tensor.of(Storage.copyOf(large), DType.UINT8, 0,
                Shape.of(large.length), new long[]{1})),
                SaveOptions.defaults().chunkSize(32 << 20));
        byte[] saved = Files.readAllBytes(source);
        saved[indexOf(saved, Arrays.copyOf(large, 64)) + large.length - 1] ^= 4;
        file = Files.write(source, saved);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertRefused(() -> Checkpoint.save(copy, c.tree(), SaveOptions.defaults().chunkSize(32 << 20)));
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
        }
    }

    @Test
    void aStorageThatOutlivesItsCheckpointIsCheckedStill() throws IOException {
        Tensor middle;
        Tensor end;
        try (Checkpoint c = Checkpoint.open(file)) {
            middle = c.tensor("middle");
            end = c.tensor("end");
            middle.storage().retain();
        }
        Checkpoint.save(folder.resolve("end.croft"), Map.of("end", end));
        assertRefused(() -> Checkpoint.save(copy, Map.of("middle", middle)));
        middle.storage().release();
    }

    @Test
    void aSaveInTheBackgroundFindsItWhenTheCheckpointWasClosedMeanwhile() throws IOException {
        PendingSave pending;
        try (Checkpoint c = Checkpoint.open(file)) {
            pending = Checkpoint.saveAsync(copy, c.tree());
        }
        assertRefused(pending::join);
        damage(CHUNK + 7, 1);
        try (Checkpoint c = Checkpoint.open(file)) {
            pending = Checkpoint.saveAsync(copy, c.tree());
        }
        pending.join();
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    /// A snapshot that refers to damaged bytes where they are keeps their checksum.
    @Test
    void appendingToTheSameFileGivesDamageNoNewChecksum() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            CroftFile.open(file).commit(c.tree(), SaveOptions.defaults());
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.verify().damages()).extracting(Damage::where).contains("tensor 'middle'");
            assertRefused(() -> Checkpoint.save(copy, c.tree()));
        }
    }

    @Test
    void whatIsMappedSharedIsNotCheckedAsItIsMeantToChange() throws IOException {
        Path shared = folder.resolve("shared.croft");
        Checkpoint.save(shared, Map.of("w", Tensor.arange(DType.INT32, 1000)),
                SaveOptions.defaults().writableInPlace());
        try (Checkpoint c = Checkpoint.open(shared, OpenOptions.defaults().mapping(MapMode.SHARED))) {
            c.tensor("w").setLong(0, 5);
            Checkpoint.save(copy, c.tree());
        }
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.tensor("w").getLong(0)).isEqualTo(5);
        }
    }

    @Test
    void salvagedTensorsAreSaved() throws IOException {
        try (Salvage salvage = CroftFile.open(file).salvage()) {
            Map<String, Object> left = new LinkedHashMap<>();
            salvage.names().forEach(name -> left.put(name, salvage.tensor(name)));
            assertThat(left).containsOnlyKeys("start", "end", "other");
            Checkpoint.save(copy, left);
            Checkpoint.save(folder.resolve("damaged.croft"), Map.of("middle", salvage.damagedTensor("middle")));
        }
    }

    @Test
    void aFileThatIsCutBeforeItIsReadIsSaidToBeCut() throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Tensor end = c.tensor("end");
            assertThat(end.getLong(0)).isEqualTo(Byte.toUnsignedInt(bytes[2 * CHUNK]));
            try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(CHUNK);
            }
            assertThatThrownBy(() -> Checkpoint.save(copy, c.tree())).hasMessageContaining("cut");
            assertThat(c.verify().damages()).singleElement().satisfies(damage -> {
                assertThat(damage.where()).isEqualTo("the file");
                assertThat(damage.offset()).isEqualTo(CHUNK);
                assertThat(damage.what()).contains("it was cut to " + CHUNK + " bytes while it is open");
            });
        }
    }
}
