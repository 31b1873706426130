package io.undercroft.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.undercroft.format.Digest128;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.LongStream;

/// Tensors in memory to a file system in memory: without a disk, what counts is processor time. The limit is a plain
/// copy of the same bytes into such a file, by one thread and by as many as there are processors. What the checksums
/// cost is measured on the same bytes: each alone, and both as a save computes them, while it copies.
final class MemorySaveBenchmark {
    private static final String OURS = "undercroft";
    private static final String TORCH_SAVE = "torch.save";
    private static final String COPY = "plain copy, one thread";
    private static final int BLOCK = 4 << 20;

    private final Bench bench;
    private final Workload workload;
    private final int threads = ForkJoinPool.getCommonPoolParallelism() + 1;
    private final String parallelCopy = "plain copy, " + threads + " threads";
    private final Map<String, List<Double>> processorTime = new LinkedHashMap<>();

    /// A task of which only the time counts.
    @FunctionalInterface
    private interface Work {
        void run() throws IOException;
    }

    MemorySaveBenchmark(Bench bench) {
        this.bench = bench;
        this.workload = Workload.inMemory(bench.effort());
    }

    List<Figure> run() throws IOException {
        bench.prepare(workload);
        Map<String, Object> state = SaveBenchmark.copyToMemory(bench.file("model.pt"));
        List<MemorySegment> tensors = state.values().stream().map(value -> ((Tensor) value).bytes()).toList();
        bench.peers().ask("settle", bench.file("model.pt"), bench.file("model.safetensors"));
        MemorySegment scratch = ((Tensor) state.values().iterator().next()).copy().bytes();
        ExtentDigester digester = new ExtentDigester();
        Path path = bench.file("made");
        Timings timings = new Rounds(bench.warmUp(), bench.rounds()).time(List.of(
                work(OURS, () -> Checkpoint.save(path, state)),
                work(COPY, () -> copy(path, tensors, 1)),
                work(parallelCopy, () -> copy(path, tensors, threads)),
                peer(TORCH_SAVE, "torch_save"),
                peer("safetensors save_file", "safetensors_save_file"),
                work("copying in memory", () -> tensors.forEach(scratch::copyFrom)),
                work("CRC32C alone", () -> tensors.forEach(Checksums::crc32cOfMemory)),
                work("XXH3-128 alone", () -> tensors.forEach(Digest128::of)),
                work("copying in memory with both", () -> tensors.forEach(bytes -> digest(digester, bytes, scratch)))));
        return report(timings);
    }

    private static void digest(ExtentDigester digester, MemorySegment bytes, MemorySegment into) {
        digester.copy(bytes, into);
        var _ = digester.finish();
    }

    private List<Figure> report(Timings timings) {
        List<Figure> figures = new ArrayList<>();
        double gibibytes = workload.nbytes() / 0x1p30;
        for (String contender : timings.contenders()) {
            figures.add(timings.rate(workload, contender));
        }
        for (String contender : timings.contenders()) {
            List<Double> all = processorTime.getOrDefault(contender, List.of());
            Samples counted = new Samples(all.subList(all.size() - bench.rounds(), all.size()));
            figures.add(Figure.of("processor time: " + contender, counted.map(s -> s / gibibytes), "s/GiB"));
        }
        figures.add(Figure.of(OURS + " compared with " + COPY, timings.speedup(OURS, COPY), "x"));
        figures.add(Figure.of(OURS + " compared with " + parallelCopy, timings.speedup(OURS, parallelCopy), "x")
                .with(Goal.atLeast(0.5)));
        figures.add(Figure.of(OURS + " compared with " + TORCH_SAVE, timings.speedup(OURS, TORCH_SAVE), "x"));
        return figures;
    }

    private Contender work(String name, Work work) {
        return counted(name, () -> {
            bench.peers().ask("settle", bench.file("made"));
            double processor = ownProcessorTime();
            long start = System.nanoTime();
            work.run();
            double seconds = (System.nanoTime() - start) / 1e9;
            note(name, ownProcessorTime() - processor);
            return seconds;
        });
    }

    private Contender peer(String name, String request) {
        return counted(name, () -> {
            double seconds = Double.parseDouble(bench.peers().ask(request, bench.file("made")).getFirst());
            note(name, peerProcessorTime());
            return seconds;
        });
    }

    /// A measurement.
    @FunctionalInterface
    private interface Measuring {
        double seconds() throws IOException;
    }

    private Contender counted(String name, Measuring measuring) {
        return new Contender(name, () -> new Contender.Outcome(measuring.seconds(), workload.nbytes()));
    }

    private void note(String name, double seconds) {
        processorTime.computeIfAbsent(name, _ -> new ArrayList<>()).add(seconds);
    }

    private double peerProcessorTime() throws IOException {
        return Double.parseDouble(bench.peers().ask("processor_time").getFirst());
    }

    private static double ownProcessorTime() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
    }

    private static void copy(Path path, List<MemorySegment> tensors, int threads) throws IOException {
        try (var file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            long size = tensors.getFirst().byteSize();
            LongStream numbers = LongStream.range(0, tensors.size());
            (threads == 1 ? numbers : numbers.parallel())
                    .forEach(number -> write(file, number * size, tensors.get((int) number)));
        }
    }

    private static void write(FileChannel file, long offset, MemorySegment bytes) {
        try {
            for (long from = 0; from < bytes.byteSize(); from += BLOCK) {
                ByteBuffer block = bytes.asSlice(from, Math.min(BLOCK, bytes.byteSize() - from)).asByteBuffer();
                while (block.hasRemaining()) {
                    file.write(block, offset + from + block.position());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
