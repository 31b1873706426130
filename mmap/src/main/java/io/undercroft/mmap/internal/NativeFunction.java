package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/// A function of the C library that sets `errno`, and has numbers and addresses as arguments.
///
/// All functions are called by one handle: six arguments and a result of 64 bits. Making the handle takes tens of
/// milliseconds. The second argument is a segment where the function has a buffer there (`pread`), which may belong to
/// any arena and cannot be closed during the call; an address or number otherwise. The calling conventions of all
/// supported systems pass up to six numbers and addresses in registers of 64 bits, and a function reads only the
/// registers and bits of its declared parameters. (Variable arguments on macOS on ARM are the exception.)
///
/// There are no lambdas here and in [Libc], as each would be linked at the first attach of a process.
final class NativeFunction {
    private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");
    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    /// The offset of `errno` in the state: on Linux and macOS it has nothing else.
    private static final long ERRNO = 0;

    private final String name;
    private final MemorySegment address;
    private final Result result;
    private final boolean isVariadic;

    /// The type of the result: for an `int`, the upper half of the register is undefined.
    private enum Result {
        INT, LONG
    }

    /// The handle of functions with a fixed number of arguments.
    private static final class Fixed {
        static final MethodHandle HANDLE = handle(CAPTURE);
    }

    /// The handle of functions with two fixed arguments and variable ones.
    private static final class Variadic {
        static final MethodHandle HANDLE = handle(CAPTURE, Linker.Option.firstVariadicArg(2));
    }

    private NativeFunction(String name, MemorySegment address, Result result, boolean isVariadic) {
        this.name = name;
        this.address = address;
        this.result = result;
        this.isVariadic = isVariadic;
    }

    /// {@return a function that returns an `int`}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction of(String name) {
        return new NativeFunction(name, required(name), Result.INT, false);
    }

    /// {@return a function that returns 64 bits}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction ofLong(String name) {
        return new NativeFunction(name, required(name), Result.LONG, false);
    }

    /// {@return a function with two arguments and a variable number of others, that returns an `int`}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction variadic(String name) {
        return new NativeFunction(name, required(name), Result.INT, Constant.IS_MAC);
    }

    /// {@return a function that returns an `int`, or nothing if the library does not define it}
    ///
    /// @param name its name
    static Optional<NativeFunction> find(String name) {
        return find(name, Result.INT);
    }

    /// {@return a function that returns 64 bits, or nothing if the library does not define it}
    ///
    /// @param name its name
    static Optional<NativeFunction> findLong(String name) {
        return find(name, Result.LONG);
    }

    private static Optional<NativeFunction> find(String name, Result result) {
        Optional<MemorySegment> found = lookup(name);
        return found.isPresent()
                ? Optional.of(new NativeFunction(name, found.get(), result, false))
                : Optional.empty();
    }

    /// Calls it without arguments.
    ///
    /// @return the result
    /// @throws ErrnoException if it failed
    long call() throws ErrnoException {
        return call(0, 0, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param a its argument
    /// @return the result
    /// @throws ErrnoException if it failed
    long call(long a) throws ErrnoException {
        return call(a, 0, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param a its first argument
    /// @param b its second
    /// @return the result
    /// @throws ErrnoException if it failed
    long call(long a, long b) throws ErrnoException {
        return call(a, b, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param a its first argument
    /// @param b its second
    /// @param c its third
    /// @return the result
    /// @throws ErrnoException if it failed
    long call(long a, long b, long c) throws ErrnoException {
        return call(a, b, c, 0, 0, 0);
    }

    /// Calls it, again if a signal interrupted it.
    ///
    /// @param a its first argument, and so on; those that it does not have are 0
    /// @return the result
    /// @throws ErrnoException if it failed, as all functions here do that return -1
    long call(long a, long b, long c, long d, long e, long f) throws ErrnoException {
        return call(a, MemorySegment.ofAddress(b), c, d, e, f);
    }

    /// Calls it with a buffer as the second argument, again if a signal interrupted it.
    ///
    /// @param a its first argument
    /// @param buffer its second; off the heap
    /// @param c its third
    /// @param d its fourth
    /// @return the result
    /// @throws ErrnoException if it failed
    long call(long a, MemorySegment buffer, long c, long d) throws ErrnoException {
        return call(a, buffer, c, d, 0, 0);
    }

    private long call(long a, MemorySegment b, long c, long d, long e, long f) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = state(arena);
            while (true) {
                long returned = invoke(state, a, b, c, d, e, f);
                if (returned != -1) {
                    return returned;
                }
                if (state.get(JAVA_INT, ERRNO) != ErrnoException.EINTR) {
                    throw failure(state);
                }
            }
        }
    }

    /// Calls it once, also if a signal interrupts it.
    ///
    /// @param a its argument
    /// @return the result
    /// @throws ErrnoException if it failed
    long callOnce(long a) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            return callOnce(state(arena), a, 0, 0, 0, 0, 0);
        }
    }

    /// Calls it once, for callers that do so many thousand times: they pass the memory for `errno`.
    ///
    /// @param state a [#state], used by one thread at a time
    /// @param a its first argument, and so on
    /// @return the result
    /// @throws ErrnoException if it failed
    long callOnce(MemorySegment state, long a, long b, long c, long d, long e, long f) throws ErrnoException {
        long returned = invoke(state, a, MemorySegment.ofAddress(b), c, d, e, f);
        if (returned == -1) {
            throw failure(state);
        }
        return returned;
    }

    /// {@return memory for `errno`}
    ///
    /// @param arena its lifetime
    static MemorySegment state(Arena arena) {
        return arena.allocate(STATE);
    }

    private ErrnoException failure(MemorySegment state) {
        return new ErrnoException(name, state.get(JAVA_INT, ERRNO));
    }

    private long invoke(MemorySegment state, long a, MemorySegment b, long c, long d, long e, long f) {
        try {
            long returned = isVariadic
                    ? (long) Variadic.HANDLE.invokeExact(address, state, a, b, c, d, e, f)
                    : (long) Fixed.HANDLE.invokeExact(address, state, a, b, c, d, e, f);
            return result == Result.INT ? (int) returned : returned;
        } catch (RuntimeException | Error unexpected) {
            throw unexpected;
        } catch (Throwable unexpected) {
            throw new AssertionError("a downcall throws nothing itself", unexpected);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle(Linker.Option... options) {
        return Linker.nativeLinker().downcallHandle(
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                options);
    }

    /// {@return the address of a function of the C library}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static MemorySegment required(String name) {
        Optional<MemorySegment> found = lookup(name);
        if (found.isEmpty()) {
            throw new UnsatisfiedLinkError("the C library has no " + name);
        }
        return found.get();
    }

    /// Looks in libc, then in librt, where `shm_open` lived before glibc 2.34.
    @SuppressWarnings("restricted")
    private static Optional<MemorySegment> lookup(String name) {
        Optional<MemorySegment> symbol = Linker.nativeLinker().defaultLookup().find(name);
        if (symbol.isPresent() || !name.startsWith("shm_")) {
            return symbol;
        }
        return SymbolLookup.libraryLookup("librt.so.1", Arena.global()).find(name);
    }
}
