package io.undercroft.benchmarks;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;

/// What checkpoints of a cluster would cost: a sharded one of about 10 TB, and a fleet of 100 000 of 7 billion
/// parameters. Sizes are those of indexes and manifests that the encoders of the format make here; reads are planned
/// over the parts of that manifest, by the blocks and the sizes of requests of files in stores. Nothing of it is read
/// from a store: times are computed from a latency and rates that are assumed.
final class ClusterSimulation {
    /// The assumed time to the first byte of a response, in seconds.
    private static final double LATENCY = 0.03;
    /// The assumed number of requests at a time of one process.
    private static final int AT_ONCE = 32;
    /// The assumed network of one process, in bytes per second: 10 Gbit/s.
    private static final double RATE = 1.25e9;

    private static final int LAYERS_EACH = 8;
    private static final int COLUMNS = 4;
    private static final int ROWS = 125;
    private static final int READER_STAGES = 8;
    private static final int READER_PARTS = 8;
    private static final long WIDTH = 16_384;
    private static final long INNER = 4 * WIDTH;
    /// The pages in which files in stores are fetched; what a request has at least, which is also the largest gap that
    /// every request spans; and the largest request, in bytes.
    private static final int PAGE = 4 << 10;
    private static final int BLOCK = 16 << 10;
    private static final int REQUEST = 8 << 20;
    /// What large storages begin at a multiple of.
    private static final long ALIGNMENT = 64 << 10;

    private static final long FLEET = 100_000;
    private static final int FLEET_TENSORS = 291;
    private static final long FLEET_BYTES = 13_500_000_000L;
    private static final int FLEET_TASKS = 100;

    private final Bench bench;
    private final int stages;

    /// A matrix of each layer, and whether readers divide its columns instead of its rows.
    private record Matrix(String name, long rows, long columns, boolean readByColumns) {}

    private static final List<Matrix> MATRICES = List.of(new Matrix("q", WIDTH, WIDTH, false),
            new Matrix("k", WIDTH, WIDTH, false), new Matrix("v", WIDTH, WIDTH, false),
            new Matrix("o", WIDTH, WIDTH, true), new Matrix("gate", INNER, WIDTH, false),
            new Matrix("up", INNER, WIDTH, false), new Matrix("down", WIDTH, INNER, true));

    /// What training keeps of each matrix.
    private static final Map<String, DTypeRecord> KEPT = new TreeMap<>(Map.of("weight",
            new DTypeRecord("bfloat16", 16), "master", new DTypeRecord("float32", 32), "exp_avg",
            new DTypeRecord("float32", 32), "exp_avg_sq", new DTypeRecord("float32", 32)));

    /// The bytes that an index has for each thing that it describes.
    private record IndexCost(double fixed, double perTensor, double perChunk, double secondsPerTensor) {
        double nbytes(long tensors, long chunks) {
            return fixed + tensors * perTensor + chunks * perChunk;
        }
    }

    /// What one reader asks for.
    private static final class Reads {
        private long nbytes;
        private long fetched;
        private long requests;
        private int shards;
    }

    private ClusterSimulation(Bench bench) {
        this.bench = bench;
        this.stages = bench.choose(20, 2);
    }

    static void run(Bench bench) throws IOException {
        new ClusterSimulation(bench).measure();
    }

    private void measure() throws IOException {
        IndexCost cost = indexCost();
        bench.add(Figure.of("index: fixed", cost.fixed, "B"));
        bench.add(Figure.of("index: for each tensor", cost.perTensor, "B"));
        bench.add(Figure.of("index: for each chunk of 1 MiB", cost.perChunk, "B"));
        bench.add(Figure.of("open a file and list its tensors, for each tensor", cost.secondsPerTensor * 1e6, "us"));
        sharded(cost);
        fleet(cost);
    }

    private IndexCost indexCost() throws IOException {
        double few = indexBytes(10, 1 << 14);
        double many = indexBytes(1010, 1 << 14);
        double perTensor = (many - few) / 1000;
        double perChunk = (indexBytes(4, 64 << 18) - indexBytes(4, 1 << 18)) / (4 * 63);
        double fixed = few - 10 * perTensor - 10 * perChunk;
        return new IndexCost(fixed, perTensor - perChunk, perChunk, secondsPerTensor(1010));
    }

    /// Returns the size of the index of a real file. Names are as long as those of models are; no two chunks are equal.
    private double indexBytes(int tensors, long elements) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int number = 0; number < tensors; number++) {
            state.put("model.layers." + number + ".self_attn.q_proj.weight",
                    Tensor.arange(DType.INT32, (double) number * elements, (number + 1.0) * elements, 1));
        }
        Path file = bench.directory().resolve("index-" + tensors + ".croft");
        Checkpoint.save(file, state);
        try (FileChannel channel = FileChannel.open(file); Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
            return Snapshot.open(ByteSource.of(bytes), Limits.DEFAULT).commit().indexLength();
        }
    }

    /// Returns the processor time of this thread for one tensor of a file of many, with all of its description.
    private double secondsPerTensor(int tensors) throws IOException {
        Path file = bench.directory().resolve("index-" + tensors + ".croft");
        var threads = ManagementFactory.getThreadMXBean();
        List<Double> samples = new ArrayList<>();
        for (int round = 0; round < 20 * bench.rounds(); round++) {
            long start = threads.getCurrentThreadCpuTime();
            try (Checkpoint c = Checkpoint.open(file)) {
                c.names().forEach(name -> c.tensor(name).shape());
            }
            samples.add((threads.getCurrentThreadCpuTime() - start) / 1e9 / tensors);
        }
        return new Samples(samples).median();
    }

    private void sharded(IndexCost cost) throws IOException {
        int shards = stages * ROWS * COLUMNS;
        int layers = stages * LAYERS_EACH;
        List<SlicedTensor> tensors = new ArrayList<>();
        long nbytes = 0;
        long parts = 0;
        for (int layer = 0; layer < layers; layer++) {
            for (Matrix matrix : MATRICES) {
                for (var kept : KEPT.entrySet()) {
                    List<SlicePart> divided = parts(matrix, layer / LAYERS_EACH);
                    tensors.add(SlicedTensor.of(name(layer, matrix, kept.getKey()), kept.getValue(),
                            new long[]{matrix.rows, matrix.columns}, divided));
                    nbytes += matrix.rows * matrix.columns * kept.getValue().bits() / 8;
                    parts += divided.size();
                }
            }
        }
        List<Shard> files = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            files.add(new Shard(new UUID(shard, ~shard), new Digest128(shard, ~shard), 1, nbytes / shards,
                    "shard-%05d.croft".formatted(shard)));
        }
        long start = System.nanoTime();
        byte[] manifest = SetManifest.canonical(files, Optional.of(SetIndex.of("job 7, step 1000", tensors))).encode();
        String what = "%,d shards of a checkpoint of %.1f TB: ".formatted(shards, nbytes / 1e12);
        bench.add(Figure.of(what + "encode the manifest", (System.nanoTime() - start) / 1e9, "s"));
        bench.add(Figure.count(what + "tensors", tensors.size()));
        bench.add(Figure.count(what + "parts", parts));
        bench.add(Figure.of(what + "manifest", manifest.length / 1e6, "MB"));
        bench.add(Figure.of(what + "manifest, for each part", (double) manifest.length / parts, "B"));

        long slicesEach = (long) LAYERS_EACH * MATRICES.size() * KEPT.size();
        double index = cost.nbytes(slicesEach, (nbytes / shards) >> 20);
        bench.add(Figure.of(what + "index of a shard", index / 1e3, "kB"));
        bench.add(Figure.of(what + "commit: indexes read", shards * index / 1e9, "GB"));
        long requests = 2L * shards;
        bench.add(Figure.count(what + "commit: requests", requests));
        bench.add(Figure.of(what + "commit: assumed time", seconds(requests, (long) (shards * index)), "s"));
        bench.add(Figure.of(what + "write a shard, assumed time", seconds(
                Math.ceilDiv(nbytes / shards, 64L << 20) + 2, nbytes / shards), "s"));

        tensors.clear();
        long before = usedHeap();
        start = System.nanoTime();
        SetManifest read = SetManifest.read(ByteSource.of(MemorySegment.ofArray(manifest)), Limits.DEFAULT);
        bench.add(Figure.of(what + "decode the manifest", (System.nanoTime() - start) / 1e9, "s"));
        bench.add(Figure.of(what + "heap of the open manifest", (usedHeap() - before) / 1e6, "MB"));
        start = System.nanoTime();
        read.index().orElseThrow().check(read.shards());
        bench.add(Figure.of(what + "check all parts", (System.nanoTime() - start) / 1e9, "s"));
        readers(what, read, layers);
    }

    /// The parts of a matrix: each writer has some rows of one block of columns.
    private static List<SlicePart> parts(Matrix matrix, int stage) {
        List<SlicePart> parts = new ArrayList<>();
        for (int row = 0; row < ROWS; row++) {
            long from = matrix.rows * row / ROWS;
            long rows = matrix.rows * (row + 1) / ROWS - from;
            for (int column = 0; column < COLUMNS; column++) {
                parts.add(new SlicePart((stage * ROWS + row) * COLUMNS + column,
                        new long[]{from, matrix.columns / COLUMNS * column},
                        new long[]{rows, matrix.columns / COLUMNS}));
            }
        }
        return parts;
    }

    private static String name(int layer, Matrix matrix, String kept) {
        return "layers.%d.%s.%s".formatted(layer, matrix.name, kept);
    }

    /// Plans what readers need that have the weights alone, in fewer stages and in other parts than the writers.
    private void readers(String what, SetManifest manifest, int layers) {
        List<Reads> all = new ArrayList<>();
        long start = System.nanoTime();
        for (int stage = 0; stage < READER_STAGES; stage++) {
            for (int part = 0; part < READER_PARTS; part++) {
                all.add(plan(manifest, layers * stage / READER_STAGES, layers * (stage + 1) / READER_STAGES, part));
            }
        }
        what = what.replace(": ", ", read by %d processes: ".formatted(all.size()));
        bench.add(Figure.of(what + "plan one of them", (System.nanoTime() - start) / 1e9 / all.size(), "s"));
        Reads most = all.stream().max((one, other) -> Long.compare(one.requests, other.requests)).orElseThrow();
        bench.add(Figure.of(what + "bytes of one", most.nbytes / 1e9, "GB"));
        bench.add(Figure.of(what + "fetched by one", (double) most.fetched / most.nbytes, "x"));
        bench.add(Figure.count(what + "shards of one", most.shards));
        bench.add(Figure.count(what + "requests of one for elements", most.requests));
        long requests = most.requests + 2L * most.shards;
        bench.add(Figure.of(what + "assumed time", seconds(requests, most.fetched), "s"));
        bench.add(Figure.of(what + "assumed time of requests alone", seconds(requests, 0), "s"));
        bench.add(Figure.of(what + "fetched by all", all.stream().mapToLong(reads -> reads.fetched).sum() / 1e12,
                "TB"));
    }

    private static Reads plan(SetManifest manifest, int firstLayer, int endLayer, int part) {
        Map<Integer, BitSet> pages = new HashMap<>();
        Reads reads = new Reads();
        for (int layer = firstLayer; layer < endLayer; layer++) {
            for (Matrix matrix : MATRICES) {
                SlicedTensor tensor = manifest.index().orElseThrow().find(name(layer, matrix, "weight")).orElseThrow();
                long[] from = {matrix.readByColumns ? 0 : matrix.rows / READER_PARTS * part,
                        matrix.readByColumns ? matrix.columns / READER_PARTS * part : 0};
                long[] end = {matrix.readByColumns ? matrix.rows : from[0] + matrix.rows / READER_PARTS,
                        matrix.readByColumns ? from[1] + matrix.columns / READER_PARTS : matrix.columns};
                for (SlicePart stored : tensor.parts(manifest.shards())) {
                    long rows = Math.min(end[0], stored.end(0)) - Math.max(from[0], stored.offset()[0]);
                    long columns = Math.min(end[1], stored.end(1)) - Math.max(from[1], stored.offset()[1]);
                    if (rows > 0 && columns > 0) {
                        reads.nbytes += rows * columns * 2;
                        add(pages.computeIfAbsent(stored.shard(), _ -> new BitSet()), position(layer, matrix, stored),
                                stored, new long[]{Math.max(0, from[0] - stored.offset()[0]),
                                        Math.max(0, from[1] - stored.offset()[1])},
                                rows, columns);
                    }
                }
            }
        }
        reads.shards = pages.size();
        for (BitSet needed : pages.values()) {
            for (int page = needed.nextSetBit(0); page >= 0;) {
                int stop = needed.nextClearBit(page);
                int next = needed.nextSetBit(stop);
                while (next >= 0 && (next - stop) * PAGE <= BLOCK) {
                    stop = needed.nextClearBit(next);
                    next = needed.nextSetBit(stop);
                }
                reads.requests += Math.ceilDiv((long) (stop - page) * PAGE, REQUEST);
                reads.fetched += (long) (stop - page) * PAGE;
                page = next;
            }
        }
        return reads;
    }

    /// Adds the pages of a box of a stored part, whose rows are one after the other.
    private static void add(BitSet pages, long position, SlicePart stored, long[] from, long rows, long columns) {
        boolean isContiguous = columns == stored.size()[1];
        for (long row = from[0]; row < from[0] + (isContiguous ? 1 : rows); row++) {
            long at = position + (row * stored.size()[1] + from[1]) * 2;
            long nbytes = (isContiguous ? rows : 1) * columns * 2;
            int step = nbytes < BLOCK ? BLOCK : PAGE;
            pages.set((int) (at / step * step / PAGE),
                    (int) (Math.ceilDiv(at + nbytes, step) * step / PAGE));
        }
    }

    /// Returns the place of the weights of a part in its shard, which has the layers of its stage one after the other,
    /// behind a header.
    private static long position(int layer, Matrix matrix, SlicePart stored) {
        double share = (double) (stored.size()[0] * stored.size()[1]) / (matrix.rows * matrix.columns);
        long elements = 0;
        for (Matrix other : MATRICES) {
            boolean isBefore = MATRICES.indexOf(other) < MATRICES.indexOf(matrix);
            elements += Math.round(share * other.rows * other.columns) * (layer % LAYERS_EACH + (isBefore ? 1 : 0));
        }
        long nbytes = elements * KEPT.values().stream().mapToLong(DTypeRecord::bits).sum() / Byte.SIZE;
        return ALIGNMENT + Math.ceilDiv(nbytes, ALIGNMENT) * ALIGNMENT;
    }

    private void fleet(IndexCost cost) {
        double index = cost.nbytes(FLEET_TENSORS, FLEET_BYTES >> 20);
        String what = "%,d checkpoints of %.1f GB: ".formatted(FLEET, FLEET_BYTES / 1e9);
        bench.add(Figure.of(what + "index of one", index / 1e3, "kB"));
        bench.add(Figure.of(what + "indexes", FLEET * index / 1e9, "GB"));
        bench.add(Figure.of(what + "rows of the table of tensors", FLEET * FLEET_TENSORS / 1e6, "million"));
        double processor = FLEET * FLEET_TENSORS * cost.secondsPerTensor;
        bench.add(Figure.of(what + "processor time of the table", processor, "s"));
        bench.add(Figure.of(what + "assumed time of the table, %d tasks at a time".formatted(FLEET_TASKS),
                FLEET * (2 * LATENCY + index / RATE) / FLEET_TASKS + processor / FLEET_TASKS, "s"));
        double chunks = FLEET * (double) (FLEET_BYTES >> 20);
        bench.add(Figure.of(what + "digests of chunks", chunks / 1e9, "billion"));
        bench.add(Figure.of(what + "digests of chunks, 16 bytes and a length each", chunks * 24 / 1e9, "GB"));
        bench.add(Figure.of(what + "assumed time to verify all, %d tasks at a time".formatted(FLEET_TASKS),
                FLEET * (double) FLEET_BYTES / RATE / FLEET_TASKS / 3600, "h"));
    }

    /// Returns the time of one process, if latency and bytes overlap.
    private static double seconds(long requests, long nbytes) {
        return Math.max(requests * LATENCY / AT_ONCE, nbytes / RATE);
    }

    private static long usedHeap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
