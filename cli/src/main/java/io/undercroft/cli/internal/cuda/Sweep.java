package io.undercroft.cli.internal.cuda;

import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cuda.internal.CudaMemory;
import io.undercroft.cuda.internal.RingSize;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/// Measures loads of a file in the page cache with other numbers of threads and buffers, and the parts of a load. The
/// figures are needed to choose [RingSize#DEFAULT].
final class Sweep {
    private static final int ROUNDS = 3;
    private static final double GIB = 1L << 30;
    private static final int MIB = 1 << 20;
    private static final int MOST_THREADS = 32;
    /// The number of storages of a load that are large enough for separate allocations.
    private static final int ALLOCATIONS = 16;
    private static final long ALLOCATION_BYTES = 64 << 20;

    private final FigureList figures;
    private final CudaMemory memory;
    private final Path file;
    private final TextOutput out;
    private final CudaCheck.TimeLimit time;
    private final Map<String, Measurement> all = new LinkedHashMap<>();

    /// Prepares measurements.
    ///
    /// @param figures the list of results
    /// @param device the device
    /// @param file a file in the page cache
    /// @param out the output for progress
    /// @param time the time after which nothing further is measured
    Sweep(FigureList figures, Device device, Path file, TextOutput out, CudaCheck.TimeLimit time) {
        this.figures = figures;
        this.memory = CudaMemory.of(device.index());
        this.file = file;
        this.out = out;
        this.time = time;
    }

    /// Loads the file.
    @FunctionalInterface
    interface Load {
        /// Loads it once.
        ///
        /// @return GiB per second
        double with(OpenOptions options) throws IOException;
    }

    @FunctionalInterface
    private interface Measurement {
        /// Measures once.
        double run() throws IOException;
    }

    /// Measures everything, each once uncounted and then [#ROUNDS] times.
    ///
    /// @param load loads the file to the device
    /// @throws IOException if the file cannot be read
    void run(Load load) throws IOException {
        int processors = Runtime.getRuntime().availableProcessors();
        TreeSet<Integer> threads = new TreeSet<>(List.of(1, processors));
        for (int i = 2; i < Math.min(processors, MOST_THREADS); i *= 2) {
            threads.add(i);
        }
        RingSize usual = RingSize.DEFAULT;
        for (int each : threads) {
            all.put("page cache to memory, not to the device: threads " + each,
                    () -> readWith(each, usual.bufferBytes()));
        }
        threads.forEach(each -> add(load, new RingSize(each, Math.max(usual.buffers(), 2 * each),
                usual.bufferBytes())));
        for (int bytes = MIB; bytes <= 16 * MIB; bytes *= 2) {
            add(load, new RingSize(usual.threads(), usual.buffers(), bytes));
        }
        for (int buffers : new int[]{usual.threads() + 2, 4 * usual.threads()}) {
            add(load, new RingSize(usual.threads(), buffers, usual.bufferBytes()));
        }
        all.put("load: without checksums",
                with(usual, () -> load.with(OpenOptions.defaults().checksums(ChecksumPolicy.NONE))));
        all.put("load: with buffers that have to be made", () -> {
            memory.useRing(usual);
            return load.with(OpenOptions.defaults());
        });
        try {
            for (Map.Entry<String, Measurement> each : all.entrySet()) {
                measure(each.getKey(), "GiB/s", each.getValue());
            }
            measure("allocating %d x %s on the device".formatted(ALLOCATIONS, Text.bytes(ALLOCATION_BYTES)), "ms",
                    this::allocate);
        } finally {
            memory.useRing(usual);
        }
    }

    private void add(Load load, RingSize size) {
        all.put("load: threads %d, buffers %d x %s".formatted(size.threads(), size.buffers(),
                Text.bytes(size.bufferBytes())), with(size, () -> load.with(OpenOptions.defaults())));
    }

    private Measurement with(RingSize size, Measurement load) {
        return () -> {
            if (!memory.ringSize().equals(size)) {
                memory.useRing(size);
            }
            return load.run();
        };
    }

    private void measure(String what, String unit, Measurement measurement) throws IOException {
        if (time.isUp()) {
            figures.omit(what, "the time is up");
            return;
        }
        measurement.run();
        List<Double> samples = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            samples.add(measurement.run());
        }
        FigureList.Figure figure = FigureList.Figure.of(what, samples, unit);
        figures.add(figure);
        out.line("sweep: %-60s %8.2f %s".formatted(what, figure.median(), unit));
        out.flush();
    }

    /// Reads the file as a load does, but into ordinary memory.
    private double readWith(int threads, int bufferBytes) throws IOException {
        AtomicLong next = new AtomicLong();
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            List<ByteBuffer> buffers = IntStream.range(0, threads)
                    .mapToObj(_ -> ByteBuffer.allocateDirect(bufferBytes)).toList();
            long start = System.nanoTime();
            CompletableFuture<?>[] all = buffers.stream()
                    .map(buffer -> CompletableFuture.runAsync(() -> read(channel, size, next, buffer),
                            task -> Thread.ofPlatform().daemon().start(task)))
                    .toArray(CompletableFuture<?>[]::new);
            CompletableFuture.allOf(all).join();
            return size / GIB / ((System.nanoTime() - start) / 1e9);
        } catch (CompletionException e) {
            throw new IOException(e.getCause());
        }
    }

    private static void read(FileChannel channel, long size, AtomicLong next, ByteBuffer buffer) {
        try {
            int length = buffer.capacity();
            for (long at = next.getAndAdd(length); at < size; at = next.getAndAdd(length)) {
                buffer.clear();
                while (buffer.hasRemaining() && channel.read(buffer, at + buffer.position()) > 0) {
                    // A read may return fewer bytes than requested.
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Allocates storages one after the other, as a load does.
    ///
    /// @return milliseconds
    private double allocate() {
        List<Allocation> made = new ArrayList<>();
        try {
            long start = System.nanoTime();
            for (int i = 0; i < ALLOCATIONS; i++) {
                made.add(memory.allocateUninitialized(ALLOCATION_BYTES));
            }
            return (System.nanoTime() - start) / 1e6;
        } finally {
            made.forEach(Allocation::free);
        }
    }
}
