package io.undercroft.properties.processes;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.benchmarks.Samples;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.properties.Effort;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/// Opens and closes the same things again and again, and looks at what the system keeps for this process: as much
/// afterwards as before.
public final class CyclesProof {
    private static final int MAX_SERIES = 5;

    private final Scratch scratch;
    private final int cycles;
    private final List<Figure> figures = new ArrayList<>();
    private final String name = "undercroft-cycles-" + Long.toString(ThreadLocalRandom.current().nextLong(), 36);

    private CyclesProof(Scratch scratch, Effort effort) {
        this.scratch = scratch;
        this.cycles = effort == Effort.FULL ? 10_000 : 1000;
    }

    public static Report run(Effort effort) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            return new Report("cycles", new CyclesProof(scratch, effort).run(), Environment.of(scratch.directory()));
        }
    }

    /// Opens, uses and closes something.
    @FunctionalInterface
    private interface Cycle {
        void run() throws IOException;
    }

    private List<Figure> run() throws IOException {
        Path file = scratch.file("state.croft");
        Checkpoint.save(file, NumberedState.of(1));
        Path plain = scratch.write("plain", new byte[100_000]);
        repeat("a checkpoint file", () -> readCheckpoint(Checkpoint.open(file)));
        PublishedCheckpoint.publish(name, NumberedState.of(1), SaveOptions.defaults()).close();
        try {
            repeat("a published checkpoint", () -> readCheckpoint(PublishedCheckpoint.attach(name)));
        } finally {
            PublishedCheckpoint.unpublish(name);
        }
        repeat("a private file storage", () -> touch(FileStorage.open(plain, MapMode.PRIVATE)));
        repeat("a shared file storage", () -> touch(FileStorage.open(plain, MapMode.SHARED)));
        repeat("a segment, created, attached and unlinked", this::createAndAttach);
        repeat("a storage on shared memory", () -> touch(Storage.allocate(100_000, SharedMemory.allocator())));
        repeat("a tensor moved to shared memory, opened by its handle",
                () -> handOver(Tensor.ones(DType.FLOAT32, 1000).shareMemory()));
        repeat("a tensor in memory without a name, opened by its handle",
                () -> handOver(Tensor.zeros(SharedMemory.anonymousAllocator(), DType.FLOAT32, 1000)));
        return figures;
    }

    private static void handOver(Tensor tensor) throws IOException {
        Tensor opened = SharedTensorHandle.parse(SharedTensorHandle.of(tensor).toString()).open();
        opened.setDouble(0, 2);
        opened.storage().release();
        tensor.storage().release();
    }

    private static void readCheckpoint(Checkpoint checkpoint) {
        try (checkpoint) {
            for (String each : checkpoint.names()) {
                var _ = checkpoint.tensor(each).copy();
            }
        }
    }

    private static void touch(Storage storage) {
        storage.set(99_999, (byte) 1);
        storage.release();
    }

    private void createAndAttach() throws IOException {
        try (SharedMemory created = SharedMemory.create(name, 100_000);
                SharedMemory attached = SharedMemory.attach(name)) {
            attached.segment().copyFrom(created.segment());
        } finally {
            SharedMemory.unlink(name);
        }
    }

    /// The first cycles are not counted: they load classes, whose memory stays. The JVM has mappings of its own, which
    /// come and go as it compiles and collects. What is lost in cycles is lost in every series of them, so the best one
    /// tells.
    private void repeat(String what, Cycle cycle) throws IOException {
        List<Double> micros = new ArrayList<>();
        List<Double> mappings = new ArrayList<>();
        List<Double> descriptors = new ArrayList<>();
        run(cycles / 2, cycle);
        do {
            Holdings before = Holdings.now();
            micros.add(run(cycles, cycle));
            Holdings more = Holdings.now().minus(before);
            mappings.add((double) more.mappings());
            descriptors.add((double) more.descriptors());
        } while (mappings.size() < MAX_SERIES && (least(mappings) > 0 || least(descriptors) > 0));
        figures.add(Figure.of(what + ": a cycle", new Samples(micros), "us"));
        figures.add(none(what + ": mappings more after " + cycles, mappings));
        figures.add(none(what + ": descriptors more after " + cycles, descriptors));
    }

    /// {@return how many microseconds each took}
    private static double run(int times, Cycle cycle) throws IOException {
        long start = System.nanoTime();
        for (int i = 0; i < times; i++) {
            cycle.run();
        }
        double micros = (System.nanoTime() - start) / 1e3 / times;
        System.gc();
        return micros;
    }

    private static double least(List<Double> values) {
        return Collections.min(values);
    }

    private static Figure none(String what, List<Double> more) {
        return new Figure(what, least(more), "", null, false, new Samples(more)).atMost(0);
    }
}
