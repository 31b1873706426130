package io.undercroft.serializer.internal.disk;

import io.undercroft.mmap.internal.support.DirectOption;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/// The file system of this computer.
final class SystemDisk implements Disk {
    private final Disk.ChannelOpener channels;

    SystemDisk(Disk.ChannelOpener channels) {
        this.channels = channels;
    }

    @Override
    public DiskFile create(Path path) throws IOException {
        FileChannel channel = channels.open(path, StandardOpenOption.CREATE_NEW);
        try {
            ChannelDiskFile file = ChannelDiskFile.of(path, channel);
            try {
                Temporaries.lock(channel);
            } catch (Throwable e) {
                file.close();
                throw e;
            }
            file.pastTheCache = Optional.of(new DirectChannel(path, channels));
            return file;
        } catch (Throwable e) {
            delete(path);
            throw e;
        }
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        while (true) {
            Object before = ChannelDiskFile.key(path);
            ChannelDiskFile file = ChannelDiskFile.of(path, channels.open(path));
            // Otherwise another file has taken the place of this one in between.
            if (Objects.equals(before, file.key)) {
                return file;
            }
            file.close();
        }
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void delete(Path path) throws IOException {
        Files.deleteIfExists(path);
    }

    /// Some network file systems report no size.
    @Override
    public OptionalLong usableSpace(Path directory) throws IOException {
        FileStore store = Files.getFileStore(directory);
        return store.getTotalSpace() == 0 ? OptionalLong.empty() : OptionalLong.of(store.getUsableSpace());
    }

    /// Windows cannot open a directory, and makes renames durable itself.
    @Override
    public void forceDirectory(Path directory) throws IOException {
        if (System.getProperty("os.name").startsWith("Windows")) {
            return;
        }
        try (FileChannel handle = FileChannel.open(directory, StandardOpenOption.READ)) {
            handle.force(true);
        }
    }

    private static final class ChannelDiskFile implements DiskFile {
        /// A segment is read and written in pieces that a `ByteBuffer` can hold.
        private static final long PIECE = 1 << 30;

        private final FileChannel channel;
        /// The key of the file in the system, or null if it has none.
        private final @Nullable Object key;
        private final Arena arena = Arena.ofShared();
        /// Held while bytes are written through the page cache. The kernel lets one thread at a time write to a file,
        /// and other threads would use a processor while they wait for it.
        private final ReentrantLock cache = new ReentrantLock();
        private final Path path;
        private @Nullable MemorySegment mapped;
        /// This file, opened another time for reads past the page cache; null before, and if that is not possible.
        private @Nullable MappedFile second;
        private boolean isOpenedAgain;
        private Optional<DirectChannel> pastTheCache = Optional.empty();

        private ChannelDiskFile(Path path, FileChannel channel, @Nullable Object key) {
            this.path = path;
            this.channel = channel;
            this.key = key;
        }

        static ChannelDiskFile of(Path path, FileChannel channel) throws IOException {
            try {
                return new ChannelDiskFile(path, channel, key(path));
            } catch (Throwable e) {
                channel.close();
                throw e;
            }
        }

        /// A file that was just deleted is treated as missing.
        private static @Nullable Object key(Path path) throws IOException {
            try {
                return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
            } catch (NoSuchFileException _) {
                return new Object();
            }
        }

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            for (long done = 0; done < into.byteSize();) {
                ByteBuffer piece = piece(into, done);
                while (piece.hasRemaining()) {
                    int count = channel.read(piece, offset + done);
                    if (count < 0) {
                        throw new EOFException("the file ends before " + into.byteSize() + " bytes from " + offset);
                    }
                    done += count;
                }
            }
        }

        @Override
        public boolean isReadPastCache(long offset, long length) {
            MappedFile file = second();
            return file != null && file.isReadPastCache(offset, length);
        }

        @Override
        public void readOnce(long offset, MemorySegment into) throws IOException {
            MappedFile file = second();
            if (file == null) {
                read(offset, into);
            } else {
                file.readOnce(offset, into);
            }
        }

        private synchronized @Nullable MappedFile second() {
            if (!isOpenedAgain) {
                isOpenedAgain = true;
                second = openAgain();
            }
            return second;
        }

        /// Opens this file another time, unless another one is at its path now, or the system refuses.
        private @Nullable MappedFile openAgain() {
            try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
                boolean isSame = key != null && key.equals(key(path)) && file.isCurrent();
                return isSame ? file.retain() : null;
            } catch (IOException _) {
                return null;
            }
        }

        /// Maps the bytes that the file has at the first call; those that are written later are not mapped.
        @Override
        public Optional<MemorySegment> segment(long offset, long length) throws IOException {
            MemorySegment whole = mapped;
            if (whole == null) {
                whole = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
                mapped = whole;
            }
            return length > whole.byteSize() - offset ? Optional.empty() : Optional.of(whole.asSlice(offset, length));
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            long head = Math.min(-offset & (DirectOption.PAGE - 1), bytes.byteSize());
            long pages = pastTheCache.isPresent()
                    ? pastTheCache.get().write(offset + head, bytes.asSlice(head))
                    : 0;
            long done = head + pages;
            if (head > 0) {
                writeThroughCache(offset, bytes.asSlice(0, head));
            }
            if (done < bytes.byteSize()) {
                writeThroughCache(offset + done, bytes.asSlice(done));
            }
        }

        private void writeThroughCache(long offset, MemorySegment bytes) throws IOException {
            cache.lock();
            try {
                for (long done = 0; done < bytes.byteSize();) {
                    ByteBuffer piece = piece(bytes, done);
                    while (piece.hasRemaining()) {
                        done += channel.write(piece, offset + done);
                    }
                }
            } finally {
                cache.unlock();
            }
        }

        private static ByteBuffer piece(MemorySegment bytes, long from) {
            return bytes.asSlice(from, Math.min(PIECE, bytes.byteSize() - from)).asByteBuffer();
        }

        @Override
        public void force() throws IOException {
            channel.force(true);
        }

        @Override
        public void truncate(long size) throws IOException {
            channel.truncate(size);
        }

        @Override
        public boolean isAt(Path path) throws IOException {
            return key == null || key.equals(key(path));
        }

        @Override
        public void close() throws IOException {
            if (arena.scope().isAlive()) {
                arena.close();
            }
            if (second != null) {
                second.close();
            }
            try (channel) {
                if (pastTheCache.isPresent()) {
                    pastTheCache.get().close();
                }
            }
        }
    }
}
