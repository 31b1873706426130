package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.undercroft.mmap.MapMode;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/// A checkpoint that is closed while another thread loads from it: the load is complete or ends in an exception, and
/// the JVM lives.
class CloseWhileLoadingTest {
    private static final int ROUNDS = 15;
    private static final int NUMEL = 1 << 17;
    private static final Map<String, Tensor> STATE = state();

    @TempDir
    private Path folder;
    private Path file;

    /// Loads all tensors of a checkpoint.
    @FunctionalInterface
    private interface Loading {
        Map<String, Tensor> load(Checkpoint checkpoint) throws IOException;
    }

    private static Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 8; i++) {
            state.put("t" + i, Tensor.arange(DType.INT32, i, i + NUMEL, 1).view(NUMEL / 64, 64));
        }
        return state;
    }

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("model.croft");
        Checkpoint.save(file, STATE);
    }

    static Stream<Arguments> ways() {
        OpenOptions mapped = OpenOptions.defaults();
        return Stream.of(argumentSet("mapped", mapped),
                argumentSet("mapped for reading", mapped.mapping(MapMode.READ_ONLY)),
                argumentSet("checked on touch", mapped.checksums(ChecksumPolicy.ON_TOUCH)),
                argumentSet("in memory", mapped.inMemory()));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void copiesOfTensors(OpenOptions options) throws Exception {
        race(options, c -> each(name -> c.tensor(name).copy()));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void arraysOfElements(OpenOptions options) throws Exception {
        race(options, c -> each(name -> {
            Tensor tensor = c.tensor(name);
            int[] last = {};
            for (int i = 0; i < 20; i++) {
                last = tensor.toIntArray();
            }
            return Tensor.of(last).view(NUMEL / 64, 64);
        }));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void rows(OpenOptions options) throws Exception {
        race(options, c -> each(name -> c.rows(name, 0, NUMEL / 64)));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void loadingInPlace(OpenOptions options) throws Exception {
        race(options, c -> {
            Map<String, Tensor> live = each(name -> Tensor.zeros(DType.INT32, NUMEL / 64, 64));
            c.loadInto(live);
            return live;
        });
    }

    @ParameterizedTest
    @MethodSource("ways")
    void savingItsState(OpenOptions options) throws Exception {
        Path copy = folder.resolve("copy.croft");
        race(options, c -> {
            Checkpoint.save(copy, c.state());
            try (Checkpoint saved = Checkpoint.open(copy)) {
                return each(name -> saved.tensor(name).copy());
            }
        });
    }

    @ParameterizedTest
    @MethodSource("ways")
    void verifying(OpenOptions options) throws Exception {
        race(options, c -> {
            assertThat(c.verify().damages()).isEmpty();
            return STATE;
        });
    }

    @FunctionalInterface
    private interface One {
        Tensor load(String name) throws IOException;
    }

    private static Map<String, Tensor> each(One one) throws IOException {
        Map<String, Tensor> loaded = new LinkedHashMap<>();
        for (String name : STATE.keySet()) {
            loaded.put(name, one.load(name));
        }
        return loaded;
    }

    /// Closes the checkpoint at moments that lie all over the time that it takes to load.
    private void race(OpenOptions options, Loading loading) throws Exception {
        long undisturbed = undisturbed(options, loading);
        try (ExecutorService other = Executors.newSingleThreadExecutor()) {
            for (int round = 0; round < ROUNDS; round++) {
                CyclicBarrier start = new CyclicBarrier(2);
                Checkpoint checkpoint = Checkpoint.open(file, options);
                Future<Map<String, Tensor>> loaded = other.submit(() -> {
                    start.await();
                    try {
                        return loading.load(checkpoint);
                    } finally {
                        assertThat(Thread.interrupted()).as("interrupted").isFalse();
                    }
                });
                start.await();
                spin(undisturbed * round / ROUNDS);
                checkpoint.close();
                assertCompleteOrRefused(loaded);
            }
        }
    }

    private long undisturbed(OpenOptions options, Loading loading) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertComplete(loading.load(checkpoint));
            long before = System.nanoTime();
            var _ = loading.load(checkpoint);
            return System.nanoTime() - before;
        }
    }

    /// Waits for less time than a sleep can be told.
    private static void spin(long nanos) {
        long start = System.nanoTime();
        while (System.nanoTime() - start < nanos) {
            Thread.onSpinWait();
        }
    }

    private static void assertCompleteOrRefused(Future<Map<String, Tensor>> loaded) throws InterruptedException {
        try {
            assertComplete(loaded.get());
        } catch (ExecutionException e) {
            assertThat(cause(e)).as("what a closed checkpoint throws").isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("close it later");
        }
    }

    /// In place, some tensors may have been loaded before.
    private static Throwable cause(ExecutionException e) {
        return e.getCause() instanceof PartlyLoadedException partly ? partly.getCause() : e.getCause();
    }

    private static void assertComplete(Map<String, Tensor> loaded) {
        assertThat(loaded.keySet()).isEqualTo(STATE.keySet());
        assertThat(loaded).allSatisfy((name, tensor) -> assertThat(tensor.contentEquals(STATE.get(name))).isTrue());
    }
}
