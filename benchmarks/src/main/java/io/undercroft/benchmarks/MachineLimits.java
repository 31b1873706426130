package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/// How long this machine takes at least for some bytes: to write and read a file in blocks of 4 MiB, like `dd` with and
/// without `direct`, and to copy memory; each with one thread. No contender can write bytes to the disk, or copy them,
/// in less time, except with several threads.
final class MachineLimits {
    private static final int BLOCK = 4 << 20;
    private static final int PAGE = 4096;

    private final Bench bench;
    private final Path file;
    private final long nbytes;

    /// @param nbytes how many bytes; rounded up to whole pages, which direct I/O needs
    MachineLimits(Bench bench, long nbytes) {
        this.bench = bench;
        this.file = bench.file("limits");
        this.nbytes = Math.ceilDiv(nbytes, PAGE) * PAGE;
    }

    /// Measures all limits.
    ///
    /// @return the times by limit
    /// @throws IOException if writing or reading fails
    Timings measure() throws IOException {
        ByteBuffer block = block();
        List<Contender> contenders = List.of(
                limit("write past the page cache (O_DIRECT), then fsync", this::settle,
                        () -> write(block, StandardOpenOption.WRITE, direct())),
                limit("write through the page cache, then fsync", this::settle,
                        () -> write(block, StandardOpenOption.WRITE)),
                limit("read from the disk past the page cache (O_DIRECT)", () -> {},
                        () -> read(block, StandardOpenOption.READ, direct())),
                limit("read from the page cache", this::cache, () -> read(block, StandardOpenOption.READ)));
        Timings timings = Rounds.bounded(Duration.ofMillis(1), bench.rounds()).time(contenders);
        Files.delete(file);
        return timings.and(copies());
    }

    /// By reflection, since javac warns of the class, though the JDK documents it.
    private static OpenOption direct() throws IOException {
        try {
            for (Object option : Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants()) {
                if (option.toString().equals("DIRECT")) {
                    return (OpenOption) option;
                }
            }
        } catch (ClassNotFoundException e) {
            throw new IOException("this JDK has no direct I/O", e);
        }
        throw new IOException("this JDK has no direct I/O");
    }

    private static ByteBuffer block() {
        return ByteBuffer.allocateDirect(BLOCK + PAGE).alignedSlice(PAGE).limit(BLOCK);
    }

    private Timings copies() throws IOException {
        long size = Math.min(nbytes, 1L << 30);
        double whole = (double) nbytes / size;
        Storage source = Storage.allocate(size, AnonymousMemory.populatedAllocator());
        Storage target = Storage.allocate(size, AnonymousMemory.populatedAllocator());
        try {
            List<Contender> contenders = List.of(
                    scaled("copy memory", whole, () -> target.segment().copyFrom(source.segment())),
                    scaled("copy memory to fresh memory", whole, () -> copyToFresh(source.segment())));
            return Rounds.bounded(Duration.ofMillis(1), bench.rounds()).time(contenders);
        } finally {
            source.release();
            target.release();
        }
    }

    private static void copyToFresh(MemorySegment source) {
        Allocation fresh = AnonymousMemory.allocator().allocate(source.byteSize());
        fresh.segment().copyFrom(source);
        fresh.free();
    }

    /// At most 1 GiB is copied, so that both copies fit into memory; the time is that of all bytes.
    private static Contender scaled(String name, double times, Step step) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            step.run();
            return new Contender.Outcome((System.nanoTime() - start) / 1e9 * times, 0);
        });
    }

    @FunctionalInterface
    private interface Step {
        void run() throws IOException;
    }

    private static Contender limit(String name, Step before, Step step) {
        return new Contender(name, () -> {
            before.run();
            long start = System.nanoTime();
            step.run();
            return new Contender.Outcome((System.nanoTime() - start) / 1e9, 0);
        });
    }

    /// Makes the file anew, like the contenders that save.
    private void settle() throws IOException {
        bench.peers().ask("settle", file);
        Files.createFile(file);
    }

    private void cache() throws IOException {
        read(block(), StandardOpenOption.READ);
    }

    private void write(ByteBuffer block, OpenOption... options) throws IOException {
        try (FileChannel channel = FileChannel.open(file, Set.of(options))) {
            for (long at = 0; at < nbytes;) {
                block.clear().limit((int) Math.min(BLOCK, nbytes - at));
                at += channel.write(block, at);
            }
            channel.force(true);
        }
    }

    private void read(ByteBuffer block, OpenOption... options) throws IOException {
        try (FileChannel channel = FileChannel.open(file, Set.of(options))) {
            for (long at = 0; at < nbytes;) {
                block.clear().limit((int) Math.min(BLOCK, nbytes - at));
                at += channel.read(block, at);
            }
        }
    }
}
