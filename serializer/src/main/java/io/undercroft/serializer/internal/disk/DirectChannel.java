package io.undercroft.serializer.internal.disk;

import io.undercroft.mmap.internal.support.DirectOption;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A second channel to a file that is being written, with direct I/O (`O_DIRECT`), for large writes that are aligned to
/// blocks in memory and in the file. It avoids a copy by the processor, uses no memory of the page cache, and leaves
/// little to force at the end. Other writes use the usual channel. A page is never written both ways. Safe for use by
/// several threads.
public final class DirectChannel implements AutoCloseable {
    /// Smaller writes are faster when they are collected in the page cache.
    private static final long SMALLEST = 1 << 20;
    /// The largest capacity of a [ByteBuffer].
    private static final long PIECE = 1 << 30;

    /// The type of a file system in memory. It accepts the option, but still writes to the page cache.
    private static final String IN_MEMORY = "tmpfs";

    private static final Optional<OpenOption> DIRECT = DirectOption.find();

    private final Path path;
    private final Disk.ChannelOpener channels;
    private @Nullable FileChannel channel;
    private boolean isRefused;

    /// A way to a file; not opened before it is needed.
    ///
    /// @param path its name, unknown to other processes
    /// @param channels opens it
    DirectChannel(Path path, Disk.ChannelOpener channels) {
        this.path = path;
        this.channels = channels;
    }

    /// Writes what can be written this way.
    ///
    /// @param offset the offset in the file
    /// @param bytes the bytes to write
    /// @return the number of bytes written; the others must be written through the page cache
    /// @throws ClosedChannelException if the thread was interrupted, or the file closed
    long write(long offset, MemorySegment bytes) throws ClosedChannelException {
        boolean isAligned = bytes.isNative() && (offset | bytes.address()) % DirectOption.PAGE == 0;
        if (!isAligned || bytes.byteSize() < SMALLEST) {
            return 0;
        }
        FileChannel open = channel();
        return open == null ? 0 : write(open, offset, bytes.asSlice(0, bytes.byteSize() & -DirectOption.PAGE));
    }

    /// A file system may not support direct writes and report it only at the first one. Buffered writes have
    /// the same effect, and better error messages.
    private long write(FileChannel open, long offset, MemorySegment bytes) throws ClosedChannelException {
        long done = 0;
        try {
            while (done < bytes.byteSize()) {
                ByteBuffer piece = bytes.asSlice(done, Math.min(PIECE, bytes.byteSize() - done)).asByteBuffer();
                int count = open.write(piece, offset + done);
                done += count;
                if (count % DirectOption.PAGE != 0) {
                    return done;
                }
            }
        } catch (ClosedChannelException e) {
            throw e;
        } catch (IOException _) {
            refuse();
        }
        return done;
    }

    private synchronized void refuse() {
        isRefused = true;
    }

    private synchronized @Nullable FileChannel channel() {
        if (channel == null && !isRefused) {
            try {
                FileStore store = Files.getFileStore(path);
                isRefused = store.type().equals(IN_MEMORY) || DirectOption.PAGE % store.getBlockSize() != 0;
                channel = isRefused
                        ? null
                        : channels.open(path, DIRECT.get());
            } catch (IOException | UnsupportedOperationException _) {
                isRefused = true;
            }
        }
        return isRefused ? null : channel;
    }

    @Override
    public synchronized void close() throws IOException {
        if (channel != null) {
            channel.close();
        }
    }
}
