package io.undercroft.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.undercroft.format.Digest128;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;

/// Tensors in memory to a file, on a disk or in memory. Before and after each run the disk is left to finish what it
/// has to write.
final class SaveBenchmark {
    private static final String TORCH_SAVE = "torch.save";
    /// The maximum size of all buffers of a save, for a state of any size, in MiB.
    private static final double MOST_MEMORY = 64;

    private final Bench bench;
    private final Workload workload;
    private final Map<String, Tensor> state;
    private final List<MemorySegment> tensors;
    private final Notes processorTime = new Notes();

    private SaveBenchmark(Bench bench, Workload workload) throws IOException {
        this.bench = bench;
        this.workload = workload;
        bench.prepare(workload);
        this.state = Bench.copyToMemory(bench.pt());
        this.tensors = state.values().stream().map(Tensor::bytes).toList();
        bench.settleAll();
    }

    /// A file on a disk. Ours is durable when the call returns (fsync of file and directory included), and atomic and
    /// checksummed; `torch.save` and `save_file` only fill the page cache. What the disk can do is shown by `dd`, which
    /// writes as many zeros past the page cache and checks nothing.
    static void onDisk(Bench bench) throws IOException {
        new SaveBenchmark(bench, Workload.large(bench)).measureDisk();
    }

    /// A file in memory: without a disk, what counts is processor time. The limit is a plain copy of the same bytes
    /// into such a file, by one thread and by as many as there are processors. What the checksums cost is measured on
    /// the same bytes: each alone, and both as a save computes them, while it copies.
    static void inMemory(Bench bench) throws IOException {
        new SaveBenchmark(bench, bench.choose(new Workload("256 MiB in 64 tensors", 64, 1024, 1024),
                new Workload("64 MiB in 64 tensors", 64, 512, 512))).measureMemory();
    }

    private void measureDisk() throws IOException {
        String ours = "undercroft, durable";
        String disk = "dd oflag=direct conv=fsync";
        String torch = TORCH_SAVE + ", not durable";
        Peer python = bench.python();
        long nbytes = workload.nbytes();
        Timings timings = bench.time(List.of(
                bench.writing(ours, bench.file("ours.croft"), nbytes, path -> Checkpoint.save(path, state)),
                python.contender(torch, "torch_save", bench.file("torch.pt")),
                python.contender("torch.save, then fsync", "torch_save_durably", bench.file("torch.pt")),
                python.contender("safetensors save_file, not durable", "safetensors_save_file",
                        bench.file("st.safetensors")),
                bench.writing("plain writes, then fsync", bench.file("plain"), nbytes,
                        path -> PlainFile.write(path, tensors, 1, true)),
                bench.writing(disk, bench.file("dd"), nbytes, this::writeZeros)));
        Map<String, Double> goals = Map.of(torch, 2.5, disk, 0.9);
        for (String contender : timings.contenders()) {
            bench.add(Figure.of(workload.what() + ": " + contender, timings.of(contender), "s"));
            bench.add(timings.rate(workload, contender));
        }
        for (String peer : timings.contenders()) {
            Figure ratio = timings.compared("", ours, peer);
            if (!peer.equals(ours)) {
                bench.add(goals.containsKey(peer) ? ratio.atLeast(goals.get(peer)) : ratio);
            }
        }
        measurePeak(bench.file("ours.croft"));
    }

    /// How much more memory the process has at most during a save than before. It has saved often by then, so that its
    /// heap and its code are there.
    private void measurePeak(Path path) throws IOException {
        List<Double> mebibytes = new ArrayList<>();
        for (int round = 0; round < bench.rounds(); round++) {
            System.gc();
            mebibytes.add(ProcessMemory.peakDuring(() -> Checkpoint.save(path, state)) / 0x1p20);
        }
        bench.add(Figure.of("memory that a save takes, at the peak", new Samples(mebibytes), "MiB")
                .atMost(MOST_MEMORY));
    }

    private void writeZeros(Path path) throws IOException {
        Peer.run(List.of("dd", "if=/dev/zero", "of=" + path, "bs=" + PlainFile.BLOCK,
                "count=" + workload.nbytes() / PlainFile.BLOCK, "oflag=direct", "conv=fsync", "status=none"));
    }

    private void measureMemory() throws IOException {
        int threads = ForkJoinPool.getCommonPoolParallelism() + 1;
        String ours = "undercroft";
        String copy = "plain copy, one thread";
        String parallelCopy = "plain copy, " + threads + " threads";
        MemorySegment scratch = state.values().iterator().next().copy().bytes();
        ExtentDigester digester = new ExtentDigester();
        Path path = bench.file("made");
        Timings timings = bench.time(List.of(
                work(ours, () -> Checkpoint.save(path, state)),
                work(copy, () -> PlainFile.write(path, tensors, 1, false)),
                work(parallelCopy, () -> PlainFile.write(path, tensors, threads, false)),
                peer(TORCH_SAVE, "torch_save"),
                peer("safetensors save_file", "safetensors_save_file"),
                work("copying in memory", () -> tensors.forEach(scratch::copyFrom)),
                work("CRC32C alone", () -> tensors.forEach(Checksums::crc32cOfMemory)),
                work("XXH3-128 alone", () -> tensors.forEach(Digest128::of)),
                work("copying in memory with both", () -> tensors.forEach(bytes -> {
                    digester.copy(bytes, scratch);
                    var _ = digester.finish();
                }))));
        double gibibytes = workload.nbytes() / 0x1p30;
        timings.contenders().forEach(contender -> bench.add(timings.rate(workload, contender)));
        for (String contender : timings.contenders()) {
            bench.add(Figure.of("processor time: " + contender,
                    processorTime.last(contender, bench.rounds()).map(s -> s / gibibytes), "s/GiB"));
        }
        bench.add(timings.compared("", ours, copy));
        bench.add(timings.compared("", ours, parallelCopy).atLeast(0.5));
        bench.add(timings.compared("", ours, TORCH_SAVE));
    }

    private Contender work(String name, Contender.Work work) {
        return new Contender(name, () -> {
            bench.python().ask("settle", bench.file("made"));
            double processor = processorSeconds();
            Contender.Outcome outcome = Contender.of(name, workload.nbytes(), work).task().run();
            processorTime.add(name, processorSeconds() - processor);
            return outcome;
        });
    }

    private Contender peer(String name, String request) {
        return new Contender(name, () -> {
            double seconds = bench.python().number(request, bench.file("made"));
            processorTime.add(name, bench.python().number("processor_time"));
            return new Contender.Outcome(seconds, (double) workload.nbytes());
        });
    }

    private static double processorSeconds() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
    }
}
