package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/// A function of the C library that moves bytes between a file and a buffer (`pread`, `pwrite`). The buffer may
/// belong to any arena: as it is passed as a segment, it cannot be closed during the call.
final class BufferFunction {
    private static final FunctionDescriptor TYPE = FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG,
            JAVA_LONG);

    private final MemorySegment address;
    /// If several threads bind the function at once, any of the handles can be used.
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
    /// @param buffer the buffer, all of which is used; off the heap
    /// @param offset the offset in the file
    /// @return the number of bytes moved, or -1
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
