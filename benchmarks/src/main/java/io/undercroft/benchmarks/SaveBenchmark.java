package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Tensors in memory to a file on a disk. Ours is durable when the call returns (fsync of file and directory included),
/// and atomic and checksummed; `torch.save` and `save_file` only fill the page cache. What the disk can do is shown by
/// `dd`, which writes as many zeros past the page cache and checks nothing. Before and after each run the disk is left
/// to finish what it has to write.
final class SaveBenchmark {
    private static final String OURS = "undercroft, durable";
    private static final String TORCH_SAVE = "torch.save, not durable";
    private static final String DISK = "dd oflag=direct conv=fsync";
    private static final int BLOCK = 4 << 20;
    /// The maximum size of all buffers of a save, for a state of any size.
    private static final double MOST_MEMORY = 64;

    private final Bench bench;

    SaveBenchmark(Bench bench) {
        this.bench = bench;
    }

    List<Figure> run() throws IOException {
        Workload workload = Workload.large(bench.effort());
        bench.prepare(workload);
        Map<String, Object> state = copyToMemory(bench.file("model.pt"));
        bench.peers().ask("settle", bench.file("model.pt"), bench.file("model.safetensors"));
        Peers peers = bench.peers();
        Timings timings = new Rounds(bench.warmUp(), bench.rounds()).time(List.of(
                bench.writing(OURS, bench.file("ours.croft"), path -> Checkpoint.save(path, state)),
                peers.contender(TORCH_SAVE, "torch_save", bench.file("torch.pt")),
                peers.contender("torch.save, then fsync", "torch_save_durably", bench.file("torch.pt")),
                peers.contender("safetensors save_file, not durable", "safetensors_save_file",
                        bench.file("st.safetensors")),
                bench.writing("plain writes, then fsync", bench.file("plain"), path -> writePlainly(path, state)),
                bench.writing(DISK, bench.file("dd"), this::writeZeros)));
        List<Figure> figures = report(workload, timings);
        figures.add(memory(state));
        return figures;
    }

    private static List<Figure> report(Workload workload, Timings timings) {
        Map<String, Goal> goals = Map.of(TORCH_SAVE, Goal.atLeast(2.5), DISK, Goal.atLeast(0.9));
        List<Figure> figures = new ArrayList<>();
        for (String contender : timings.contenders()) {
            figures.add(Figure.of(workload.what() + ": " + contender, timings.of(contender), "s"));
            figures.add(timings.rate(workload, contender));
        }
        for (String peer : timings.contenders()) {
            Figure ratio = Figure.of(OURS + " compared with " + peer, timings.speedup(OURS, peer), "x");
            if (!peer.equals(OURS)) {
                figures.add(goals.containsKey(peer) ? ratio.with(goals.get(peer)) : ratio);
            }
        }
        return figures;
    }

    static Map<String, Object> copyToMemory(Path file) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            for (String name : checkpoint.names()) {
                state.put(name, checkpoint.tensor(name).copy());
            }
        }
        return state;
    }

    private void writeZeros(Path path) throws IOException {
        long blocks = Workload.large(bench.effort()).nbytes() / BLOCK;
        Process dd = new ProcessBuilder("dd", "if=/dev/zero", "of=" + path, "bs=" + BLOCK, "count=" + blocks,
                "oflag=direct", "conv=fsync").redirectErrorStream(true).start();
        String said = new String(dd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (dd.onExit().join().exitValue() != 0) {
            throw new IOException("dd failed: " + said);
        }
    }

    /// How much more memory the process has at most during a save than before. It has saved often by then, so that its
    /// heap and its code are there.
    private Figure memory(Map<String, Object> state) throws IOException {
        List<Double> mebibytes = new ArrayList<>();
        Path path = bench.file("ours.croft");
        for (int round = 0; round < bench.rounds(); round++) {
            System.gc();
            mebibytes.add(PeakMemory.during(() -> Checkpoint.save(path, state)) / 0x1p20);
        }
        return Figure.of("memory that a save takes, at the peak", new Samples(mebibytes), "MiB")
                .with(Goal.atMost(MOST_MEMORY));
    }

    /// One large write after the other, and fsync at the end.
    private static void writePlainly(Path path, Map<String, Object> state) throws IOException {
        try (var file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (Object value : state.values()) {
                MemorySegment bytes = ((Tensor) value).bytes();
                for (long from = 0; from < bytes.byteSize(); from += BLOCK) {
                    var block = bytes.asSlice(from, Math.min(BLOCK, bytes.byteSize() - from)).asByteBuffer();
                    while (block.hasRemaining()) {
                        file.write(block);
                    }
                }
            }
            file.force(true);
        }
    }
}
