package io.undercroft.mmap.internal;

import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Storage;
import java.io.EOFException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A file that is mapped by the JDK: if libc cannot be called, and if it is small and libc is not bound yet. Advice
/// does nothing. Bytes are copied if the JDK cannot map them: stitched ranges, and copy-on-write maps, for which the
/// file would have to be open for writing.
public final class ChannelFile implements HostFile {
    /// The size up to which copying a whole file takes less time than binding libc.
    private static final long MOST_COPIED = 4 << 20;
    private static final long COPY_CHUNK = 1 << 20;

    private final Path path;
    private final MapMode mode;
    /// The identity of the file; empty if the system does not report it.
    private final Optional<FileIdentity> identity;
    /// Whether it is opened in this way because it is small.
    private final boolean isSmall;
    private volatile FileChannel channel;

    private ChannelFile(Path path, MapMode mode, FileChannel channel, Optional<FileIdentity> identity,
            boolean isSmall) {
        this.path = path;
        this.mode = mode;
        this.channel = channel;
        this.identity = identity;
        this.isSmall = isSmall;
    }

    static ChannelFile open(Path path, MapMode mode) throws IOException {
        return open(path, mode, false);
    }

    private static ChannelFile open(Path path, MapMode mode, boolean isSmall) throws IOException {
        while (true) {
            Optional<FileIdentity> before = FileIdentity.of(path);
            FileChannel channel = openChannel(path, mode);
            try {
                // Otherwise another file has taken the place of this one in between.
                if (before.equals(FileIdentity.of(path))) {
                    return new ChannelFile(path, mode, channel, before, isSmall);
                }
            } catch (Throwable e) {
                channel.close();
                throw e;
            }
            channel.close();
        }
    }

    /// Opens a file if it is small.
    ///
    /// @param path the file
    /// @param mode the mode of its mappings, which is not [MapMode#SHARED]
    /// @return the file, or null if it is larger or cannot be opened, for the reasons that libc then reports
    /// @throws FileSystemException if too many files are open: libc may need one to be loaded
    static @Nullable ChannelFile openSmall(Path path, MapMode mode) throws FileSystemException {
        try {
            ChannelFile file = open(path, mode, true);
            boolean isTaken = false;
            try {
                isTaken = file.size() <= MOST_COPIED;
            } finally {
                if (!isTaken) {
                    file.close();
                }
            }
            return isTaken ? file : null;
        } catch (IOException e) {
            if (e instanceof FileSystemException refused && "Too many open files".equals(refused.getReason())) {
                throw new FileSystemException(path.toString(), null, TOO_MANY_OPEN);
            }
            return null;
        }
    }

    static ChannelFile create(Path path) throws IOException {
        Set<StandardOpenOption> options = EnumSet.of(StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE_NEW);
        boolean posix = path.getFileSystem().supportedFileAttributeViews().contains("posix");
        FileAttribute<?>[] ownerOnly = posix
                ? new FileAttribute<?>[]{
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))}
                : new FileAttribute<?>[0];
        FileChannel channel = FileChannel.open(path, options, ownerOnly);
        try {
            return new ChannelFile(path, MapMode.SHARED, channel, FileIdentity.of(path), false);
        } catch (Throwable e) {
            channel.close();
            Files.deleteIfExists(path);
            throw e;
        }
    }

    @Override
    public long size() throws IOException {
        return uninterrupted(new Size());
    }

    @Override
    public OptionalLong identity() {
        return identity.isPresent() ? OptionalLong.of(identity.get().number()) : OptionalLong.empty();
    }

    /// Writes the last byte, which is past the end of the file: existing bytes do not change.
    @Override
    public void grow(long nbytes) throws IOException {
        if (size() < nbytes) {
            uninterrupted(file -> file.write(ByteBuffer.allocate(1), nbytes - 1));
        }
    }

    @Override
    public long read(long offset, MemorySegment into) throws IOException {
        long done = 0;
        while (done < into.byteSize()) {
            ByteBuffer chunk = into.asSlice(done, Math.min(COPY_CHUNK, into.byteSize() - done)).asByteBuffer();
            long at = offset + done;
            int count = read(chunk, at);
            if (count < 0) {
                break;
            }
            done += count;
        }
        return done;
    }

    private int read(ByteBuffer into, long at) throws IOException {
        try {
            return uninterrupted(new Read(into, at));
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            throw new FileReadException(path.toString(), at, e);
        }
    }

    /// A private map of a channel requires a writable channel; a copy replaces it.
    @Override
    public boolean mapsLazily() {
        return isSmall || mode != MapMode.PRIVATE;
    }

    @Override
    public boolean mapsInPlace() {
        return mode != MapMode.PRIVATE;
    }

    @Override
    public MemorySegment map(long offset, long length, Arena arena) throws IOException {
        MemorySegment segment = ArenaCleanup.memory(arena, new Part(this, offset, length));
        checkInside(offset + length);
        return segment;
    }

    /// A run of bytes of a file.
    private record Part(ChannelFile file, long offset, long length) implements ArenaCleanup.Maker {
        @Override
        public MemorySegment make(Arena arena) throws IOException {
            if (file.mode == MapMode.PRIVATE) {
                return file.copied(offset, length, arena);
            }
            FileChannel.MapMode how = file.mode == MapMode.SHARED
                    ? FileChannel.MapMode.READ_WRITE
                    : FileChannel.MapMode.READ_ONLY;
            return file.uninterrupted(channel -> channel.map(how, offset, length, arena));
        }
    }

    private MemorySegment copied(long offset, long length, Arena arena) throws IOException {
        MemorySegment bytes = arena.allocate(length, Storage.ALIGNMENT);
        long read = read(offset, bytes);
        if (read < length) {
            throw new EOFException("the file ends at byte " + (offset + read));
        }
        return bytes;
    }

    @Override
    public MemorySegment stitch(List<StitchedMapping.Run> runs, long length, MapBudget budget, Arena arena)
            throws IOException {
        if (isSmall && length > MOST_COPIED && Libc.find().isPresent()) {
            return stitchLarge(Libc.find().get(), runs, length, budget, arena);
        }
        MemorySegment range = ArenaCleanup.memory(arena, made -> StitchedMapping.copied(runs, length, made));
        return mode == MapMode.READ_ONLY ? range.asReadOnly() : range;
    }

    /// Maps a range that may consist of much more bytes than the file has: zeros, and runs that repeat.
    private MemorySegment stitchLarge(Libc libc, List<StitchedMapping.Run> runs, long length, MapBudget budget,
            Arena arena)
            throws IOException {
        PosixFile same = isAt(path) ? PosixFile.open(libc, path, mode) : null;
        try {
            List<StitchedMapping.Run> mapped = new ArrayList<>(runs);
            if (same != null && same.isAt(path) && isAt(path)) {
                mapped.replaceAll(
                        run -> run.file() == this ? new StitchedMapping.Run(same, run.offset(), run.length()) : run);
            }
            return PosixFile.stitch(libc, mode, mapped, length, budget, arena);
        } finally {
            if (same != null) {
                same.close();
            }
        }
    }

    /// Where files have no identity, the file at the path is assumed to be this one.
    @Override
    public boolean isAt(Path path) throws IOException {
        return Files.exists(path) && FileIdentity.of(path).equals(identity);
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            System.getLogger(ChannelFile.class.getName()).log(Level.WARNING, "closing a mapped file failed", e);
        }
    }

    private static FileChannel openChannel(Path path, MapMode mode) throws IOException {
        return mode == MapMode.SHARED
                ? FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
                : FileChannel.open(path, StandardOpenOption.READ);
    }

    /// A use of the channel.
    @FunctionalInterface
    private interface Use<T> {
        T of(FileChannel file) throws IOException;
    }

    private record Size() implements Use<Long> {
        @Override
        public Long of(FileChannel file) throws IOException {
            return file.size();
        }
    }

    private record Read(ByteBuffer into, long offset) implements Use<Integer> {
        @Override
        public Integer of(FileChannel file) throws IOException {
            return file.read(into, offset);
        }
    }

    /// A channel that is used by an interrupted thread closes itself for all others too, so the interrupt has to wait.
    /// If it comes during the use, the file is opened again.
    private <T> T uninterrupted(Use<T> use) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                FileChannel file = channel;
                try {
                    return use.of(file);
                } catch (ClosedChannelException _) {
                    interrupted |= Thread.interrupted();
                    reopen(file);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void reopen(FileChannel closed) throws IOException {
        if (channel != closed) {
            return;
        }
        FileChannel file = openChannel(path, mode);
        try {
            if (!isAt(path)) {
                throw new FileSystemException(path.toString(), null,
                        "a thread was interrupted while it read the file, which was replaced since; open it again");
            }
        } catch (Throwable e) {
            file.close();
            throw e;
        }
        channel = file;
    }
}
