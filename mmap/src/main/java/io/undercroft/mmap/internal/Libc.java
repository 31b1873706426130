package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.FALLOC_FL_KEEP_SIZE;
import static io.undercroft.mmap.internal.LinuxConstants.FALLOC_FL_PUNCH_HOLE;
import static io.undercroft.mmap.internal.LinuxConstants.LOCK_UN;
import static io.undercroft.mmap.internal.LinuxConstants.MFD_CLOEXEC;
import static io.undercroft.mmap.internal.LinuxConstants.MREMAP_DONTUNMAP;
import static io.undercroft.mmap.internal.LinuxConstants.MREMAP_FIXED;
import static io.undercroft.mmap.internal.LinuxConstants.MREMAP_MAYMOVE;
import static io.undercroft.mmap.internal.LinuxConstants.O_CLOEXEC;
import static io.undercroft.mmap.internal.LinuxConstants.O_NONBLOCK;
import static io.undercroft.mmap.internal.LinuxConstants.RENAME_NOREPLACE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/// The calls of the C library that this module makes.
///
/// Every call is made again when a signal interrupted it, and throws [ErrnoException] when it failed. Addresses are
/// numbers, since they are rounded to pages; so are those of strings, whose memory is in an arena of the call. Buffers
/// of callers are segments, so that they stay alive during the call.
///
/// Where the library cannot be bound (macOS, Windows, or a JVM that denies native access) [#find] is empty and
/// [#failure] returns the reason.
public final class Libc {
    /// More than any system's `struct statfs`.
    private static final long STATFS_BYTES = 4096;

    /// The number of bytes of the heap that are moved at once.
    private static final long CHUNK = 1 << 20;
    /// Takes some 100 µs.
    private static final long SMALLEST_ALLOCATION = 1 << 20;

    private static final Duration LEASE_PATIENCE = Duration.ofSeconds(5);
    private static final long LEASE_PAUSE_NANOS = 1_000_000;

    /// Used instead of a descriptor of a directory, for absolute paths.
    private static final int NO_FOLDER = -1;

    private static volatile boolean hasBegun;

    private final NativeFunction open = NativeFunction.of("int open(const char *path, int flags, ...)");
    private final NativeFunction close = NativeFunction.of("int close(int fd)");
    private final NativeFunction fstat = NativeFunction.of("int fstat(int fd, struct stat *status)");
    private final NativeFunction lstat = NativeFunction.of("int lstat(const char *path, struct stat *status)");
    private final NativeFunction statfs = NativeFunction.of("int statfs(const char *path, struct statfs *status)");
    private final NativeFunction mmap = NativeFunction
            .of("void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)");
    private final NativeFunction munmap = NativeFunction.of("int munmap(void *address, size_t length)");
    private final NativeFunction mremap = NativeFunction
            .of("void *mremap(void *from, size_t size, size_t newSize, int flags, ...)");
    private final NativeFunction madvise = NativeFunction.of("int madvise(void *address, size_t length, int advice)");
    private final NativeFunction msync = NativeFunction.of("int msync(void *address, size_t length, int flags)");
    private final NativeFunction mlock = NativeFunction.of("int mlock(const void *address, size_t length)");
    private final NativeFunction munlock = NativeFunction.of("int munlock(const void *address, size_t length)");
    private final NativeFunction mincore = NativeFunction
            .of("int mincore(void *address, size_t length, unsigned char *pages)");
    private final NativeFunction shmOpen = NativeFunction.of("int shm_open(const char *name, int flags, mode_t mode)");
    private final NativeFunction ftruncate = NativeFunction.of("int ftruncate(int fd, off_t length)");
    private final NativeFunction posixFallocate = NativeFunction
            .of("int posix_fallocate(int fd, off_t offset, off_t length)");
    private final NativeFunction fallocate = NativeFunction
            .of("int fallocate(int fd, int mode, off_t offset, off_t length)");
    private final NativeFunction flock = NativeFunction.of("int flock(int fd, int operation)");
    private final NativeFunction mkdir = NativeFunction.of("int mkdir(const char *path, mode_t mode)");
    private final NativeFunction rmdir = NativeFunction.of("int rmdir(const char *path)");
    private final NativeFunction unlink = NativeFunction.of("int unlink(const char *path)");
    private final NativeFunction link = NativeFunction.of("int link(const char *path, const char *name)");
    private final NativeFunction rename = NativeFunction.of("int rename(const char *path, const char *name)");
    private final NativeFunction renameat2 = NativeFunction
            .of("int renameat2(int folder, const char *path, int toFolder, const char *name, unsigned flags)");
    private final NativeFunction memfdCreate = NativeFunction.of("int memfd_create(const char *label, unsigned flags)");
    private final NativeFunction pread = NativeFunction
            .of("ssize_t pread(int fd, void *buffer, size_t size, off_t offset)");
    private final NativeFunction pwrite = NativeFunction
            .of("ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)");
    private final NativeFunction getpagesize = NativeFunction.of("int getpagesize(void)");
    private final NativeFunction geteuid = NativeFunction.of("uid_t geteuid(void)");
    private final long pageSize;
    private final long userId;

    /// Queries the size of a page, which fails if native access is not allowed.
    private Libc() throws ErrnoException {
        pageSize = getpagesize.call();
        userId = Integer.toUnsignedLong((int) geteuid.call());
    }

    /// The library, or why there is none: made on first use, which takes tens of milliseconds.
    private record Binding(@Nullable Libc libc, @Nullable Throwable failure) {
        static final Binding MADE = bind();
    }

    /// {@return whether this process has bound the library, or has tried to} Until then, what can be done without
    /// native calls is done without them.
    public static boolean hasBegun() {
        return hasBegun;
    }

    /// {@return the library, or nothing where it cannot be called}
    public static Optional<Libc> find() {
        return Optional.ofNullable(Binding.MADE.libc);
    }

    /// {@return the flag of `java` that lets this library call native functions}
    public static String nativeAccessFlag() {
        Module module = Libc.class.getModule();
        return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
    }

    /// {@return the reason why [#find] is empty}
    public static Optional<Throwable> failure() {
        return Optional.ofNullable(Binding.MADE.failure);
    }

    /// Opens a file (`open`).
    ///
    /// @param path the path in the system's encoding, ending in a zero byte
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    private int open(byte[] path, int flags, int mode) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return (int) open.call(arena.allocateFrom(JAVA_BYTE, path).address(), flags, mode);
        }
    }

    /// Opens a file (`open`).
    ///
    /// @param path the path, passed to the system in UTF-8 in any locale
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    public int open(String path, int flags, int mode) throws ErrnoException {
        return open(text(path), flags, mode);
    }

    /// Opens a regular file and nothing else. Never blocks, as opening a pipe or a device may. The file at the path may
    /// have been replaced since it was checked, so the open file is checked again.
    ///
    /// @param path the path
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed: with [ErrnoException#ENODEV] if it is no regular file, but a directory, a
    ///     pipe or a device, or one that [ErrnoException#isBusy] matches if another program has a lease on it and does
    ///     not release it
    public int openRegular(Path path, int flags, int mode) throws ErrnoException {
        int fd = withoutWaiting(HostPath.bytes(path), flags | O_NONBLOCK | O_CLOEXEC, mode);
        try {
            checkRegular(fd);
            return fd;
        } catch (Throwable e) {
            close(fd);
            throw e;
        }
    }

    /// Fails if an open file has no bytes to be mapped.
    ///
    /// @param fd the descriptor
    /// @throws ErrnoException with [ErrnoException#ENODEV] if it is no regular file
    void checkRegular(int fd) throws ErrnoException {
        if (!status(fd).isRegular()) {
            throw new ErrnoException("open", ErrnoException.ENODEV);
        }
    }

    /// A file that another program (a file server) has leased is refused until the program releases the lease,
    /// which opening requests.
    private int withoutWaiting(byte[] path, int flags, int mode) throws ErrnoException {
        long end = System.nanoTime() + LEASE_PATIENCE.toNanos();
        while (true) {
            try {
                return open(path, flags, mode);
            } catch (ErrnoException e) {
                if (!e.isBusy() || System.nanoTime() - end >= 0) {
                    throw e;
                }
                LockSupport.parkNanos(LEASE_PAUSE_NANOS);
            }
        }
    }

    /// Makes a directory (`mkdir`).
    ///
    /// @param path the path
    /// @param mode its permissions
    /// @throws ErrnoException if it failed
    public void mkdir(String path, int mode) throws ErrnoException {
        withText(mkdir, path, mode);
    }

    /// Removes an empty directory (`rmdir`).
    ///
    /// @param path the path
    /// @throws ErrnoException if it failed
    public void rmdir(String path) throws ErrnoException {
        withText(rmdir, path);
    }

    /// Removes the name of a file (`unlink`).
    ///
    /// @param path the path
    /// @throws ErrnoException if it failed
    public void unlink(String path) throws ErrnoException {
        withText(unlink, path);
    }

    /// Gives a file one more name, which must not exist (`link`).
    ///
    /// @param path its path
    /// @param name the other path
    /// @throws ErrnoException if it failed, with [ErrnoException#EEXIST] if something has the name
    public void link(String path, String name) throws ErrnoException {
        withTexts(link, path, name);
    }

    /// Renames a file, replacing one of the new name (`rename`).
    ///
    /// @param path its path
    /// @param name the other path
    /// @throws ErrnoException if it failed
    public void rename(String path, String name) throws ErrnoException {
        withTexts(rename, path, name);
    }

    /// Renames a file atomically to a name that must not exist (`renameat2`).
    ///
    /// @param path its path, which is absolute
    /// @param name the other path, which is absolute
    /// @return whether it was done; false if the system or the file system has no such call
    /// @throws ErrnoException if it failed, with [ErrnoException#EEXIST] if something has the name
    public boolean renameIfFree(String path, String name) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            renameat2.call(NO_FOLDER, address(arena, path), NO_FOLDER, address(arena, name), RENAME_NOREPLACE);
            return true;
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EINVAL, ErrnoException.ENOSYS);
            return false;
        }
    }

    /// Locks a file against its other open descriptions, or reports that it is locked by one of them (`flock`). The
    /// kernel releases the lock when the descriptor is closed, and when the process is killed.
    ///
    /// @param fd the descriptor
    /// @param how with [LinuxConstants#LOCK_NB], as this does not wait
    /// @return whether it is locked now
    /// @throws ErrnoException if it failed for another reason than that it is locked
    public boolean tryLock(int fd, int how) throws ErrnoException {
        try {
            flock.call(fd, how);
            return true;
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EWOULDBLOCK);
            return false;
        }
    }

    /// Unlocks a file (`flock`), also for processes that were forked while it was locked: they have the
    /// descriptor too, and closing it here would leave the file locked. A failure is ignored.
    ///
    /// @param fd the descriptor
    public void unlock(int fd) {
        try {
            flock.call(fd, LOCK_UN);
        } catch (ErrnoException ignored) {
            // It is not locked, or is unlocked when it is closed.
        }
    }

    /// Creates memory that has a descriptor and no name (`memfd_create`).
    ///
    /// @param label its name in `/proc/PID/maps`
    /// @return the descriptor, which child processes do not inherit
    /// @throws ErrnoException if it failed
    public int memfdCreate(String label) throws ErrnoException {
        return (int) withText(memfdCreate, label, MFD_CLOEXEC);
    }

    /// {@return the number of the user whose rights this process has, and whose are the files that it makes
    /// (`geteuid`)}
    public long userId() {
        return userId;
    }

    /// Closes a descriptor (`close`). A failure is ignored, and the call must not be repeated.
    ///
    /// @param fd the descriptor
    public void close(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            close.callOnce(NativeFunction.state(arena), fd);
        } catch (ErrnoException ignored) {
            // The descriptor is closed whatever close returns; it was opened for reading or its data was forced before.
        }
    }

    /// {@return the status of an open file (`fstat`)}
    ///
    /// @param fd the descriptor
    /// @throws ErrnoException if it failed
    FileStatus status(int fd) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(FileStatus.STRUCT_BYTES, Long.BYTES);
            fstat.call(fd, stat.address());
            return FileStatus.of(stat);
        }
    }

    /// {@return the status of the file at a path, or empty if there is none (`lstat`)}
    ///
    /// @param path the path; a symbolic link stands for itself
    /// @throws ErrnoException if it failed
    Optional<FileStatus> status(String path) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(FileStatus.STRUCT_BYTES, Long.BYTES);
            lstat.call(address(arena, path), stat.address());
            return Optional.of(FileStatus.of(stat));
        } catch (ErrnoException e) {
            e.unless(ErrnoException.ENOENT);
            return Optional.empty();
        }
    }

    /// {@return the size of an open file in bytes (`fstat`)}
    ///
    /// @param fd the descriptor
    /// @throws ErrnoException if it failed
    public long size(int fd) throws ErrnoException {
        return status(fd).size();
    }

    /// {@return the identity of an open file (`fstat`)}
    ///
    /// @param fd the descriptor
    /// @throws ErrnoException if it failed
    public FileIdentity identity(int fd) throws ErrnoException {
        return status(fd).identity();
    }

    /// {@return the type of the file system of a file (`statfs`): one of the magic numbers of Linux}
    ///
    /// @param path the path of the file
    /// @throws ErrnoException if it failed
    public int fileSystemType(String path) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STATFS_BYTES, Long.BYTES);
            statfs.call(address(arena, path), stat.address());
            return (int) stat.get(JAVA_LONG, 0);
        }
    }

    /// Writes bytes at a position (`pwrite`, as often as needed).
    ///
    /// @param fd the descriptor
    /// @param offset the offset in the file
    /// @param bytes the bytes, on or off the heap
    /// @throws ErrnoException if it failed; some may be written then
    public void write(int fd, long offset, MemorySegment bytes) throws ErrnoException {
        if (bytes.isNative()) {
            for (long done = 0; done < bytes.byteSize();) {
                done += pwrite.call(fd, bytes.asSlice(done), bytes.byteSize() - done, offset + done);
            }
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment chunk = arena.allocate(Math.min(CHUNK, bytes.byteSize()));
            for (long done = 0; done < bytes.byteSize(); done += chunk.byteSize()) {
                long count = Math.min(chunk.byteSize(), bytes.byteSize() - done);
                MemorySegment.copy(bytes, done, chunk, 0, count);
                write(fd, offset + done, chunk.asSlice(0, count));
            }
        }
    }

    /// Reads bytes at a position (`pread`, as often as needed).
    ///
    /// @param fd the descriptor
    /// @param offset the offset in the file
    /// @param into the destination, on or off the heap
    /// @return the number of bytes read; less than requested at the end of the file only
    /// @throws ErrnoException if it failed
    public long read(int fd, long offset, MemorySegment into) throws ErrnoException {
        long done = 0;
        if (into.isNative()) {
            for (long count = 1; count > 0 && done < into.byteSize(); done += count) {
                count = pread(fd, into.asSlice(done), offset + done);
            }
            return done;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment chunk = arena.allocate(Math.min(CHUNK, into.byteSize()));
            while (done < into.byteSize()) {
                MemorySegment part = chunk.asSlice(0, Math.min(chunk.byteSize(), into.byteSize() - done));
                long count = read(fd, offset + done, part);
                MemorySegment.copy(part, 0, into, done, count);
                done += count;
                if (count < part.byteSize()) {
                    break;
                }
            }
            return done;
        }
    }

    /// Reads bytes at a position (`pread`).
    ///
    /// @param fd the descriptor
    /// @param into the destination; off the heap
    /// @param offset the offset in the file
    /// @return the number of bytes read; 0 at the end of the file
    /// @throws ErrnoException if it failed
    long pread(int fd, MemorySegment into, long offset) throws ErrnoException {
        return pread.call(fd, into, into.byteSize(), offset);
    }

    /// Maps a file or anonymous memory (`mmap`).
    ///
    /// @param address the address to map at, or 0
    /// @param length the number of bytes
    /// @param protection the protection of the pages
    /// @param flags the flags
    /// @param fd the descriptor, or -1
    /// @param offset the offset in the file, on a page boundary
    /// @return the address
    /// @throws ErrnoException if it failed
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) throws ErrnoException {
        return mmap.call(address, length, protection, flags, fd, offset);
    }

    /// The same for callers that map many thousand times: they pass the memory for `errno`. A signal cannot
    /// interrupt this call.
    ///
    /// @param state a [NativeFunction#state], used by one thread at a time
    /// @param address the address to map at, or 0
    /// @param length the number of bytes
    /// @param protection the protection of the pages
    /// @param flags the flags
    /// @param fd the descriptor, or -1
    /// @param offset the offset in the file, on a page boundary
    /// @return the address
    /// @throws ErrnoException if it failed
    long mmap(MemorySegment state, long address, long length, int protection, int flags, int fd, long offset)
            throws ErrnoException {
        return mmap.callOnce(state, address, length, protection, flags, fd, offset);
    }

    /// Unmaps addresses (`munmap`).
    ///
    /// @param address its address, on a page boundary
    /// @param length the number of bytes
    /// @throws ErrnoException if it failed
    public void munmap(long address, long length) throws ErrnoException {
        munmap.call(address, length);
    }

    /// Moves the pages of a shared mapping to other addresses and leaves an equal mapping behind (`mremap`). That takes
    /// microseconds where both addresses are multiples of 2 MiB, since whole page tables are moved.
    ///
    /// @param from its address, on a page boundary
    /// @param to the target, whose mapping is replaced
    /// @param length the number of bytes
    /// @return whether it was done; not where the system has no such call, or one that is older
    /// @throws ErrnoException if it failed
    boolean copyMapping(long from, long to, long length) throws ErrnoException {
        int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
        try {
            mremap.call(from, length, length, flags, to);
            return true;
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EINVAL);
            return false;
        }
    }

    /// Gives advice (`madvise`).
    ///
    /// @param address the start of the range, on a page boundary
    /// @param length the number of bytes
    /// @param advice the advice
    /// @throws ErrnoException if it failed
    public void madvise(long address, long length, int advice) throws ErrnoException {
        madvise.call(address, length, advice);
    }

    /// Writes a shared mapping back (`msync`).
    ///
    /// @param address the start of the range, on a page boundary
    /// @param length the number of bytes
    /// @param flags the flags
    /// @throws ErrnoException if it failed
    public void msync(long address, long length, int flags) throws ErrnoException {
        msync.call(address, length, flags);
    }

    /// Keeps pages in memory (`mlock`).
    ///
    /// @param address the start of the range, on a page boundary
    /// @param length the number of bytes
    /// @throws ErrnoException if it failed
    public void mlock(long address, long length) throws ErrnoException {
        mlock.call(address, length);
    }

    /// Lets pages go that were kept in memory (`munlock`).
    ///
    /// @param address the start of the range, on a page boundary
    /// @param length the number of bytes
    /// @throws ErrnoException if it failed
    public void munlock(long address, long length) throws ErrnoException {
        munlock.call(address, length);
    }

    /// Determines which pages are in memory (`mincore`).
    ///
    /// @param address the start of the range, on a page boundary
    /// @param length the number of bytes
    /// @param pages a byte for each page, whose lowest bit is set if it is in memory; owned by the caller
    /// @throws ErrnoException if it failed
    public void mincore(long address, long length, MemorySegment pages) throws ErrnoException {
        mincore.call(address, length, pages.address());
    }

    /// Opens or creates shared memory (`shm_open`).
    ///
    /// @param name with its slash
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    public int shmOpen(String name, int flags, int mode) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return (int) shmOpen.call(address(arena, name), flags, mode);
        }
    }

    /// Makes a file at least as long as a range of it and has space for that range set aside (`posix_fallocate`). No
    /// byte of the file changes, and it does not become shorter, also if another process makes it longer meanwhile.
    ///
    /// @param fd the descriptor
    /// @param offset the offset of the range, in bytes
    /// @param length its size in bytes, more than 0
    /// @throws ErrnoException if it failed
    public void allocate(int fd, long offset, long length) throws ErrnoException {
        long step = length;
        long done = 0;
        while (done < length) {
            long count = Math.min(step, length - done);
            // The only call that returns the error number instead of setting it.
            int errno = (int) posixFallocate.call(fd, offset + done, count);
            if (errno == 0) {
                done += count;
            } else if (errno == ErrnoException.EINTR) {
                // An interrupted call starts again, and would never end if signals are frequent.
                step = Math.max(count / 2, SMALLEST_ALLOCATION);
            } else {
                throw new ErrnoException("posix_fallocate", errno);
            }
        }
    }

    /// Gives back the space that a range of a file takes; it reads as zeros afterwards (`fallocate`).
    ///
    /// @param fd the descriptor
    /// @param offset the offset of the range, in bytes
    /// @param length its size in bytes, more than 0
    /// @throws ErrnoException if it failed, as where the file system has no such call
    void punchHole(int fd, long offset, long length) throws ErrnoException {
        fallocate.call(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
    }

    /// Cuts a file that no other process writes, or extends it by zeros (`ftruncate`).
    ///
    /// @param fd the descriptor
    /// @param nbytes the new size in bytes
    /// @throws ErrnoException if it failed
    public void truncate(int fd, long nbytes) throws ErrnoException {
        ftruncate.call(fd, nbytes);
    }

    /// {@return the size of a page in bytes}
    public long pageSize() {
        return pageSize;
    }

    /// {@return the number rounded down to a whole page}
    ///
    /// @param bytes an address, offset or size
    public long pageFloor(long bytes) {
        return bytes & -pageSize;
    }

    /// {@return the number rounded up to a whole page}
    ///
    /// @param bytes an address, offset or size
    public long pageCeil(long bytes) {
        return pageFloor(Math.addExact(bytes, pageSize - 1));
    }

    private static long withText(NativeFunction function, String text) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return function.call(address(arena, text));
        }
    }

    private static long withText(NativeFunction function, String text, long argument) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return function.call(address(arena, text), argument);
        }
    }

    private static void withTexts(NativeFunction function, String first, String second) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            function.call(address(arena, first), address(arena, second));
        }
    }

    private static long address(Arena arena, String text) {
        return arena.allocateFrom(JAVA_BYTE, text(text)).address();
    }

    /// {@return a text in UTF-8, ending in a zero byte}
    private static byte[] text(String text) {
        return text.concat("\0").getBytes(StandardCharsets.UTF_8);
    }

    private static Binding bind() {
        hasBegun = true;
        String system = System.getProperty("os.name");
        if (!system.equals("Linux")) {
            return new Binding(null,
                    new UnsatisfiedLinkError("the C library is bound on Linux only, not on " + system));
        }
        try {
            return new Binding(new Libc(), null);
        } catch (ExceptionInInitializerError e) {
            // IllegalCallerException where the JVM denies native access.
            return new Binding(null, e.getCause());
        } catch (LinkageError | RuntimeException | ErrnoException e) {
            // The JDK or the library lacks a required function.
            return new Binding(null, e);
        }
    }
}
