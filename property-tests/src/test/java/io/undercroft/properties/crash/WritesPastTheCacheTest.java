package io.undercroft.properties.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.crash.DiskOperation.Write;
import io.undercroft.properties.crash.RecordingDisk.Way;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// A large file goes past the page cache, whatever the sizes of its storages are.
class WritesPastTheCacheTest {
    private static final long PAGE = 4096;

    @TempDir
    Path folder;

    /// @param repeated every which storage has the bytes of the one before, and is not written; 0 if none
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 7})
    void packedStoragesGoInWholePages(int repeated) throws IOException {
        Map<String, Tensor> state = state(200, 100_000, repeated);

        List<Write> writes = save(state, SaveOptions.defaults());

        assertThat(bytes(writes, Way.DIRECT)).isGreaterThan(bytes(writes, Way.CACHED) * 20);
        assertNoPageGoesBothWays(writes);
        assertSaved(state);
    }

    @Test
    void storagesOfManyBlocksAreNoExceptionIfChunksAreLarger() throws IOException {
        Map<String, Tensor> state = state(3, 20_000_000, 0);

        List<Write> writes = save(state, SaveOptions.defaults().chunkSize(32 << 20));

        assertThat(bytes(writes, Way.DIRECT)).isGreaterThan(bytes(writes, Way.CACHED) * 20);
        assertNoPageGoesBothWays(writes);
        assertSaved(state);
    }

    private List<Write> save(Map<String, Tensor> state, SaveOptions options) throws IOException {
        RecordingDisk disk = new RecordingDisk();
        disk.save(path(), state, options);
        return disk.operations().stream().filter(Write.class::isInstance).map(Write.class::cast).toList();
    }

    private Path path() {
        return folder.resolve("state.croft");
    }

    private void assertSaved(Map<String, Tensor> state) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path())) {
            assertThat(checkpoint.verify().damages()).isEmpty();
            state.forEach(
                    (name, tensor) -> assertThat(checkpoint.tensor(name).contentEquals(tensor)).as(name).isTrue());
        }
    }

    private static long bytes(List<Write> writes, Way way) {
        return writes.stream().filter(write -> write.way() == way).mapToLong(write -> write.bytes().byteSize()).sum();
    }

    private static void assertNoPageGoesBothWays(List<Write> writes) {
        Set<Long> direct = pages(writes, Way.DIRECT);
        assertThat(direct).doesNotContainAnyElementsOf(pages(writes, Way.CACHED));
    }

    private static Set<Long> pages(List<Write> writes, Way way) {
        Set<Long> pages = new HashSet<>();
        writes.stream().filter(write -> write.way() == way).flatMapToLong(write -> LongStream.rangeClosed(
                write.offset() / PAGE, (write.offset() + write.bytes().byteSize() - 1) / PAGE)).forEach(pages::add);
        return pages;
    }

    private static Map<String, Tensor> state(int count, int nbytes, int repeated) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        byte[] bytes = new byte[nbytes];
        for (int i = 0; i < count; i++) {
            if (repeated == 0 || i % repeated != repeated - 1) {
                new Random(i).nextBytes(bytes);
            }
            state.put("t" + i, Tensor.of(bytes));
        }
        return state;
    }
}
