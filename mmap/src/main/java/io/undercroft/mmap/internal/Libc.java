package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.STAT_SIZE_OFFSET;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The calls of the C library that this room makes.
///
/// Every call captures `errno` in an arena of its own, is made again when a signal interrupted it, and throws
/// [ErrnoException] when it failed. Addresses are plain numbers, since they are rounded to pages; buffers are
/// segments, so that they stay alive during the call.
///
/// Where the library cannot be bound (Windows, or a JVM that denies native access) [#find] is empty and [#failure] says
/// why.
public final class Libc {
    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));
    /// More than any system's `struct stat`.
    private static final long STAT_BYTES = 512;

    private static final Binding BINDING = bind();

    private final NativeFunction open = NativeFunction.variadic("open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 2);
    private final NativeFunction close = NativeFunction.of("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private final NativeFunction fstat = fstat(FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    private final NativeFunction pread = NativeFunction.of("pread",
            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG));
    private final NativeFunction mmap = NativeFunction.of("mmap",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private final NativeFunction munmap = NativeFunction.of("munmap",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final NativeFunction madvise = NativeFunction.of("madvise",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final NativeFunction msync = NativeFunction.of("msync",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private final NativeFunction shmOpen = NativeFunction.variadic("shm_open",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 2);
    private final NativeFunction shmUnlink = NativeFunction.of("shm_unlink", FunctionDescriptor.of(JAVA_INT, ADDRESS));
    private final NativeFunction ftruncate = NativeFunction.of("ftruncate",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private final Optional<NativeFunction> fallocate = NativeFunction.find("posix_fallocate",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private final long pageSize;

    /// Asks for the size of a page, and so finds out whether native access is allowed.
    private Libc() throws ErrnoException {
        NativeFunction getpagesize = NativeFunction.of("getpagesize", FunctionDescriptor.of(JAVA_INT));
        pageSize = once("getpagesize", state -> (int) getpagesize.handle().invokeExact(state));
    }

    private record Binding(@Nullable Libc libc, @Nullable Throwable failure) {}

    @FunctionalInterface
    private interface Call {
        long apply(MemorySegment state) throws Throwable;
    }

    /// {@return the library, or nothing where it cannot be called}
    public static Optional<Libc> find() {
        return Optional.ofNullable(BINDING.libc);
    }

    /// {@return why [#find] is empty}
    public static Optional<Throwable> failure() {
        return Optional.ofNullable(BINDING.failure);
    }

    /// Opens a file (`open`).
    ///
    /// @param path the path in the system's encoding, ending in a zero byte
    /// @param flags how
    /// @param mode who may use it, when created
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    public int open(byte[] path, int flags, int mode) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(JAVA_BYTE, path);
            return (int) call("open", state -> (int) open.handle().invokeExact(state, name, flags, mode));
        }
    }

    /// Closes a descriptor (`close`). Nothing is to be done when it fails, least of all again.
    ///
    /// @param fd the descriptor
    public void close(int fd) {
        try {
            once("close", state -> (int) close.handle().invokeExact(state, fd));
        } catch (ErrnoException ignored) {
            // The descriptor is gone whatever close says; it was opened for reading or its data was forced before.
        }
    }

    /// {@return the size of an open file in bytes (`fstat`)}
    ///
    /// @param fd the descriptor
    /// @throws ErrnoException if it failed
    public long size(int fd) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stat = arena.allocate(STAT_BYTES, Long.BYTES);
            call("fstat", state -> (int) fstat.handle().invokeExact(state, fd, stat));
            return stat.get(JAVA_LONG, STAT_SIZE_OFFSET.value());
        }
    }

    /// Reads bytes at a position (`pread`).
    ///
    /// @param fd the descriptor
    /// @param into where to; off the heap
    /// @param offset from which byte of the file
    /// @return how many bytes were read; 0 at the end of the file
    /// @throws ErrnoException if it failed
    public long pread(int fd, MemorySegment into, long offset) throws ErrnoException {
        return call("pread", state -> (long) pread.handle().invokeExact(state, fd, into, into.byteSize(), offset));
    }

    /// Maps a file or anonymous memory (`mmap`).
    ///
    /// @param address where to, or 0
    /// @param length how many bytes
    /// @param protection what is allowed
    /// @param flags how
    /// @param fd the descriptor, or -1
    /// @param offset from which byte of the file, on a page boundary
    /// @return the address
    /// @throws ErrnoException if it failed
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) throws ErrnoException {
        return call("mmap",
                state -> (long) mmap.handle().invokeExact(state, address, length, protection, flags, fd, offset));
    }

    /// The same for those who map many thousand times in a row: the place for `errno` is theirs, and a signal is no
    /// matter, as it cannot interrupt this call.
    ///
    /// @param state a [#state], used by one thread at a time
    /// @param address where to, or 0
    /// @param length how many bytes
    /// @param protection what is allowed
    /// @param flags how
    /// @param fd the descriptor, or -1
    /// @param offset from which byte of the file, on a page boundary
    /// @return the address
    /// @throws ErrnoException if it failed
    long mmap(MemorySegment state, long address, long length, int protection, int flags, int fd, long offset)
            throws ErrnoException {
        return once("mmap", state,
                errno -> (long) mmap.handle().invokeExact(errno, address, length, protection, flags, fd, offset));
    }

    /// {@return a place for `errno`}
    ///
    /// @param arena how long it lives
    static MemorySegment state(Arena arena) {
        return arena.allocate(STATE);
    }

    /// Takes a mapping away (`munmap`).
    ///
    /// @param address where it starts, on a page boundary
    /// @param length how many bytes
    /// @throws ErrnoException if it failed
    public void munmap(long address, long length) throws ErrnoException {
        call("munmap", state -> (int) munmap.handle().invokeExact(state, address, length));
    }

    /// Gives advice (`madvise`).
    ///
    /// @param address where, on a page boundary
    /// @param length how many bytes
    /// @param advice which
    /// @throws ErrnoException if it failed
    public void madvise(long address, long length, int advice) throws ErrnoException {
        call("madvise", state -> (int) madvise.handle().invokeExact(state, address, length, advice));
    }

    /// Writes a shared mapping back (`msync`).
    ///
    /// @param address where, on a page boundary
    /// @param length how many bytes
    /// @param flags how
    /// @throws ErrnoException if it failed
    public void msync(long address, long length, int flags) throws ErrnoException {
        call("msync", state -> (int) msync.handle().invokeExact(state, address, length, flags));
    }

    /// Opens or creates shared memory (`shm_open`).
    ///
    /// @param name with its slash
    /// @param flags how
    /// @param mode who may use it, when created
    /// @return the descriptor
    /// @throws ErrnoException if it failed
    public int shmOpen(String name, int flags, int mode) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(name);
            return (int) call("shm_open", state -> (int) shmOpen.handle().invokeExact(state, text, flags, mode));
        }
    }

    /// Removes the name of shared memory (`shm_unlink`).
    ///
    /// @param name with its slash
    /// @throws ErrnoException if it failed
    public void shmUnlink(String name) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(name);
            call("shm_unlink", state -> (int) shmUnlink.handle().invokeExact(state, text));
        }
    }

    /// Makes a file at least as long as a range of it and, where the system can, has space for that range set aside:
    /// `posix_fallocate`, else `ftruncate`. No byte of the file changes, and it does not become shorter.
    ///
    /// (`ftruncate` alone would cut the file, had another process made it longer meanwhile.)
    ///
    /// @param fd the descriptor
    /// @param offset where the range starts, in bytes
    /// @param length its size in bytes, more than 0
    /// @throws ErrnoException if it failed
    public void allocate(int fd, long offset, long length) throws ErrnoException {
        if (fallocate.isEmpty()) {
            if (size(fd) < offset + length) {
                call("ftruncate", state -> (int) ftruncate.handle().invokeExact(state, fd, offset + length));
            }
            return;
        }
        MethodHandle handle = fallocate.get().handle();
        int errno;
        do {
            // The one call that returns the error number instead of setting it.
            errno = (int) once("posix_fallocate", state -> (int) handle.invokeExact(state, fd, offset, length));
        } while (errno == ErrnoException.EINTR);
        if (errno != 0) {
            throw new ErrnoException("posix_fallocate", errno);
        }
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

    private static long call(String name, Call call) throws ErrnoException {
        while (true) {
            try {
                return once(name, call);
            } catch (ErrnoException e) {
                if (e.errno() != ErrnoException.EINTR) {
                    throw e;
                }
            }
        }
    }

    /// All calls here, `mmap` included, return -1 when they failed.
    private static long once(String name, Call call) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return once(name, state(arena), call);
        }
    }

    private static long once(String name, MemorySegment state, Call call) throws ErrnoException {
        try {
            long result = call.apply(state);
            if (result == -1) {
                throw new ErrnoException(name, (int) ERRNO.get(state, 0L));
            }
            return result;
        } catch (ErrnoException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a downcall throws nothing of its own", e);
        }
    }

    private static Binding bind() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        if (!system.startsWith("linux") && !system.startsWith("mac")) {
            return new Binding(null,
                    new UnsatisfiedLinkError("the C library is bound on Linux and macOS only, not on " + system));
        }
        try {
            return new Binding(new Libc(), null);
        } catch (LinkageError | RuntimeException | ErrnoException e) {
            // IllegalCallerException where the JVM denies native access; the others where libc lacks a call.
            return new Binding(null, e);
        }
    }

    /// macOS on Intel keeps the 64-bit one under another name.
    private static NativeFunction fstat(FunctionDescriptor type) {
        return NativeFunction.find("fstat$INODE64", type).orElseGet(() -> NativeFunction.of("fstat", type));
    }
}
