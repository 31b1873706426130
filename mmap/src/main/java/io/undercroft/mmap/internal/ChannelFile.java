package io.undercroft.mmap.internal;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.internal.ByteRun.FileRun;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A file that is mapped by the JDK, if libc cannot be called. Advice does nothing. Bytes are copied if the JDK cannot
/// map them: stitched ranges, and copy-on-write maps, for which the file would have to be open for writing.
public final class ChannelFile implements HostFile {
    private static final System.Logger LOG = System.getLogger(ChannelFile.class.getName());
    private static final long COPY_CHUNK = 1 << 20;
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY = PosixFilePermissions
            .asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final FileChannel channel;
    private final MapMode mode;
    /// The key of the file; null if the system has none.
    private final @Nullable Object key;

    private ChannelFile(FileChannel channel, MapMode mode, @Nullable Object key) {
        this.channel = channel;
        this.mode = mode;
        this.key = key;
    }

    static ChannelFile open(Path path, MapMode mode) throws IOException {
        FileChannel channel = mode == MapMode.SHARED
                ? FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
                : FileChannel.open(path, StandardOpenOption.READ);
        return new ChannelFile(channel, mode, key(path));
    }

    static ChannelFile create(Path path) throws IOException {
        Set<StandardOpenOption> options = EnumSet.of(StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE_NEW);
        boolean posix = path.getFileSystem().supportedFileAttributeViews().contains("posix");
        FileAttribute<?>[] ownerOnly = posix ? new FileAttribute<?>[]{OWNER_ONLY} : new FileAttribute<?>[0];
        FileChannel channel = FileChannel.open(path, options, ownerOnly);
        return new ChannelFile(channel, MapMode.SHARED, key(path));
    }

    @Override
    public long size() throws IOException {
        return uninterrupted(channel::size);
    }

    /// The JDK returns the number of the file at a path, which may have been replaced.
    @Override
    public OptionalLong identity() {
        return OptionalLong.empty();
    }

    /// Writes the last byte, which is past the end of the file: existing bytes do not change.
    @Override
    public void grow(long nbytes) throws IOException {
        if (size() < nbytes) {
            uninterrupted(() -> channel.write(ByteBuffer.allocate(1), nbytes - 1));
        }
    }

    @Override
    public long read(long offset, MemorySegment into) throws IOException {
        long done = 0;
        while (done < into.byteSize()) {
            ByteBuffer chunk = into.asSlice(done, Math.min(COPY_CHUNK, into.byteSize() - done)).asByteBuffer();
            long at = offset + done;
            int count = uninterrupted(() -> channel.read(chunk, at));
            if (count < 0) {
                break;
            }
            done += count;
        }
        return done;
    }

    /// A private map of a channel requires a writable channel; a copy replaces it.
    @Override
    public boolean mapsLazily() {
        return mode != MapMode.PRIVATE;
    }

    @Override
    public MemorySegment map(long offset, long length, Arena arena) throws IOException {
        MemorySegment segment = switch (mode) {
            case READ_ONLY -> uninterrupted(() -> channel.map(FileChannel.MapMode.READ_ONLY, offset, length, arena));
            case SHARED -> uninterrupted(() -> channel.map(FileChannel.MapMode.READ_WRITE, offset, length, arena));
            case PRIVATE -> Stitch.copied(List.of(new FileRun(this, offset, length)), length, arena);
        };
        checkInside(offset + length);
        return segment;
    }

    @Override
    public MemorySegment stitch(List<ByteRun> runs, long length, MapBudget budget, Arena arena) throws IOException {
        MemorySegment range = Stitch.copied(runs, length, arena);
        return mode == MapMode.READ_ONLY ? range.asReadOnly() : range;
    }

    /// Where files have no keys, the file at the path is assumed to be this one.
    @Override
    public boolean isAt(Path path) throws IOException {
        return Files.exists(path) && Objects.equals(key(path), key);
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "closing a mapped file failed", e);
        }
    }

    private static @Nullable Object key(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    }

    /// A channel that is used by an interrupted thread closes itself for all others too, so the interrupt has to wait.
    private static <T> T uninterrupted(IoTask<T> call) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            return call.run();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
