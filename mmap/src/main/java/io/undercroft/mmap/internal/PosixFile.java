package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.MAP_NORESERVE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_PRIVATE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_SHARED;
import static io.undercroft.mmap.internal.LinuxConstants.O_CREAT;
import static io.undercroft.mmap.internal.LinuxConstants.O_DIRECT;
import static io.undercroft.mmap.internal.LinuxConstants.O_EXCL;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDONLY;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDWR;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_READ;

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
///
/// Bytes that are read once are read past the page cache (`O_DIRECT`): they take memory once instead of twice, and the
/// pages of other files stay in memory. That needs a second descriptor, which is opened when the first bytes are read.
public final class PosixFile implements HostFile {
    /// Fewer bytes are read faster through the page cache, which is filled ahead of the reader.
    private static final long SMALLEST_DIRECT = 1 << 20;
    /// Read and write for the owner, nothing for others.
    private static final int OWNER_ONLY = 0600;

    private final Libc libc;
    private final @Nullable Path path;
    private final int fd;
    private final MapMode mode;
    private final Cleaner.Cleanable closer;
    /// The file, open for reading past the page cache; null until that is done.
    private @Nullable PosixFile direct;
    private volatile boolean isDirectRefused;

    private PosixFile(Libc libc, @Nullable Path path, int fd, MapMode mode) {
        this.libc = libc;
        this.path = path;
        this.fd = fd;
        this.mode = mode;
        this.closer = ArenaCleanup.CLEANER.register(this, new Closer(libc, fd));
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
    /// @param fd the descriptor, open for writing only where the mode is [MapMode#SHARED]
    /// @param mode the mode of its mappings
    public static PosixFile of(Libc libc, int fd, MapMode mode) {
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
            return libc.read(fd, offset, into);
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
                if (libc.read(fd, offset + done, into.asSlice(done, length)) < length) {
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
        long done = readPastCache(offset, into);
        return done + read(offset + done, into.asSlice(done));
    }

    /// Reads whole pages from the start of some bytes on, unless they are in the page cache already, are fewer than
    /// 1 MiB, or are not aligned to pages in the file and in memory.
    ///
    /// @param offset the offset in the file
    /// @param into the destination
    /// @return the number of bytes read; the others must be read through the page cache
    long readPastCache(long offset, MemorySegment into) {
        boolean isAligned = into.isNative() && libc.pageFloor(into.address()) == into.address();
        if (!isAligned || !isReadPastCache(offset, into.byteSize())) {
            return 0;
        }
        long length = libc.pageFloor(into.byteSize());
        long done = 0;
        try {
            while (done < length) {
                long count = libc.pread(direct().fd, into.asSlice(done, length - done), offset + done);
                done += count;
                if (count == 0 || libc.pageFloor(count) != count) {
                    // The file ends here.
                    break;
                }
            }
        } catch (ErrnoException _) {
            // File systems without such reads refuse them at the first one. Buffered ones report all other errors.
            isDirectRefused = true;
        }
        return done;
    }

    /// Bytes of which half of the pages or more are in the page cache are read from there. Only the owner of a file,
    /// and those who may write to it, are told; to others the system says that all pages are there.
    @Override
    public boolean isReadPastCache(long offset, long nbytes) {
        long length = libc.pageFloor(nbytes);
        if (isDirectRefused || libc.pageFloor(offset) != offset || length < SMALLEST_DIRECT) {
            return false;
        }
        try {
            long address = libc.mmap(0, length, PROT_READ, MAP_SHARED, fd, offset);
            try {
                return Mapping.residentBytes(libc, address, length) < length / 2;
            } finally {
                Mapping.unmap(libc, address, length);
            }
        } catch (ErrnoException _) {
            isDirectRefused = true;
            return false;
        }
    }

    /// By the name of the open descriptor, since another file may have taken the place of this one.
    private synchronized PosixFile direct() throws ErrnoException {
        PosixFile existing = direct;
        if (existing == null) {
            int second = libc.openRegular(Path.of("/proc/self/fd/" + fd), O_RDONLY | O_DIRECT, 0);
            existing = new PosixFile(libc, null, second, mode);
            direct = existing;
        }
        return existing;
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
        } catch (Throwable e) {
            Mapping.unmap(libc, address, lead + length);
            throw e;
        }
        return protect(Mapping.segment(libc, address, lead + length, arena).asSlice(lead, length), mode);
    }

    @Override
    public MemorySegment stitch(List<StitchedMapping.Run> runs, long length, MapBudget budget, Arena arena)
            throws IOException {
        return stitch(libc, mode, runs, length, budget, arena);
    }

    /// As [#stitch(List, long, MapBudget, Arena)], of runs of any files.
    static MemorySegment stitch(Libc libc, MapMode mode, List<StitchedMapping.Run> runs, long length, MapBudget budget,
            Arena arena) throws IOException {
        return protect(StitchedMapping.map(libc, runs, length, protection(mode), flags(mode), budget, arena), mode);
    }

    @Override
    public synchronized void close() {
        if (direct != null) {
            direct.close();
        }
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
