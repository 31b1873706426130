package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/// Work on all bytes of a storage, and views of tensors. Elements count 0, 1, … 250, 0, …, which every dtype holds
/// exactly.
@SuppressWarnings("NullAway.Init") // JMH sets the parameters, and calls the set-up, before all else.
public final class StorageLoops {
    private static final int PERIOD = 251;
    private static final int PROBES = 10_000;
    private static final long COLUMNS = 1024;

    private StorageLoops() {}

    /// The layout of the elements of a tensor that is copied. `peers.py` makes the same ones.
    public enum Geometry {
        /// One run.
        CONTIGUOUS(1),
        /// The left half of a matrix: rows of 1024 elements that lie 2048 apart.
        COLUMN_SLICE(2),
        /// A square matrix, columns first.
        TRANSPOSED(1),
        /// One element, and one that is left out. Both cross the memory bus.
        EVERY_SECOND(2);

        /// Elements of the storage for each element of the tensor.
        private final int spread;

        Geometry(int spread) {
            this.spread = spread;
        }

        private Tensor make(DType dtype, long numel) {
            Tensor all = Tensor.zeros(dtype, numel * spread);
            fill(all);
            return switch (this) {
                case CONTIGUOUS -> all;
                case COLUMN_SLICE -> all.view(-1, 2 * COLUMNS).narrow(1, 0, COLUMNS);
                case TRANSPOSED -> all.view((long) Math.sqrt((double) all.numel()), -1).t();
                case EVERY_SECOND -> all.slice(0, 0, Long.MAX_VALUE, 2);
            };
        }

        /// {@return how many bytes must be read and written to copy elements of this geometry to one run, for each byte
        /// of the elements; memory comes in lines, so that what is skipped inside a line is read with it}
        public double traffic() {
            return this == EVERY_SECOND ? spread + 1 : 2;
        }
    }

    /// The processor time of a thread that runs a method, and how often it did.
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class ProcessorTime {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
        /// The processor time in seconds.
        public double seconds;
        /// The number of runs.
        public long times;

        private void add(Runnable work) {
            long start = THREADS.getCurrentThreadCpuTime();
            work.run();
            seconds += (THREADS.getCurrentThreadCpuTime() - start) / 1e9;
            times++;
        }
    }

    /// Blocks of quantized numbers, 1024 rows of 4096 numbers, of which 64 rows are decoded at once: by one thread.
    @State(Scope.Benchmark)
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.SECONDS)
    public static class Blocks {
        /// The type of the blocks.
        @Param("Q4_K")
        public String type;
        private Tensor blocks;
        private Tensor numbers;

        /// Makes blocks of any bytes.
        @Setup
        public void make() {
            DType dtype = DType.blocks(type);
            numbers = Tensor.zeros(DType.FLOAT32, 1024, 4096);
            blocks = Tensor.zeros(dtype, numbers.size(0), numbers.size(1) / dtype.blockSize());
            byte[] bytes = new byte[(int) blocks.nbytes()];
            new SplittableRandom(1).nextBytes(bytes);
            blocks.bytes().copyFrom(MemorySegment.ofArray(bytes));
        }

        /// {@return the numbers}
        ///
        /// @param time the processor time that they took
        @Benchmark
        public Tensor decode(ProcessorTime time) {
            time.add(() -> {
                for (long row = 0; row < numbers.size(0); row += 64) {
                    numbers.narrow(0, row, 64).copyFrom(blocks.narrow(0, row, 64));
                }
            });
            return numbers;
        }
    }

    /// Writes the elements of a one-dimensional tensor.
    static void fill(Tensor tensor) {
        long written = Math.min(PERIOD, tensor.numel());
        for (long i = 0; i < written; i++) {
            tensor.setLong(i, i);
        }
        MemorySegment bytes = tensor.bytes();
        for (long done = tensor.dtype().nbytes(written); done < bytes.byteSize(); done *= 2) {
            long more = Math.min(done, bytes.byteSize() - done);
            bytes.asSlice(done, more).copyFrom(bytes.asSlice(0, more));
        }
    }

    /// Compares elements of two tensors of the same shape, at random places.
    private static void check(Tensor wanted, Tensor found) {
        var random = new SplittableRandom(wanted.numel());
        for (int probe = 0; probe < PROBES; probe++) {
            long[] index = new long[wanted.dim()];
            for (int d = 0; d < index.length; d++) {
                index[d] = random.nextLong(wanted.size(d));
            }
            if (wanted.getDouble(index) != found.getDouble(index)) {
                throw new IllegalStateException(
                        "copied " + found.getDouble(index) + " where " + wanted.getDouble(index) + " was");
            }
        }
    }

    /// What is measured of all of them.
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.SECONDS)
    @State(Scope.Benchmark)
    public abstract static class Timed {}

    /// Copies a tensor into one of the same or another dtype that is there already and contiguous.
    public static class Copies extends Timed {
        /// Bytes of the elements.
        @Param("268435456")
        public long nbytes;
        /// The layout of the elements that are copied.
        @Param
        public Geometry geometry;
        /// The name of their dtype.
        @Param("float32")
        public String from;
        /// The name of the dtype that they are converted to.
        @Param("float32")
        public String to;
        private Tensor source;
        private Tensor target;
        private MemorySegment plainSource;
        private MemorySegment plainTarget;

        /// Makes the tensors, and sees that what is measured is right.
        @Setup
        public void make() {
            DType dtype = DType.of(from);
            source = geometry.make(dtype, nbytes / dtype.itemsize());
            target = Tensor.zeros(DType.of(to), source.shape().toArray());
            plainTarget = target.storage().segment();
            plainSource = source.storage().segment().asSlice(0, Math.min(nbytes, plainTarget.byteSize()));
            ours();
            check(source, target);
        }

        /// The tensor, element by element.
        @Benchmark
        public void ours() {
            target.copyFrom(source);
        }

        /// The same number of contiguous bytes, if the dtypes are the same.
        @Benchmark
        public void plain() {
            plainTarget.copyFrom(plainSource);
        }
    }

    /// Writes one value over all bytes of a storage.
    public static class Fills extends Timed {
        private static final byte VALUE = 0x5a;
        /// Bytes of the storage.
        @Param("268435456")
        public long nbytes;
        private Storage storage;
        private MemorySegment plain;

        /// Makes the storage.
        @Setup
        public void make() {
            storage = Storage.allocate(nbytes);
            plain = storage.segment();
        }

        /// The storage.
        @Benchmark
        public void ours() {
            storage.fill(VALUE);
        }

        /// Its segment.
        @Benchmark
        public void plain() {
            plain.fill(VALUE);
        }
    }

    /// Allocates a storage that the garbage collector frees.
    public static class Allocations extends Timed {
        /// Bytes of the storage.
        @Param("268435456")
        public long nbytes;

        /// {@return a storage that nobody has written to}
        @Benchmark
        public Storage allocate() {
            return Storage.allocate(nbytes);
        }
    }

    /// Makes a view of a tensor of three dimensions and keeps it.
    public static class Views extends Timed {
        private final Tensor base = Tensor.zeros(DType.FLOAT32, 8, 16, 32);
        /// Kept, because an array that the caller makes for each call is no part of the view.
        private final long[] sizes = {128, 32};
        private long index;

        /// {@return a matrix of the stack}
        @Benchmark
        public Tensor select() {
            return base.select(0, index++ & 7);
        }

        /// {@return some rows of each matrix}
        @Benchmark
        public Tensor narrow() {
            return base.narrow(1, index++ & 7, 8);
        }

        /// {@return every matrix with rows and columns swapped}
        @Benchmark
        public Tensor transpose() {
            return base.transpose(1, 2);
        }

        /// {@return all rows in one matrix}
        @Benchmark
        public Tensor view() {
            return base.view(sizes);
        }
    }
}
