package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.MAP_NORESERVE;
import static io.undercroft.mmap.internal.Constant.MAP_PRIVATE;
import static io.undercroft.mmap.internal.Constant.MAP_SHARED;
import static io.undercroft.mmap.internal.Constant.O_CREAT;
import static io.undercroft.mmap.internal.Constant.O_EXCL;
import static io.undercroft.mmap.internal.Constant.O_RDONLY;
import static io.undercroft.mmap.internal.Constant.O_RDWR;
import static io.undercroft.mmap.internal.Constant.PROT_READ;

import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// A file with its own descriptor, mapped by `mmap`. Unlike the JDK's channels it is not closed by interrupts.
public final class PosixFile implements HostFile {
    /// Read and write for the owner, nothing for others.
    private static final int OWNER_ONLY = 0600;

    private final Libc libc;
    private final @Nullable Path path;
    private final int fd;
    private final MapMode mode;
    private final Cleaner.Cleanable closer;
    private final DirectReads direct;

    private PosixFile(Libc libc, @Nullable Path path, int fd, MapMode mode) {
        this.libc = libc;
        this.path = path;
        this.fd = fd;
        this.mode = mode;
        this.closer = ArenaCleanup.CLEANER.register(this, new Closer(libc, fd));
        this.direct = new DirectReads(libc, fd);
    }

    /// Closes a descriptor.
    private record Closer(Libc libc, int fd) implements Runnable {
        @Override
        public void run() {
            libc.close(fd);
        }
    }

    /// {@return the file behind a descriptor, which is closed with it}
    ///
    /// @param libc the library
    /// @param fd the descriptor
    /// @param mode the mode of its mappings
    static PosixFile of(Libc libc, int fd, MapMode mode) {
        return new PosixFile(libc, null, fd, mode);
    }

    static PosixFile open(Libc libc, Path path, MapMode mode) throws IOException {
        return open(libc, path, mode, mode == MapMode.SHARED ? O_RDWR : O_RDONLY);
    }

    static PosixFile create(Libc libc, Path path) throws IOException {
        return open(libc, path, MapMode.SHARED, O_RDWR | O_CREAT | O_EXCL);
    }

    private static PosixFile open(Libc libc, Path path, MapMode mode, int flags) throws IOException {
        try {
            int fd = libc.openRegular(path, flags, OWNER_ONLY);
            return new PosixFile(libc, path, fd, mode);
        } catch (ErrnoException e) {
            throw described(path.toString(), e);
        }
    }

    @Override
    public long size() throws IOException {
        return libc.size(fd);
    }

    @Override
    public OptionalLong identity() throws IOException {
        return OptionalLong.of(libc.identity(fd).number());
    }

    /// Only the last byte is allocated, so that a file may become larger than the free space of the disk.
    @Override
    public void grow(long nbytes) throws IOException {
        if (size() < nbytes) {
            libc.allocate(fd, nbytes - 1, 1);
        }
    }

    @Override
    public long read(long offset, MemorySegment into) throws IOException {
        try {
            return DescriptorBytes.read(libc, fd, offset, into);
        } catch (ErrnoException e) {
            throw new FileReadException(path == null ? null : path.toString(), firstUnread(offset, into), e);
        }
    }

    /// Reads page by page, after reading failed.
    private long firstUnread(long offset, MemorySegment into) {
        long done = 0;
        try {
            while (done < into.byteSize()) {
                long page = libc.pageFloor(offset + done) + libc.pageSize() - (offset + done);
                long length = Math.min(page, into.byteSize() - done);
                if (DescriptorBytes.read(libc, fd, offset + done, into.asSlice(done, length)) < length) {
                    break;
                }
                done += length;
            }
        } catch (ErrnoException _) {
            // Here.
        }
        return offset + done;
    }

    @Override
    public long readOnce(long offset, MemorySegment into) throws IOException {
        long done = direct.read(offset, into);
        return done + read(offset + done, into.asSlice(done));
    }

    @Override
    public boolean isReadPastCache(long offset, long nbytes) {
        return direct.isUsedFor(offset, nbytes);
    }

    @Override
    public boolean mapsLazily() {
        return true;
    }

    @Override
    public boolean mapsInPlace() {
        return true;
    }

    @Override
    public MemorySegment map(long offset, long length, Arena arena) throws IOException {
        long start = libc.pageFloor(offset);
        long lead = offset - start;
        long address = libc.mmap(0, lead + length, protection(mode), flags(mode), fd, start);
        try {
            checkInside(offset + length);
        } catch (IOException e) {
            Mapping.unmap(libc, address, lead + length);
            throw e;
        }
        return protect(Mapping.segment(libc, address, lead + length, arena).asSlice(lead, length), mode);
    }

    @Override
    public MemorySegment stitch(List<Stitch.Run> runs, long length, MapBudget budget, Arena arena) throws IOException {
        return stitch(libc, mode, runs, length, budget, arena);
    }

    /// As [#stitch(List, long, MapBudget, Arena)], of runs of any files.
    static MemorySegment stitch(Libc libc, MapMode mode, List<Stitch.Run> runs, long length, MapBudget budget,
            Arena arena) throws IOException {
        return protect(Stitch.map(libc, runs, length, protection(mode), flags(mode), budget, arena), mode);
    }

    @Override
    public void close() {
        direct.close();
        closer.clean();
    }

    @Override
    public boolean isAt(Path path) throws IOException {
        return FileIdentity.of(path).equals(Optional.of(libc.identity(fd)));
    }

    /// {@return the descriptor}
    int descriptor() {
        return fd;
    }

    private static MemorySegment protect(MemorySegment segment, MapMode mode) {
        return mode == MapMode.READ_ONLY ? segment.asReadOnly() : segment;
    }

    private static int protection(MapMode mode) {
        return mode == MapMode.READ_ONLY ? PROT_READ : Mapping.READ_WRITE;
    }

    /// Without reserving memory, since a private mapping of a file larger than the memory must not be refused for the
    /// pages that may be written.
    private static int flags(MapMode mode) {
        return mode == MapMode.PRIVATE ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    }

    private static FileSystemException described(String path, ErrnoException e) {
        FileSystemException described = switch (e.errno()) {
            case ErrnoException.ENOENT -> new NoSuchFileException(path, null, "there is no such file; check the path");
            case ErrnoException.EACCES, ErrnoException.EPERM -> new AccessDeniedException(path, null,
                    "permission denied; ask its owner for access, or run as a user with access");
            case ErrnoException.EEXIST -> new FileAlreadyExistsException(path, null, "it exists already");
            case ErrnoException.EMFILE, ErrnoException.ENFILE -> new FileSystemException(path, null,
                    HostFile.TOO_MANY_OPEN);
            case ErrnoException.ENODEV, ErrnoException.ENXIO ->
                new FileSystemException(path, null, HostFile.NOT_REGULAR);
            default -> new FileSystemException(path, null, reason(e));
        };
        described.initCause(e);
        return described;
    }

    private static String reason(ErrnoException e) {
        if (e.isTooLongName()) {
            return "the name is longer than file systems allow; check the path";
        }
        return e.isBusy()
                ? "another program has leased it and does not release it; find it with `fuser`, then try again"
                : String.valueOf(e.getMessage());
    }
}
