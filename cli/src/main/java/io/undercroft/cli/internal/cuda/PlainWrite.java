package io.undercroft.cli.internal.cuda;

import io.undercroft.cli.internal.DirectIo;
import io.undercroft.cuda.internal.RandomBytes;
import io.undercroft.mmap.internal.support.DirectOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;

/// The rate of the disk: one file that is written by several threads in large blocks, past the page cache where that is
/// possible, and is durable in the end. (What `dd oflag=direct conv=fsync` does, with several threads.)
final class PlainWrite {
    private static final int BLOCK = 16 << 20;
    private static final int THREADS = 4;

    private PlainWrite() {}

    /// Writes a file.
    ///
    /// @param file the file to make
    /// @param size the minimum number of bytes; rounded up to whole blocks
    /// @return the number of bytes written
    /// @throws IOException if that fails
    static long run(Path file, long size) throws IOException {
        List<OpenOption> options = new ArrayList<>(
                List.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
        if (DirectIo.unavailability(Objects.requireNonNull(file.toAbsolutePath().getParent())).isEmpty()) {
            DirectOption.find().ifPresent(options::add);
        }
        long blocks = Math.ceilDiv(size, (long) BLOCK);
        AtomicLong next = new AtomicLong();
        try (Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(file, options.toArray(OpenOption[]::new))) {
            MemorySegment block = arena.allocate(BLOCK, DirectOption.PAGE);
            new RandomBytes().fill(block);
            List<CompletableFuture<Void>> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                threads.add(CompletableFuture.runAsync(() -> {
                    for (long b = next.getAndIncrement(); b < blocks; b = next.getAndIncrement()) {
                        write(channel, block.asByteBuffer(), b * BLOCK);
                    }
                }, task -> Thread.ofPlatform().daemon().start(task)));
            }
            CompletableFuture.allOf(threads.toArray(CompletableFuture[]::new)).join();
            channel.force(true);
        } catch (CompletionException e) {
            throw e.getCause() instanceof UncheckedIOException failure ? failure.getCause() : new IOException(e);
        }
        return blocks * BLOCK;
    }

    private static void write(FileChannel channel, ByteBuffer bytes, long position) {
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes, position + bytes.position());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
