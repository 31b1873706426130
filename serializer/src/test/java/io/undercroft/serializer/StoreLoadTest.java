package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Loads of many small tensors from a store: how many requests they take, and how many bytes.
class StoreLoadTest {
    private static final int COUNT = 256;
    private static final int ELEMENTS = 64 << 10;
    private static final long NBYTES = 4L * COUNT * ELEMENTS;
    private static final OpenOptions IN_MEMORY = OpenOptions.defaults().inMemory();
    /// To open a file, and for its index.
    private static final int FURTHER_REQUESTS = 4;
    private static final long FURTHER_BYTES = 256 << 10;

    @TempDir
    Path folder;

    private Path file;
    private long bytes;
    private int requests;

    @BeforeEach
    void name() {
        file = folder.resolve("small.croft");
    }

    private static Map<String, Tensor> state(int count, int elements) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put("layer." + i, Tensor.arange(DType.INT32, i * 7.0, i * 7.0 + elements, 1));
        }
        return state;
    }

    private Checkpoint counted(OpenOptions options) throws IOException {
        long bytesBefore = FolderStore.bytesRead(folder);
        int requestsBefore = FolderStore.requests(folder);
        Checkpoint opened = Checkpoint.open(FolderStore.uri(file), options);
        bytes = FolderStore.bytesRead(folder) - bytesBefore;
        requests = FolderStore.requests(folder) - requestsBefore;
        return opened;
    }

    private static void check(Checkpoint opened, Map<String, Tensor> state) {
        state.forEach((name, tensor) -> assertThat(opened.tensor(name).contentEquals(tensor)).as(name).isTrue());
    }

    @Test
    void tensorsThatAreCloseToEachOtherAreFetchedTogetherAndOnce() throws IOException {
        Map<String, Tensor> state = state(COUNT, ELEMENTS);
        Checkpoint.save(file, state);

        try (Checkpoint opened = counted(IN_MEMORY)) {
            check(opened, state);
        }
        assertThat(requests).isLessThanOrEqualTo((int) (NBYTES >> 23) + 2 + FURTHER_REQUESTS);
        assertThat(bytes).isBetween(NBYTES, NBYTES + FURTHER_BYTES);
    }

    @Test
    void tinyTensorsAreAlsoFetchedTogether() throws IOException {
        Map<String, Tensor> state = state(2000, 100);
        Checkpoint.save(file, state);

        try (Checkpoint opened = counted(IN_MEMORY)) {
            check(opened, state);
        }
        assertThat(requests).isLessThanOrEqualTo(1 + FURTHER_REQUESTS);
    }

    @Test
    void chosenTensorsAreFetchedTogetherAndTheOthersNot() throws IOException {
        Map<String, Tensor> state = state(COUNT, ELEMENTS);
        Checkpoint.save(file, state);

        try (Checkpoint opened = counted(IN_MEMORY.only("layer.1?"))) {
            assertThat(opened.names()).hasSize(10);
            check(opened, Map.of("layer.13", state.get("layer.13")));
        }
        assertThat(requests).isLessThanOrEqualTo(1 + FURTHER_REQUESTS);
        assertThat(bytes).isLessThan(10L * 4 * ELEMENTS * 9 / 8 + FURTHER_BYTES);

        try (Checkpoint opened = counted(IN_MEMORY.only("layer.*2"))) {
            check(opened, Map.of("layer.142", state.get("layer.142")));
        }
        assertThat(bytes).as("tensors that are far from each other").isLessThan(26L * 4 * ELEMENTS + FURTHER_BYTES);
    }

    @Test
    void tensorsThatAreLoadedIntoAStateAreFetchedTogether() throws IOException {
        Map<String, Tensor> state = state(COUNT, ELEMENTS);
        Checkpoint.save(file, state);
        Map<String, Tensor> target = new LinkedHashMap<>();
        state.keySet().forEach(name -> target.put(name, Tensor.zeros(DType.INT32, ELEMENTS)));

        try (Checkpoint opened = counted(OpenOptions.defaults())) {
            long bytesBefore = FolderStore.bytesRead(folder);
            int requestsBefore = FolderStore.requests(folder);
            opened.loadInto(target);
            assertThat(FolderStore.requests(folder) - requestsBefore).isLessThanOrEqualTo((int) (NBYTES >> 23) + 2);
            assertThat(FolderStore.bytesRead(folder) - bytesBefore).isLessThan(NBYTES + FURTHER_BYTES);
        }
        state.forEach((name, tensor) -> assertThat(target.get(name).contentEquals(tensor)).isTrue());
    }

    @Test
    void bytesThatSeveralTensorsHaveAreFetchedOnce() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 40; i++) {
            state.put("layer." + i, Tensor.arange(DType.INT32, i % 2 * 1000.0, i % 2 * 1000.0 + (1 << 20), 1));
        }
        SaveReport report = Checkpoint.save(file, state);
        assertThat(report.nbytes()).isLessThan(3L * (4 << 20));

        try (Checkpoint opened = counted(IN_MEMORY)) {
            check(opened, state);
        }
        assertThat(bytes).isLessThan(report.nbytes() + FURTHER_BYTES);
    }

    @Test
    void aDamagedTensorIsFoundAndTheOthersAreLoaded() throws IOException {
        Map<String, Tensor> state = state(20, ELEMENTS);
        Checkpoint.save(file, state);
        long at;
        try (Checkpoint opened = Checkpoint.open(file)) {
            at = opened.extents(opened.tensor("layer.7").storage()).getFirst().offset();
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{77}), at + 5);
        }

        try (Checkpoint opened = counted(IN_MEMORY)) {
            assertThatThrownBy(() -> opened.tensor("layer.7").getLong(0)).isInstanceOf(FormatException.class);
            state.remove("layer.7");
            check(opened, state);
        }
    }

    @Test
    void tensorsInTheCacheOfThisHostAreNotFetched() throws IOException {
        Map<String, Tensor> state = state(20, ELEMENTS);
        Checkpoint.save(file, state);
        OpenOptions cached = IN_MEMORY.setting("croft.cache", folder.resolve("cache").toString());
        counted(cached).close();
        assertThat(requests).isLessThanOrEqualTo(1 + FURTHER_REQUESTS);

        try (Checkpoint opened = counted(cached)) {
            check(opened, state);
        }
        assertThat(bytes).isLessThan(FURTHER_BYTES);
        assertThat(requests).isLessThanOrEqualTo(FURTHER_REQUESTS);
    }
}
