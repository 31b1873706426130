package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Storages that have to be decoded, since they are compressed, of another byte order or not aligned, and those of a
/// `.croft` file that are mapped or copied separately: whatever writes all of them makes one after the other and keeps
/// none.
class DecodedStoragesTest {
    private static final int COUNT = 6;
    private static final int NBYTES = 1 << 16;

    private final AtomicLong live = new AtomicLong();
    private final AtomicLong most = new AtomicLong();
    @TempDir
    private Path directory;

    private Map<String, Tensor> counted() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < COUNT; i++) {
            byte value = (byte) (i + 1);
            Storage storage = Storage.decoded(NBYTES, () -> {
                most.accumulateAndGet(live.addAndGet(NBYTES), Math::max);
                return new Allocation(MemorySegment.ofArray(new byte[NBYTES]).fill(value), Allocation.Sharing.PRIVATE,
                        null, () -> live.addAndGet(-NBYTES));
            }, "a test");
            state.put("t" + i, Tensor.of(storage, DType.INT16, 0, Shape.of(NBYTES / 2), 1));
        }
        return state;
    }

    @ParameterizedTest
    @CsvSource({"a.pt,,", "a.npz,,", "a.safetensors,,", "a.gguf,,", "a.t7,,", "a.t7, torch7.encoding, ascii",
            "a.t7, torch7.order, big", "a.npz, npz.compression, deflate"})
    void everyWriterDecodesOneAfterTheOther(String name, String setting, String value)
            throws IOException {
        Path file = directory.resolve(name);
        SaveOptions options = SaveOptions.defaults();
        Checkpoint.save(file, counted(), setting == null ? options : options.setting(setting, value));
        assertThat(most).hasValue(NBYTES);
        assertThat(live).hasValue(0);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            for (int i = 0; i < COUNT; i++) {
                assertThat(checkpoint.tensor("t" + i).getLong(NBYTES / 2 - 1)).isEqualTo((i + 1) * 0x101L);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"npz.compression, deflate, a.npz", "torch7.encoding, ascii, a.t7", "torch7.order, big, a.t7"})
    void aFileWhoseStoragesWereSavedElsewhereHasNoneInMemory(String setting, String value, String name)
            throws IOException {
        Path file = directory.resolve(name);
        Checkpoint.save(file, counted(), SaveOptions.defaults().setting(setting, value));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.storages()).hasSize(COUNT).allMatch(Storage::isDecodedOnDemand);
            checkpoint.verify();
            Checkpoint.save(directory.resolve("b.croft"), checkpoint.tree());
            Checkpoint.save(directory.resolve("b.pt"), checkpoint.tree());
            Checkpoint.save(directory.resolve("b.safetensors"), checkpoint.tree());
            assertThat(checkpoint.storages()).allMatch(Storage::isDecodedOnDemand);
            Storage first = checkpoint.tensor("t0").storage();
            assertThat(checkpoint.tensor("t0").getLong(0)).isEqualTo(0x101L);
            assertThat(first.isMaterialized()).isTrue();
        }
    }

    /// Few bytes of a file can be those of very many storages.
    @ParameterizedTest
    @ValueSource(strings = {"b.croft", "b.pt", "b.npz", "b.safetensors", "b.gguf", "b.t7"})
    void storagesOfACroftFileWithBytesInCommonOrWithZerosAreNotKept(String name) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < COUNT; i++) {
            state.put("equal" + i, Tensor.zeros(DType.INT16, NBYTES / 2).fill(7));
            Tensor sparse = Tensor.zeros(DType.INT16, NBYTES);
            sparse.narrow(0, NBYTES / 2, 3).fill(i + 1);
            state.put("sparse" + i, sparse);
        }
        Path file = directory.resolve("a.croft");
        Checkpoint.save(file, state, SaveOptions.defaults().chunkSize(NBYTES));
        Path written = directory.resolve(name);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.storages()).hasSize(2 * COUNT);
            Checkpoint.save(written, checkpoint.tree());
            assertThat(checkpoint.storages()).noneMatch(Storage::isMaterialized);

            Tensor equal = checkpoint.tensor("equal1");
            assertThat(equal.getLong(1)).isEqualTo(7);
            assertThat(equal.storage().isMaterialized()).isTrue();
            var _ = equal.fill(8);
            assertThat(checkpoint.tensor("equal1").getLong(1)).isEqualTo(8);
            assertThat(checkpoint.tensor("equal2").getLong(1)).isEqualTo(7);
        }
        try (Checkpoint checkpoint = Checkpoint.open(written)) {
            for (int i = 0; i < COUNT; i++) {
                assertThat(checkpoint.tensor("equal" + i).getLong(NBYTES / 2 - 1)).isEqualTo(7);
                Tensor sparse = checkpoint.tensor("sparse" + i);
                assertThat(sparse.getLong(NBYTES / 2 + 2)).isEqualTo(i + 1);
                assertThat(sparse.getLong(NBYTES - 1)).isZero();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"b.pt", "b.npz", "b.safetensors", "b.gguf", "b.t7"})
    void damageOfBytesThatStoragesHaveInCommonIsFoundWhenTheyAreWritten(String name) throws IOException {
        Path file = directory.resolve("a.croft");
        Tensor first = Tensor.arange(DType.INT16, NBYTES);
        Map<String, Tensor> state = new LinkedHashMap<>(Map.of("start", first.narrow(0, 0, NBYTES / 2)));
        state.put("end", first.narrow(0, NBYTES / 2, NBYTES / 2));
        state.put("equal", Tensor.arange(DType.INT16, NBYTES));
        Checkpoint.save(file, state, SaveOptions.defaults().chunkSize(NBYTES));
        byte[] bytes = Files.readAllBytes(file);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            bytes[Math.toIntExact(checkpoint.extents(checkpoint.tensor("end").storage()).get(1).offset()) + 5] ^= 1;
        }
        Files.write(file, bytes);
        Path written = directory.resolve(name);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThatThrownBy(() -> Checkpoint.save(written, checkpoint.tree()))
                    .isInstanceOf(FormatException.class).hasMessageContaining("damages tensor '");
            assertThat(written).doesNotExist();
            Checkpoint.save(written, Map.of("start", checkpoint.tensor("start")));
            assertThat(checkpoint.storages()).noneMatch(Storage::isMaterialized);
        }
    }

    @Test
    void aStorageThatManyTensorsAreOnIsNotDecodedForEach() throws IOException {
        AtomicLong decoded = new AtomicLong();
        Storage storage = Storage.decoded(256, () -> {
            decoded.incrementAndGet();
            return Allocation.collected(MemorySegment.ofArray(new byte[256]));
        }, "a test");
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 100; i++) {
            state.put("t" + i, Tensor.of(storage, DType.UINT8, i, Shape.of(2), 1));
        }
        Checkpoint.save(directory.resolve("a.npz"), state);
        assertThat(decoded.get()).isLessThan(10);
    }

    /// The last bytes of a compressed record may stand for more than a buffer takes at once.
    @Test
    void compressedZerosOfAnySizeAreRead() throws IOException {
        Path file = directory.resolve("zeros.npz");
        for (int size = 1 << 20; size < (1 << 20) + 600; size += 7) {
            Checkpoint.save(file, Map.of("t", Tensor.zeros(DType.UINT8, size)),
                    SaveOptions.defaults().setting("npz.compression", "deflate"));
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                assertThat(checkpoint.verify().isIntact()).as("%d zeros", size).isTrue();
                assertThat(checkpoint.tensor("t").getLong(size - 1)).isZero();
            }
        }
    }
}
