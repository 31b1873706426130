package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A function of the C library that sets `errno`, and has numbers and addresses as arguments.
///
/// All functions are bound with one type: six arguments and a result of 64 bits. Binding the first function of a type
/// takes some 8 ms, each further one 0.1 ms. The calling conventions of all supported systems pass up to six numbers
/// and addresses in registers of 64 bits, and a function reads only the registers and bits of its declared parameters.
/// (Variable arguments on macOS on ARM are the exception.) A function is looked up at once, and bound when it is first
/// called.
final class NativeFunction {
    private static final FunctionDescriptor NUMBERS = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
            JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private final MemorySegment address;
    private final Result result;
    private final Linker.Option[] options;
    /// If several threads bind the function at once, any of the handles can be used.
    private volatile @Nullable MethodHandle handle;

    /// The type of the result: for an `int`, the upper half of the register is undefined.
    private enum Result {
        INT, LONG
    }

    private NativeFunction(MemorySegment address, Result result, Linker.Option... options) {
        this.address = address;
        this.result = result;
        this.options = options;
    }

    /// {@return a function that returns an `int`}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction of(String name) {
        return new NativeFunction(required(name), Result.INT, CAPTURE);
    }

    /// {@return a function that returns 64 bits}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction ofLong(String name) {
        return new NativeFunction(required(name), Result.LONG, CAPTURE);
    }

    /// {@return a function with a variable number of arguments, that returns an `int`}
    ///
    /// @param name its name
    /// @param fixed the number of fixed arguments
    /// @throws UnsatisfiedLinkError if the library does not define it
    static NativeFunction variadic(String name, int fixed) {
        return Constant.IS_MAC
                ? new NativeFunction(required(name), Result.INT, CAPTURE, Linker.Option.firstVariadicArg(fixed))
                : of(name);
    }

    /// {@return a function that returns an `int`, or nothing if the library does not define it}
    ///
    /// @param name its name
    static Optional<NativeFunction> find(String name) {
        return lookup(name).map(found -> new NativeFunction(found, Result.INT, CAPTURE));
    }

    /// {@return a function that returns 64 bits, or nothing if the library does not define it}
    ///
    /// @param name its name
    static Optional<NativeFunction> findLong(String name) {
        return lookup(name).map(found -> new NativeFunction(found, Result.LONG, CAPTURE));
    }

    /// Calls it without arguments.
    ///
    /// @param state the place for `errno`
    /// @return the result
    long call(MemorySegment state) throws Throwable {
        return call(state, 0, 0, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param state the place for `errno`
    /// @param a its argument
    /// @return the result
    long call(MemorySegment state, long a) throws Throwable {
        return call(state, a, 0, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param state the place for `errno`
    /// @param a its first argument
    /// @param b its second
    /// @return the result
    long call(MemorySegment state, long a, long b) throws Throwable {
        return call(state, a, b, 0, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param state the place for `errno`
    /// @param a its first argument
    /// @param b its second
    /// @param c its third
    /// @return the result
    long call(MemorySegment state, long a, long b, long c) throws Throwable {
        return call(state, a, b, c, 0, 0, 0);
    }

    /// Calls it.
    ///
    /// @param state the place for `errno`
    /// @param a its first argument, and so on; those that it does not have are 0
    /// @return the result
    /// @throws IllegalCallerException if the JVM denies native access
    long call(MemorySegment state, long a, long b, long c, long d, long e, long f) throws Throwable {
        long returned = (long) handle().invokeExact(state, a, b, c, d, e, f);
        return result == Result.INT ? (int) returned : returned;
    }

    @SuppressWarnings("restricted")
    private MethodHandle handle() {
        MethodHandle bound = handle;
        if (bound == null) {
            bound = Linker.nativeLinker().downcallHandle(address, NUMBERS, options);
            handle = bound;
        }
        return bound;
    }

    /// {@return the address of a function of the C library}
    ///
    /// @param name its name
    /// @throws UnsatisfiedLinkError if the library does not define it
    static MemorySegment required(String name) {
        return lookup(name).orElseThrow(() -> new UnsatisfiedLinkError("the C library has no " + name));
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
