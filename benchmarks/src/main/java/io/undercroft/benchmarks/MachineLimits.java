package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.internal.support.DirectOption;
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

/// How long this machine takes at least for some bytes: to write and read a file in blocks of 4 MiB, like `dd` with and
/// without `direct`, and to copy memory; each with one thread. No contender can write bytes to the disk, or copy them,
/// in less time, except with several threads.
final class MachineLimits {
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
        ByteBuffer block = ByteBuffer.allocateDirect(PlainFile.BLOCK + PAGE).alignedSlice(PAGE).limit(PlainFile.BLOCK);
        OpenOption direct = DirectOption.find().orElseThrow(() -> new IOException("this JDK has no direct I/O"));
        // The file is made anew, like those of the contenders that save.
        Contender.Work settle = () -> {
            bench.python().ask("settle", file);
            Files.createFile(file);
        };
        Timings timings = time(List.of(
                Contender.of("write past the page cache (O_DIRECT), then fsync", 0,
                        () -> write(block, StandardOpenOption.WRITE, direct)).after(settle),
                Contender.of("write through the page cache, then fsync", 0,
                        () -> write(block, StandardOpenOption.WRITE)).after(settle),
                Contender.of("read from the disk past the page cache (O_DIRECT)", 0,
                        () -> read(block, StandardOpenOption.READ, direct)),
                Contender.of("read from the page cache", 0, () -> read(block, StandardOpenOption.READ))
                        .after(() -> read(block, StandardOpenOption.READ))));
        Files.delete(file);
        return timings.and(copies());
    }

    private Timings time(List<Contender> contenders) throws IOException {
        return Rounds.bounded(Duration.ofMillis(1), bench.rounds()).time(contenders);
    }

    /// At most 1 GiB is copied, so that both copies fit into memory; the time is that of all bytes.
    private Timings copies() throws IOException {
        long size = Math.min(nbytes, 1L << 30);
        double whole = (double) nbytes / size;
        Storage source = Storage.allocate(size, AnonymousMemory.populatedAllocator());
        Storage target = Storage.allocate(size, AnonymousMemory.populatedAllocator());
        try {
            return time(List.of(
                    Contender.of("copy memory", 0, () -> target.segment().copyFrom(source.segment())),
                    Contender.of("copy memory to fresh memory", 0, () -> copyToFresh(source.segment()))))
                    .times(whole);
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

    private void write(ByteBuffer block, OpenOption... options) throws IOException {
        try (FileChannel channel = FileChannel.open(file, options)) {
            transfer(block, channel::write);
            channel.force(true);
        }
    }

    private void read(ByteBuffer block, OpenOption... options) throws IOException {
        try (FileChannel channel = FileChannel.open(file, options)) {
            transfer(block, channel::read);
        }
    }

    private void transfer(ByteBuffer block, PlainFile.Transfer transfer) throws IOException {
        for (long at = 0; at < nbytes;) {
            block.clear().limit((int) Math.min(PlainFile.BLOCK, nbytes - at));
            at += transfer.run(block, at);
        }
    }
}
