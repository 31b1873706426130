package io.undercroft.properties.laws;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.benchmarks.Samples;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.IndexCopy;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/// Builds an index of as many tensors as a file may have, opens it, looks for names, copies it, and tries one tensor
/// more.
///
/// Quickly, it does so with a million.
public final class ScaleProof {
    private static final int LOOKED_FOR = 100_000;

    private final int tensors;
    private final Random random;
    private final List<Figure> figures = new ArrayList<>();

    private ScaleProof(int tensors, long seed) {
        this.tensors = tensors;
        this.random = new Random(seed);
        figures.add(Figure.count("tensors, each with a name", tensors));
    }

    public static Report run(Effort effort) throws IOException {
        int tensors = effort == Effort.FULL ? Limits.DEFAULT.maxTensors() : 1_000_000;
        return RandomProof.report("scale", (seed, _) -> new ScaleProof(tensors, seed).prove());
    }

    private List<Figure> prove() throws IOException {
        IndexFile file = new IndexFile(build());
        open(file);
        find(file.open(Limits.DEFAULT));
        refuse(file);
        copy(file);
        return figures;
    }

    private MemorySegment build() {
        long memory = memoryOffHeap();
        long start = System.nanoTime();
        IndexBuilder builder = new IndexBuilder(FileLayout.DEFAULT_CHUNK_LOG2);
        TensorRecord tensor = fill(builder);
        MemorySegment index = builder.build(1);
        figures.add(Figure.of("its index", index.byteSize() / 1e6, "MB"));
        figures.add(Figure.of("building it", seconds(start), "s"));
        figures.add(Figure.of("memory off the heap that this takes, the index included, over the index",
                (double) (memoryOffHeap() - memory) / index.byteSize(), "x").atMost(2));
        if (tensors == Limits.DEFAULT.maxTensors()) {
            figures.add(none("tensors beyond the limit that were taken", isRefused(() -> builder.addTensor(tensor))));
            figures.add(none("names beyond the limit that were taken", isRefused(() -> builder.addName("+", 0))));
        }
        return index;
    }

    /// Adds all tensors; returns the last of them.
    private TensorRecord fill(IndexBuilder builder) {
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(tensors);
        int dtype = builder.addDType(new DTypeRecord("float32", 32));
        builder.addZeroExtent(64);
        TensorRecord tensor = new TensorRecord(dtype, builder.addStorage("cpu"), 0, Set.of(), new long[]{4, 4},
                new long[]{4, 1});
        for (int i = 0; i < tensors; i++) {
            builder.addName(name(i), builder.addTensor(tensor));
            tree.writeString(name(i));
            tree.writeTensor(i);
        }
        builder.setTree(tree.toByteArray());
        return tensor;
    }

    private static Figure none(String what, boolean isNone) {
        return Figure.count(what, isNone ? 0 : 1).atMost(0);
    }

    /// Neither in the order of the numbers nor all of one length.
    private static String name(int tensor) {
        return "layer " + tensor;
    }

    private static boolean isRefused(Runnable addition) {
        try {
            addition.run();
            return false;
        } catch (IllegalArgumentException _) {
            return true;
        }
    }

    private void open(IndexFile file) throws IOException {
        List<Double> times = new ArrayList<>();
        List<Double> allocated = new ArrayList<>();
        for (int round = 0; round < 11; round++) {
            long before = Proc.allocatedByThisThread();
            long start = System.nanoTime();
            Snapshot snapshot = file.open(Limits.DEFAULT);
            if (snapshot.findTensor(name(tensors / 2)) != tensors / 2) {
                throw new AssertionError("the tensor in the middle was not found");
            }
            times.add(1e3 * seconds(start));
            allocated.add((Proc.allocatedByThisThread() - before) / 1024.0);
        }
        figures.add(Figure.of("opening it and finding one tensor", new Samples(times), "ms"));
        figures.add(Figure.of("memory of the heap that this takes, whatever the number of tensors",
                new Samples(allocated), "KiB").atMost(256));
    }

    private void find(Snapshot snapshot) {
        long start = System.nanoTime();
        int found = 0;
        for (int i = 0; i < LOOKED_FOR; i++) {
            int tensor = random.nextInt(tensors);
            boolean isThere = snapshot.findTensor(name(tensor)) == tensor && snapshot.tensor(tensor).rank() == 2
                    && snapshot.name(snapshot.nameOfTensor(tensor)).equals(name(tensor));
            boolean isNot = snapshot.findTensor(name(tensor) + "~") == -1;
            found += isThere && isNot ? 1 : 0;
        }
        figures.add(Figure.of("finding one, and that another is not there, after that",
                1e6 * seconds(start) / LOOKED_FOR, "us"));
        figures.add(Figure.of("of those looked for, found", 100.0 * found / LOOKED_FOR, "%").atLeast(100));
    }

    private void refuse(IndexFile file) throws IOException {
        Limits all = Limits.DEFAULT;
        Limits fewer = new Limits(all.maxIndexBytes(), all.maxSummedIndexBytes(), tensors - 1, all.maxRank(),
                all.maxSections(), all.maxBases(), all.maxBaseDepth(), all.maxDepth(), all.maxNameBytes(),
                all.maxExpansion(), all.maxSnapshots(), all.maxShards(), all.maxManifestBytes());
        String code = "";
        try {
            file.open(fewer);
        } catch (FormatException e) {
            code = e.code();
        }
        figures.add(none("files with a tensor more than the limit that were opened", code.equals("V8-LIMIT")));
    }

    private void copy(IndexFile file) throws IOException {
        long start = System.nanoTime();
        MemorySegment copy = IndexCopy.of(file.open(Limits.DEFAULT)).build(1);
        figures.add(Figure.of("checking all rules of it and copying it", seconds(start), "s"));
        figures.add(none("copies that differ from it", copy.mismatch(file.index()) == -1));
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    private static long memoryOffHeap() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }

    /// A file of nothing but an index, in memory.
    private record IndexFile(MemorySegment start, MemorySegment index) implements ByteSource {
        IndexFile(MemorySegment index) {
            this(MemorySegment.ofArray(new byte[(int) FileLayout.DATA_START]), index);
            CommitRecord commit = CommitRecord.canonical(index, FileLayout.DATA_START, 0, "");
            byte[] header = Header.of(commit.uuid(), FileLayout.DEFAULT_CHUNK_LOG2, commit.committedLength()).encode();
            start.asSlice(0, FileLayout.HEADER_BYTES).copyFrom(MemorySegment.ofArray(header));
            start.asSlice(FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES)
                    .copyFrom(MemorySegment.ofArray(commit.encode()));
        }

        Snapshot open(Limits limits) throws IOException {
            return Snapshot.open(this, limits);
        }

        @Override
        public long size() {
            return start.byteSize() + index.byteSize();
        }

        @Override
        public void read(long offset, MemorySegment into) {
            into.copyFrom(view(offset, into.byteSize()));
        }

        @Override
        public Optional<MemorySegment> segment(long offset, long length) {
            return Optional.of(view(offset, length));
        }

        private MemorySegment view(long offset, long length) {
            return offset < start.byteSize()
                    ? start.asSlice(offset, length)
                    : index.asSlice(offset - start.byteSize(), length);
        }
    }
}
