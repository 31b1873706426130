package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/// A function of the C library that moves bytes between a file and a buffer (`pread`, `pwrite`). The buffer may be
/// anybody's: passed as a segment, it cannot be closed while the call lasts.
final class BufferFunction {
    private static final FunctionDescriptor TYPE = FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG,
            JAVA_LONG);

    private final MemorySegment address;
    /// Threads may bind it at the same time; one handle is as good as the other.
    private volatile @Nullable MethodHandle handle;

    /// A function.
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    BufferFunction(String name) {
        this.address = NativeFunction.required(name);
    }

    /// Calls it.
    ///
    /// @param state the place for `errno`
    /// @param fd the descriptor
    /// @param buffer all of it; off the heap
    /// @param offset which byte of the file
    /// @return how many bytes were moved, or -1
    long call(MemorySegment state, int fd, MemorySegment buffer, long offset) throws Throwable {
        return (long) handle().invokeExact(state, fd, buffer, buffer.byteSize(), offset);
    }

    @SuppressWarnings("restricted")
    private MethodHandle handle() {
        MethodHandle bound = handle;
        if (bound == null) {
            bound = Linker.nativeLinker().downcallHandle(address, TYPE, Linker.Option.captureCallState("errno"));
            handle = bound;
        }
        return bound;
    }
}
