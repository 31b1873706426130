package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// Loads of a whole file into memory as tensors, compared with reads of the same file into a buffer, and with the
/// peers. Files are in the page cache. Memory is either fresh, as in a program that loads a model once, or mapped and
/// touched before.
///
/// The cost of fresh memory depends on the machine: a virtual machine may have returned free memory to its host, and
/// needs seconds to get it back. So before each run the required amount of memory is touched and freed, and all
/// contenders find the free memory of the machine in the same state. `torch.load` reuses the memory that the C library
/// kept from the previous load, as in a program that loads again; so it has a contender for each kind of memory, too.
///
/// This library uses as many threads as there are processors, so it is compared with plain reads by as many threads,
/// and by one. Goals are for the same number of threads.
final class EagerBenchmark {
    private static final String OURS = "undercroft, fresh memory";
    private static final String REUSED = "undercroft, memory there before";
    private static final String REUSED_UNCHECKED = "undercroft, memory there before, checksums not compared";
    private static final String UNCHECKED = "undercroft, fresh memory, checksums not compared";
    private static final String PT = "undercroft, fresh memory, .pt";
    private static final String PLAIN = "plain read, memory there before";
    private static final String PLAIN_FRESH = "plain read, fresh memory";
    private static final String TORCH = "torch.load";
    private static final String TORCH_FRESH = "torch.load, fresh memory";
    private static final double TARGET_IN_FRESH_MEMORY = 0.9;
    private static final double TARGET_IN_REUSED_MEMORY = 0.95;
    private static final double TARGET_BESIDE_TORCH = 1.5;
    private static final int BLOCK = 4 << 20;
    private static final ValueLayout.OfInt WORD = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /// Sums are printed as numbers that a double holds.
    private static final long WITNESS = (1L << 52) - 1;

    private final Bench bench;
    private final int threads = ForkJoinPool.getCommonPoolParallelism() + 1;
    private final String plainParallel = PLAIN + ", " + threads + " threads";
    private final String plainFreshParallel = PLAIN_FRESH + ", " + threads + " threads";

    private EagerBenchmark(Bench bench) {
        this.bench = bench;
    }

    static void run(Bench bench) throws IOException {
        new EagerBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        Workload workload = Workload.large(bench);
        Path pt = bench.file("model.pt");
        Path croft = bench.file("model.croft");
        bench.prepare(workload);
        bench.python().ask("forget");
        Bench.convert(pt, croft);
        long sum;
        try (Checkpoint made = Checkpoint.open(pt)) {
            sum = sum(made.storages());
        }
        Storage buffer = Storage.allocate(Files.size(croft), AnonymousMemory.populatedAllocator());
        readPlainly(croft, buffer.segment(), 1);
        long others = sum(List.of(buffer)) - sum;
        OpenOptions options = OpenOptions.defaults().inMemory();
        OpenOptions unchecked = options.checksums(ChecksumPolicy.NONE);
        Peer python = bench.python();
        List<Contender> contenders = Stream.of(
                ours(OURS, croft, () -> options),
                ours(REUSED, croft, () -> options.inMemory(new Cutter(buffer.segment()))),
                plain(PLAIN, croft, buffer, 1, others),
                plain(plainParallel, croft, buffer, threads, others),
                plainFresh(PLAIN_FRESH, croft, 1, others),
                plainFresh(plainFreshParallel, croft, threads, others),
                ours(UNCHECKED, croft, () -> unchecked),
                ours(REUSED_UNCHECKED, croft, () -> unchecked.inMemory(new Cutter(buffer.segment()))),
                ours(PT, pt, () -> options),
                python.contender(TORCH, "torch_load_all", pt),
                python.contender(TORCH_FRESH, "torch_load_all_fresh", pt),
                python.contender("safetensors load_file, cloned", "safetensors_load_all",
                        bench.file("model.safetensors")))
                .map(contender -> contender.refreshed(buffer.nbytes())).toList();
        Timings timings = bench.time(contenders);
        buffer.release();
        for (String contender : timings.contenders()) {
            bench.add(timings.millis(workload.what() + ": ", contender));
            bench.add(timings.rate(workload, contender));
        }
        bench.add(timings.compared("", OURS, plainFreshParallel).atLeast(TARGET_IN_FRESH_MEMORY));
        bench.add(timings.compared("", UNCHECKED, plainFreshParallel).atLeast(TARGET_IN_FRESH_MEMORY));
        bench.add(timings.compared("", REUSED, plainParallel).atLeast(TARGET_IN_REUSED_MEMORY));
        bench.add(timings.compared("", REUSED_UNCHECKED, plainParallel).atLeast(TARGET_IN_REUSED_MEMORY));
        bench.add(timings.compared("", OURS, PLAIN_FRESH));
        bench.add(timings.compared("", REUSED, PLAIN));
        bench.add(timings.compared("", OURS, PLAIN));
        bench.add(timings.compared("", OURS, TORCH).atLeast(TARGET_BESIDE_TORCH));
        bench.add(timings.compared("", OURS, TORCH_FRESH).atLeast(TARGET_BESIDE_TORCH));
        bench.add(timings.compared("", REUSED, TORCH).atLeast(TARGET_BESIDE_TORCH));
        bench.add(timings.compared("", UNCHECKED, TORCH));
        bench.add(timings.compared("", PT, TORCH));
    }

    /// Cuts storages from memory that is there. (It is not zeroed, as it should be if storages had zeros in no file.)
    private static final class Cutter implements Allocator {
        private final MemorySegment memory;
        private final AtomicLong used = new AtomicLong();

        Cutter(MemorySegment memory) {
            this.memory = memory;
        }

        @Override
        public Allocation allocate(long nbytes) {
            long space = (nbytes + Storage.ALIGNMENT - 1) & -Storage.ALIGNMENT;
            return Allocation.collected(memory.asSlice(used.getAndAdd(space), nbytes));
        }
    }

    private static Contender ours(String contender, Path path, Supplier<OpenOptions> options) {
        return new Contender(contender, () -> {
            OpenOptions prepared = options.get();
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(path, prepared)) {
                double seconds = (System.nanoTime() - start) / 1e9;
                return new Contender.Outcome(seconds, sum(checkpoint.storages()) & WITNESS);
            }
        });
    }

    /// @param others the sum of all that is in the file and in no tensor
    private static Contender plain(String contender, Path path, Storage buffer, int threads, long others) {
        return new Contender(contender, () -> {
            buffer.fill((byte) 0);
            long start = System.nanoTime();
            readPlainly(path, buffer.segment(), threads);
            double seconds = (System.nanoTime() - start) / 1e9;
            return new Contender.Outcome(seconds, (sum(List.of(buffer)) - others) & WITNESS);
        });
    }

    private static Contender plainFresh(String contender, Path path, int threads, long others) {
        return new Contender(contender, () -> {
            long start = System.nanoTime();
            Storage fresh = Storage.allocate(Files.size(path), AnonymousMemory.allocator());
            readPlainly(path, fresh.segment(), threads);
            double seconds = (System.nanoTime() - start) / 1e9;
            long sum = sum(List.of(fresh));
            fresh.release();
            return new Contender.Outcome(seconds, (sum - others) & WITNESS);
        });
    }

    private static void readPlainly(Path path, MemorySegment into, int threads) throws IOException {
        try (FileChannel file = FileChannel.open(path)) {
            LongStream blocks = LongStream.range(0, (into.byteSize() + BLOCK - 1) / BLOCK);
            (threads == 1 ? blocks : blocks.parallel()).forEach(block -> readBlock(file, into, block * BLOCK));
        }
    }

    private static void readBlock(FileChannel file, MemorySegment into, long offset) {
        ByteBuffer block = into.asSlice(offset, Math.min(BLOCK, into.byteSize() - offset)).asByteBuffer();
        try {
            while (block.hasRemaining()) {
                file.read(block, offset + block.position());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// The bytes, taken for words and added up, show that they all arrived.
    private static long sum(List<Storage> storages) {
        long sum = 0;
        for (Storage storage : storages) {
            MemorySegment bytes = storage.segment();
            for (long at = 0; at <= bytes.byteSize() - Integer.BYTES; at += Integer.BYTES) {
                sum += bytes.get(WORD, at);
            }
        }
        return sum;
    }
}
