package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// One state, from every place where it may be, loaded in every way that there is.
@EnabledOnOs(OS.LINUX)
class WaysOfLoadingTest {
    private static final int ROWS = 1 << 12;
    private static final int COLUMNS = 64;

    private final String name = "croft-test-" + UUID.randomUUID().toString().substring(0, 12);
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    @TempDir
    private Path folder;
    private Map<String, Object> state;

    /// Where the state is.
    enum Place {
        FILE, EARLIER_SNAPSHOT, SHARD, BASED, BASED_ON_TWO, COMPACTED, PUBLISHED, FOLLOWED
    }

    @BeforeEach
    void make() {
        state = state(0);
    }

    private static Map<String, Object> state(int first) {
        Tensor wte = Tensor.arange(DType.INT32, first, first + ROWS * COLUMNS, 1).view(ROWS, COLUMNS);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("wte", wte);
        state.put("head", wte.t());
        state.put("bias", Tensor.arange(DType.FLOAT64, first, first + 100.0, 1));
        state.put("zeros", Tensor.zeros(DType.FLOAT32, ROWS));
        return state;
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
        removeTheName();
    }

    private void removeTheName() throws SharedMemoryException {
        SharedMemory.unlink(name);
    }

    private <T extends AutoCloseable> T opened(T closeable) {
        open.push(closeable);
        return closeable;
    }

    private Path file(String each) {
        return folder.resolve(each + ".croft");
    }

    /// Saves the state in a place, if that was not done yet, and opens it.
    private Checkpoint open(Place place, OpenOptions options) throws IOException {
        if (Files.notExists(file("model"))) {
            save(place);
        }
        return switch (place) {
            case FILE, BASED, BASED_ON_TWO, COMPACTED -> opened(Checkpoint.open(file("model"), options));
            case EARLIER_SNAPSHOT -> opened(Checkpoint.open(file("model"), options.snapshot(1)));
            case SHARD -> opened(ShardSet.open(folder.resolve("model.croftset"), options)).shards().getLast();
            case PUBLISHED -> opened(PublishedCheckpoint.attach(name, options));
            case FOLLOWED -> opened(opened(PublishedCheckpoint.follow(name, options)).lease()).checkpoint();
        };
    }

    private void save(Place place) throws IOException {
        SaveOptions saving = SaveOptions.defaults();
        Checkpoint.save(file("parent"), Map.of("mine", state.get("wte")));
        Checkpoint.save(file("other"), state(7));
        SaveOptions based = switch (place) {
            case BASED -> saving.base(file("parent"));
            case BASED_ON_TWO -> saving.base(file("other")).base(file("parent"));
            default -> saving;
        };
        Checkpoint.save(file("model"), state, based);
        if (place == Place.BASED || place == Place.BASED_ON_TWO) {
            assertThat(Files.size(file("model"))).isLessThan(Files.size(file("parent")) / 2);
        }
        switch (place) {
            case EARLIER_SNAPSHOT -> CroftFile.open(file("model")).commit(state(1), saving);
            case COMPACTED -> {
                CroftFile.open(file("model")).commit(state(1), saving);
                CroftFile.open(file("model")).commit(state, saving);
                CroftFile.open(file("model")).compact(snapshot -> snapshot.sequence() == 3);
            }
            case SHARD -> ShardSet.save(folder.resolve("model.croftset"), List.of(file("other"), file("model")));
            case PUBLISHED, FOLLOWED -> PublishedCheckpoint.publish(name, state, saving).close();
            case FILE, BASED, BASED_ON_TWO -> {
                // That is all.
            }
        }
    }

    private void assertIsWhole(Checkpoint c) {
        assertThat(c.names()).containsExactlyElementsOf(state.keySet());
        c.names().forEach(each -> assertThat(c.tensor(each).contentEquals((Tensor) state.get(each))).as(each).isTrue());
        assertThat(c.tensor("head").storage()).isSameAs(c.tensor("wte").storage());
    }

    @ParameterizedTest
    @EnumSource
    void mappedAndInMemory(Place place) throws IOException {
        for (ChecksumPolicy policy : ChecksumPolicy.values()) {
            OpenOptions options = OpenOptions.defaults().checksums(policy);
            assertIsWhole(open(place, options));
            Checkpoint read = open(place, options.inMemory());
            assertThat(read.storages()).allMatch(Storage::isMaterialized);
            assertIsWhole(read);
        }
    }

    @ParameterizedTest
    @EnumSource
    void inPart(Place place) throws IOException {
        OpenOptions only = OpenOptions.defaults().only("head");
        for (OpenOptions options : List.of(only, only.inMemory())) {
            Checkpoint c = open(place, options);
            assertThat(c.names()).containsExactly("head");
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("head").contentEquals((Tensor) state.get("head"))).isTrue();
            Map<?, ?> whole = (Map<?, ?>) c.state();
            assertThat(((Tensor) whole.get("bias")).storage().isMeta()).isTrue();
            assertThat(((Tensor) whole.get("wte")).storage()).isSameAs(c.tensor("head").storage());
        }
    }

    @ParameterizedTest
    @EnumSource
    void strictly(Place place) throws IOException {
        OpenOptions options = OpenOptions.defaults().inMemory();
        Map<String, TensorSpec> expected = new LinkedHashMap<>(TensorSpec.ofState(state));
        assertIsWhole(open(place, options.strict(expected)));
        expected.remove("bias");
        assertThatExceptionOfType(StateMismatchException.class)
                .isThrownBy(() -> open(place, options.strict(expected))).withMessageContaining("bias");
    }

    @ParameterizedTest
    @EnumSource
    void onMeta(Place place) throws IOException {
        Checkpoint c = open(place, OpenOptions.defaults().onMeta().inMemory());
        assertThat(c.storages()).allMatch(Storage::isMeta);
        assertThat(TensorSpec.ofState(c.state())).isEqualTo(TensorSpec.ofState(state));
    }

    @ParameterizedTest
    @EnumSource
    void inPlace(Place place) throws IOException {
        for (OpenOptions options : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
            Map<String, Object> live = state(9);
            assertThat(open(place, options).loadInto(live).isExact()).isTrue();
            live.forEach((each, tensor) -> assertThat(((Tensor) tensor).contentEquals((Tensor) state.get(each)))
                    .as(each).isTrue());
        }
    }

    @ParameterizedTest
    @EnumSource
    void byRows(Place place) throws IOException {
        OpenOptions defaults = OpenOptions.defaults();
        for (OpenOptions options : List.of(defaults, defaults.checksums(ChecksumPolicy.ON_TOUCH),
                defaults.inMemory(), defaults.only("wte", "head"))) {
            Checkpoint c = open(place, options);
            for (String each : List.of("wte", "head")) {
                Tensor expected = ((Tensor) state.get(each)).narrow(0, 3, 5);
                assertThat(c.rows(each, 3, 8).contentEquals(expected)).as(each).isTrue();
            }
            assertThat(c.storages().stream().anyMatch(Storage::isMaterialized))
                    .isEqualTo(options.isInMemory());
        }
    }

    @ParameterizedTest
    @EnumSource
    void afterTheFilesAreGone(Place place) throws IOException {
        Checkpoint c = open(place, OpenOptions.defaults().inMemory());
        for (String each : List.of("model", "parent", "other")) {
            Files.delete(file(each));
        }
        removeTheName();
        assertIsWhole(c);
    }
}
