package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicLong;
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
        Path pt = bench.pt();
        Path croft = bench.croft();
        bench.prepareAll(workload);
        long sum;
        try (Checkpoint made = Checkpoint.open(pt)) {
            sum = made.storages().stream().mapToLong(storage -> sum(storage.segment())).sum();
        }
        Storage buffer = Storage.allocate(Files.size(croft), AnonymousMemory.populatedAllocator());
        PlainFile.read(croft, buffer.segment(), 1);
        long others = sum(buffer.segment()) - sum;
        OpenOptions options = OpenOptions.defaults().inMemory();
        OpenOptions unchecked = options.checksums(ChecksumPolicy.NONE);
        Peer python = bench.python();
        List<Contender> contenders = Stream.of(
                Contender.loading(OURS, croft, () -> options),
                Contender.loading(REUSED, croft, () -> options.inMemory(new Cutter(buffer.segment()))),
                plain(PLAIN, croft, buffer, 1, others),
                plain(plainParallel, croft, buffer, threads, others),
                plainFresh(PLAIN_FRESH, croft, 1, others),
                plainFresh(plainFreshParallel, croft, threads, others),
                Contender.loading(UNCHECKED, croft, () -> unchecked),
                Contender.loading(REUSED_UNCHECKED, croft, () -> unchecked.inMemory(new Cutter(buffer.segment()))),
                Contender.loading(PT, pt, () -> options),
                python.contender(TORCH, "torch_load_all", pt),
                python.contender(TORCH_FRESH, "torch_load_all_fresh", pt),
                python.contender("safetensors load_file, cloned", "safetensors_load_all",
                        bench.safetensors()))
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

    private static long sum(MemorySegment bytes) {
        return Contender.sum(bytes, Integer.BYTES);
    }

    /// @param others the sum of all that is in the file and in no tensor
    private static Contender plain(String contender, Path path, Storage buffer, int threads, long others) {
        return new Contender(contender, () -> {
            buffer.fill((byte) 0);
            long start = System.nanoTime();
            PlainFile.read(path, buffer.segment(), threads);
            double seconds = Contender.since(start);
            return new Contender.Outcome(seconds, Contender.witness(sum(buffer.segment()) - others));
        });
    }

    private static Contender plainFresh(String contender, Path path, int threads, long others) {
        return new Contender(contender, () -> {
            long start = System.nanoTime();
            Storage fresh = Storage.allocate(Files.size(path), AnonymousMemory.allocator());
            PlainFile.read(path, fresh.segment(), threads);
            double seconds = Contender.since(start);
            long sum = sum(fresh.segment());
            fresh.release();
            return new Contender.Outcome(seconds, Contender.witness(sum - others));
        });
    }
}
