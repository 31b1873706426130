package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.FALLOC_FL_KEEP_SIZE;
import static io.undercroft.mmap.internal.Constant.FALLOC_FL_PUNCH_HOLE;
import static io.undercroft.mmap.internal.Constant.MREMAP_DONTUNMAP;
import static io.undercroft.mmap.internal.Constant.MREMAP_FIXED;
import static io.undercroft.mmap.internal.Constant.MREMAP_MAYMOVE;
import static io.undercroft.mmap.internal.Constant.O_CLOEXEC;
import static io.undercroft.mmap.internal.Constant.O_NONBLOCK;
import static io.undercroft.mmap.internal.Constant.STAT_INODE_OFFSET;
import static io.undercroft.mmap.internal.Constant.STAT_MODE_OFFSET;
import static io.undercroft.mmap.internal.Constant.STAT_SIZE_OFFSET;
import static io.undercroft.mmap.internal.Constant.STAT_USER_OFFSET;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/// The calls of the C library that this module makes.
///
/// Every call is made again when a signal interrupted it, and throws [ErrnoException] when it failed. Addresses are
/// numbers, since they are rounded to pages; so are those of strings, whose memory is in an arena of the call. Buffers
/// of callers are segments, so that they stay alive during the call.
///
/// Where the library cannot be bound (Windows, or a JVM that denies native access) [#find] is empty and [#failure]
/// returns the reason.
public final class Libc {
    /// More than any system's `struct stat`.
    private static final long STAT_BYTES = 512;
    /// More than any system's `struct statfs`.
    private static final long STATFS_BYTES = 4096;

    /// Takes some 100 µs.
    private static final long SMALLEST_ALLOCATION = 1 << 20;

    private static final Duration LEASE_PATIENCE = Duration.ofSeconds(5);
    private static final long LEASE_PAUSE_NANOS = 1_000_000;

    /// Used instead of a descriptor of a directory, for absolute paths.
    private static final int NO_FOLDER = -1;

    private static final Binding BINDING = bind();

    private final NativeFunction open = NativeFunction.variadic("open");
    private final NativeFunction close = NativeFunction.of("close");
    private final NativeFunction fstat = stat("fstat");
    private final NativeFunction lstat = stat("lstat");
    private final NativeFunction statfs = stat("statfs");
    private final NativeFunction mmap = NativeFunction.ofLong("mmap");
    private final NativeFunction munmap = NativeFunction.of("munmap");
    private final NativeFunction madvise = NativeFunction.of("madvise");
    private final NativeFunction msync = NativeFunction.of("msync");
    private final NativeFunction mlock = NativeFunction.of("mlock");
    private final NativeFunction munlock = NativeFunction.of("munlock");
    private final NativeFunction mincore = NativeFunction.of("mincore");
    private final NativeFunction shmOpen = NativeFunction.variadic("shm_open");
    private final NativeFunction shmUnlink = NativeFunction.of("shm_unlink");
    private final NativeFunction ftruncate = NativeFunction.of("ftruncate");
    private final NativeFunction flock = NativeFunction.of("flock");
    private final NativeFunction mkdir = NativeFunction.of("mkdir");
    private final NativeFunction rmdir = NativeFunction.of("rmdir");
    private final NativeFunction unlink = NativeFunction.of("unlink");
    private final NativeFunction link = NativeFunction.of("link");
    private final NativeFunction rename = NativeFunction.of("rename");
    private final Optional<NativeFunction> renameat2 = NativeFunction.find("renameat2");
    private final Optional<NativeFunction> memfdCreate = NativeFunction.find("memfd_create");
    private final Optional<NativeFunction> fallocate = NativeFunction.find("posix_fallocate");
    private final Optional<NativeFunction> mremap = NativeFunction.findLong("mremap");
    private final Optional<NativeFunction> linuxFallocate = NativeFunction.find("fallocate");
    private final NativeFunction pread = NativeFunction.ofLong("pread");
    private final NativeFunction pwrite = NativeFunction.ofLong("pwrite");
    private final long pageSize;
    private final long userId;

    /// Queries the size of a page, which fails if native access is not allowed.
    private Libc() throws ErrnoException {
        pageSize = NativeFunction.of("getpagesize").call();
        userId = Integer.toUnsignedLong((int) NativeFunction.of("geteuid").call());
    }

    private record Binding(@Nullable Libc libc, @Nullable Throwable failure) {}

    /// {@return the library, or nothing where it cannot be called}
    public static Optional<Libc> find() {
        return Optional.ofNullable(BINDING.libc);
    }

    /// {@return the flag of `java` that lets this library call native functions}
    public static String nativeAccessFlag() {
        Module module = Libc.class.getModule();
        return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
    }

    /// {@return the reason why [#find] is empty}
    public static Optional<Throwable> failure() {
        return Optional.ofNullable(BINDING.failure);
    }

    /// Opens a file (`open`).
    ///
    /// @param path the path in the system's encoding, ending in a zero byte
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    public int open(byte[] path, int flags, int mode) throws ErrnoException {
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
    /// @param path the path in the system's encoding, ending in a zero byte
    /// @param flags the flags
    /// @param mode permissions of a created file
    /// @return the descriptor
    /// @throws ErrnoException if it failed: with [ErrnoException#ENODEV] if it is no regular file, but a directory, a
    ///     pipe or a device, or one that [ErrnoException#isBusy] matches if another program has a lease on it and does
    ///     not release it
    int openRegular(byte[] path, int flags, int mode) throws ErrnoException {
        int fd = withoutWaiting(path, flags | O_NONBLOCK.value() | O_CLOEXEC.value(), mode);
        try {
            if (!status(fd).isRegular()) {
                throw new ErrnoException("open", ErrnoException.ENODEV);
            }
            return fd;
        } catch (ErrnoException e) {
            close(fd);
            throw e;
        }
    }

    /// A file that another program (a file server) has leased is refused until the program releases the lease,
    /// which opening requests.
    private int withoutWaiting(byte[] path, int flags, int mode) throws ErrnoException {
        Deadline patience = Deadline.in(LEASE_PATIENCE);
        while (true) {
            try {
                return open(path, flags, mode);
            } catch (ErrnoException e) {
                if (!e.isBusy() || patience.nanosLeft() <= 0) {
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
        withText(rmdir, path, 0);
    }

    /// Removes the name of a file (`unlink`).
    ///
    /// @param path the path
    /// @throws ErrnoException if it failed
    public void unlink(String path) throws ErrnoException {
        withText(unlink, path, 0);
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
    /// @return whether it was done; false if the system has no such call
    /// @throws ErrnoException if it failed, with [ErrnoException#EEXIST] if something has the name
    public boolean renameIfFree(String path, String name) throws ErrnoException {
        if (renameat2.isEmpty()) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            renameat2.get().call(NO_FOLDER, address(arena, path), NO_FOLDER, address(arena, name),
                    Constant.RENAME_NOREPLACE.value(), 0);
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EINVAL) {
                return false;
            }
            throw e;
        }
    }

    /// Locks a file against its other open descriptions, or reports that it is locked by one of them (`flock`). The
    /// kernel releases the lock when the descriptor is closed, and when the process is killed.
    ///
    /// @param fd the descriptor
    /// @param how with [Constant#LOCK_NB], as this does not wait
    /// @return whether it is locked now
    /// @throws ErrnoException if it failed for another reason than that it is locked
    public boolean tryLock(int fd, int how) throws ErrnoException {
        try {
            flock.call(fd, how);
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == Constant.EWOULDBLOCK.value()) {
                return false;
            }
            throw e;
        }
    }

    /// Unlocks a file (`flock`), also for processes that were forked while it was locked: they have the
    /// descriptor too, and closing it here would leave the file locked. A failure is ignored.
    ///
    /// @param fd the descriptor
    public void unlock(int fd) {
        try {
            flock.call(fd, Constant.LOCK_UN.value());
        } catch (ErrnoException ignored) {
            // It is not locked, or is unlocked when it is closed.
        }
    }

    /// Creates memory that has a descriptor and no name (`memfd_create`).
    ///
    /// @param label its name in `/proc/PID/maps`
    /// @param flags the flags
    /// @return the descriptor, or nothing where the system has no such call
    /// @throws ErrnoException if it failed
    public OptionalInt memfdCreate(String label, int flags) throws ErrnoException {
        if (memfdCreate.isEmpty()) {
            return OptionalInt.empty();
        }
        return OptionalInt.of((int) withText(memfdCreate.get(), label, flags));
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
        try {
            close.callOnce(fd);
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
            MemorySegment stat = arena.allocate(STAT_BYTES, Long.BYTES);
            fstat.call(fd, stat.address());
            return status(stat);
        }
    }

    /// {@return the status of the file at a path, or empty if there is none (`lstat`)}
    ///
    /// @param path the path; a symbolic link stands for itself
    /// @throws ErrnoException if it failed
    Optional<FileStatus> status(String path) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STAT_BYTES, Long.BYTES);
            lstat.call(address(arena, path), stat.address());
            return Optional.of(status(stat));
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static FileStatus status(MemorySegment stat) {
        FileIdentity identity = new FileIdentity(stat.get(JAVA_INT, 0),
                stat.get(JAVA_LONG, STAT_INODE_OFFSET.value()));
        int mode = Constant.IS_MAC
                ? Short.toUnsignedInt(stat.get(JAVA_SHORT, STAT_MODE_OFFSET.value()))
                : stat.get(JAVA_INT, STAT_MODE_OFFSET.value());
        return new FileStatus(identity, mode, Integer.toUnsignedLong(stat.get(JAVA_INT, STAT_USER_OFFSET.value())),
                stat.get(JAVA_LONG, STAT_SIZE_OFFSET.value()));
    }

    /// Fails if an open segment has no bytes to be mapped, or its owner is not trusted.
    ///
    /// @param fd the descriptor
    /// @param ofAnybody whether it may belong to any user
    /// @throws ErrnoException with [ErrnoException#ENODEV] if it is no regular file
    /// @throws ForeignSegmentException if it belongs to another user than this one and root
    public void checkSegment(int fd, boolean ofAnybody) throws IOException {
        FileStatus status = status(fd);
        // Shared memory whose names are not files (macOS) has no file type.
        if (Constant.namesAreFiles() && !status.isRegular()) {
            throw new ErrnoException("shm_open", ErrnoException.ENODEV);
        }
        if (!ofAnybody && !status.isTrustedBy(userId)) {
            throw new ForeignSegmentException(status.user(), userId);
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

    /// {@return the identity of the file at a path, or nothing if there is none (`lstat`)}
    ///
    /// @param path the path; a symbolic link stands for itself
    /// @throws ErrnoException if it failed
    public Optional<FileIdentity> identity(String path) throws ErrnoException {
        return status(path).map(FileStatus::identity);
    }

    /// {@return the type of the file system of a file (`statfs`): on Linux one of its magic numbers}
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

    /// Writes bytes at a position (`pwrite`).
    ///
    /// @param fd the descriptor
    /// @param from the bytes; off the heap
    /// @param offset the offset in the file
    /// @return the number of bytes written
    /// @throws ErrnoException if it failed
    public long pwrite(int fd, MemorySegment from, long offset) throws ErrnoException {
        return pwrite.call(fd, from, from.byteSize(), offset);
    }

    /// Reads bytes at a position (`pread`).
    ///
    /// @param fd the descriptor
    /// @param into the destination; off the heap
    /// @param offset the offset in the file
    /// @return the number of bytes read; 0 at the end of the file
    /// @throws ErrnoException if it failed
    public long pread(int fd, MemorySegment into, long offset) throws ErrnoException {
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
        if (mremap.isEmpty()) {
            return false;
        }
        int flags = Constant.flags(MREMAP_MAYMOVE, MREMAP_FIXED, MREMAP_DONTUNMAP);
        try {
            mremap.get().call(from, length, length, flags, to, 0);
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.EINVAL) {
                return false;
            }
            throw e;
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

    /// Removes the name of shared memory (`shm_unlink`).
    ///
    /// @param name with its slash
    /// @throws ErrnoException if it failed
    public void shmUnlink(String name) throws ErrnoException {
        withText(shmUnlink, name, 0);
    }

    /// Makes a file at least as long as a range of it and, where the system can, has space for that range set aside:
    /// `posix_fallocate`, else `ftruncate`. No byte of the file changes, and it does not become shorter.
    ///
    /// (`ftruncate` alone would cut the file, had another process made it longer meanwhile.)
    ///
    /// @param fd the descriptor
    /// @param offset the offset of the range, in bytes
    /// @param length its size in bytes, more than 0
    /// @throws ErrnoException if it failed
    public void allocate(int fd, long offset, long length) throws ErrnoException {
        if (fallocate.isEmpty()) {
            if (size(fd) < offset + length) {
                truncate(fd, offset + length);
            }
            return;
        }
        long step = length;
        long done = 0;
        while (done < length) {
            long count = Math.min(step, length - done);
            // The only call that returns the error number instead of setting it.
            int errno = (int) fallocate.get().call(fd, offset + done, count);
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
    /// @throws ErrnoException if it failed, as where the system has no such call
    void punchHole(int fd, long offset, long length) throws ErrnoException {
        NativeFunction function = linuxFallocate
                .orElseThrow(() -> new ErrnoException("fallocate", ErrnoException.EINVAL));
        int how = Constant.flags(FALLOC_FL_PUNCH_HOLE, FALLOC_FL_KEEP_SIZE);
        function.call(fd, how, offset, length, 0, 0);
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
        LibcUse.begin();
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        if (!system.startsWith("linux") && !system.startsWith("mac")) {
            return new Binding(null,
                    new UnsatisfiedLinkError("the C library is bound on Linux and macOS only, not on " + system));
        }
        try {
            return new Binding(new Libc(), null);
        } catch (ExceptionInInitializerError e) {
            // IllegalCallerException where the JVM denies native access.
            return new Binding(null, e.getCause());
        } catch (LinkageError | RuntimeException | ErrnoException e) {
            // Where libc lacks a call.
            return new Binding(null, e);
        }
    }

    /// macOS on Intel keeps the 64-bit ones under other names.
    private static NativeFunction stat(String name) {
        Optional<NativeFunction> intel = NativeFunction.find(name + "$INODE64");
        return intel.isPresent() ? intel.get() : NativeFunction.of(name);
    }
}
