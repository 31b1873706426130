package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PendingSave;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StagingMemory;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// For how long a save in the background keeps its caller, compared with a copy of the same bytes by one thread, and
/// what the caller pays later. Each save comes to its end, and the disk to rest, before the next thing is timed.
final class AsyncBenchmark {
    private static final String COPY = "memory copy, to memory that is there";
    private static final String FRESH_COPY = "memory copy, to new memory";
    private static final String KEPT = "Checkpoint.saveAsync, kept memory";
    private static final String SAVE_ASYNC = "Checkpoint.saveAsync";
    private static final String FIRST = "copy-on-write, first save";
    private static final String SOME = "copy-on-write, 1 % written since the last save";
    private static final String ALL = "copy-on-write, all written since the last save";
    private static final long CHUNK = SaveOptions.defaults().chunkSize();
    private static final Duration ONCE = Duration.ofNanos(1);

    private final Bench bench;
    private final Workload workload;
    private final Notes others = new Notes();

    private AsyncBenchmark(Bench bench) {
        this.bench = bench;
        this.workload = bench.choose(Workload.LARGE, new Workload("64 MiB in 64 tensors", 64, 512, 512));
    }

    /// Begins to save a state.
    @FunctionalInterface
    private interface Saving {
        PendingSave begin(Path path, Map<String, Tensor> state) throws IOException;
    }

    static void run(Bench bench) throws IOException {
        new AsyncBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        try (StagingMemory memory = new StagingMemory()) {
            SaveOptions options = SaveOptions.defaults().stagingMemory(memory);
            Saving kept = (path, state) -> Checkpoint.saveAsync(path, state, options);
            Map<String, Tensor> copied = state(AnonymousMemory.allocator());
            Map<String, Tensor> some = state(AnonymousMemory.freezableAllocator());
            Map<String, Tensor> all = state(AnonymousMemory.freezableAllocator());
            Storage target = Storage.allocate(workload.nbytes(), AnonymousMemory.populatedAllocator());
            save(copied, kept);
            save(some, kept);
            save(all, kept);
            Timings stalls = new Rounds(ONCE, bench.rounds()).time(List.of(
                    new Contender(COPY, () -> outcome(copy(copied, target))),
                    new Contender(FRESH_COPY, () -> outcome(copyToNewMemory(copied))),
                    new Contender(KEPT, () -> timed(KEPT, copied, kept)),
                    new Contender(SAVE_ASYNC, () -> timed(SAVE_ASYNC, copied, Checkpoint::saveAsync)),
                    new Contender(FIRST, () -> firstSave(kept)),
                    new Contender(SOME, () -> {
                        some.values().forEach(AsyncBenchmark::writeSome);
                        return timed(SOME, some, kept);
                    }),
                    new Contender(ALL, () -> {
                        others.add("write to all, of storages that are written and saved again and again", write(all));
                        return timed(ALL, all, kept);
                    })));
            report(stalls);
        }
    }

    private Map<String, Tensor> state(Allocator allocator) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int number = 0; number < workload.count(); number++) {
            Tensor tensor = Tensor.zeros(allocator, DType.FLOAT32, workload.rows(), workload.columns());
            state.put(workload.name(number), tensor);
        }
        write(state);
        return state;
    }

    private Contender.Outcome firstSave(Saving saving) throws IOException {
        Map<String, Tensor> state = state(AnonymousMemory.freezableAllocator());
        others.add("write to all, before a freeze", write(state));
        Contender.Outcome outcome = timed(FIRST, state, saving);
        others.add("write to all, the first time after a freeze", write(state));
        state.values().forEach(tensor -> tensor.storage().release());
        return outcome;
    }

    private Contender.Outcome timed(String name, Map<String, Tensor> state, Saving saving) throws IOException {
        double[] seconds = save(state, saving);
        others.add(name + ": until it is durable", seconds[1]);
        return outcome(seconds[0]);
    }

    /// Returns for how many seconds the caller was kept, and after how many the file was durable.
    private double[] save(Map<String, Tensor> state, Saving saving) throws IOException {
        Path path = bench.file("async.croft");
        bench.python().ask("settle");
        long start = System.nanoTime();
        try (PendingSave save = saving.begin(path, state)) {
            double stall = Contender.since(start);
            save.join();
            double durable = Contender.since(start);
            bench.python().ask("settle", path);
            return new double[]{stall, durable};
        }
    }

    private static double copy(Map<String, Tensor> state, Storage target) {
        long start = System.nanoTime();
        long position = 0;
        for (Tensor tensor : state.values()) {
            MemorySegment bytes = tensor.bytes();
            MemorySegment.copy(bytes, 0, target.segment(), position, bytes.byteSize());
            position += bytes.byteSize();
        }
        return Contender.since(start);
    }

    private double copyToNewMemory(Map<String, Tensor> state) {
        Storage target = Storage.allocate(workload.nbytes(), AnonymousMemory.allocator());
        double seconds = copy(state, target);
        target.release();
        return seconds;
    }

    /// Writes something else to each chunk, so that each takes its space in the file.
    private static double write(Map<String, Tensor> state) {
        long start = System.nanoTime();
        long number = 0;
        for (Tensor tensor : state.values()) {
            MemorySegment bytes = tensor.bytes();
            bytes.fill((byte) 1);
            for (long chunk = 0; chunk < bytes.byteSize(); chunk += CHUNK) {
                bytes.set(ValueLayout.JAVA_LONG, chunk, ++number);
            }
        }
        return Contender.since(start);
    }

    private static void writeSome(Tensor tensor) {
        MemorySegment bytes = tensor.bytes();
        MemorySegment some = bytes.asSlice(0, bytes.byteSize() / 100);
        some.fill((byte) (some.get(ValueLayout.JAVA_BYTE, 0) + 1));
    }

    private Contender.Outcome outcome(double seconds) {
        return new Contender.Outcome(seconds, workload.nbytes());
    }

    private void report(Timings stalls) {
        for (String contender : stalls.contenders()) {
            Figure stall = stalls.millis(workload.what() + ", the caller is kept: ", contender);
            bench.add(contender.equals(FIRST) ? stall.atMost(10) : stall);
        }
        // The time of the save by that of the copy.
        bench.add(compared(stalls, KEPT, COPY).atMost(1.2));
        bench.add(compared(stalls, SAVE_ASYNC, FRESH_COPY).atMost(1.2));
        bench.add(compared(stalls, SOME, COPY));
        bench.add(compared(stalls, ALL, COPY));
        others.names().forEach(what -> bench.add(Figure.of(what, others.last(what, bench.rounds()), "s")));
    }

    private static Figure compared(Timings stalls, String contender, String copy) {
        return Figure.of(contender + " compared with " + copy, stalls.of(contender).over(stalls.of(copy)), "x");
    }
}
