package io.undercroft.mmap.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A function of the C library that sets `errno`. It is looked up at once, but bound when it is first called: binding
/// one takes some 8 ms, and most programs call few of them.
final class NativeFunction {
    private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private final MemorySegment address;
    private final FunctionDescriptor type;
    private final Linker.Option[] options;
    /// Threads may bind it at the same time; one handle is as good as the other.
    private volatile @Nullable MethodHandle handle;

    private NativeFunction(MemorySegment address, FunctionDescriptor type, Linker.Option... options) {
        this.address = address;
        this.type = type;
        this.options = options;
    }

    /// {@return a function}
    ///
    /// @param name its name
    /// @param type its type
    /// @throws UnsatisfiedLinkError if the library does not have it
    static NativeFunction of(String name, FunctionDescriptor type) {
        return find(name, type).orElseThrow(() -> missing(name));
    }

    /// {@return a function with a variable number of arguments, which matters to the calling convention of macOS on ARM
    /// and to no other}
    ///
    /// @param name its name
    /// @param type its type, with the arguments that are given
    /// @param fixed how many arguments it always has
    /// @throws UnsatisfiedLinkError if the library does not have it
    static NativeFunction variadic(String name, FunctionDescriptor type, int fixed) {
        MemorySegment address = lookup(name).orElseThrow(() -> missing(name));
        return new NativeFunction(address, type, CAPTURE, Linker.Option.firstVariadicArg(fixed));
    }

    /// {@return a function, or nothing if the library does not have it}
    ///
    /// @param name its name
    /// @param type its type
    static Optional<NativeFunction> find(String name, FunctionDescriptor type) {
        return lookup(name).map(address -> new NativeFunction(address, type, CAPTURE));
    }

    /// {@return how to call it: the state that takes `errno`, then the arguments}
    ///
    /// @throws IllegalCallerException if the JVM denies native access
    @SuppressWarnings("restricted")
    MethodHandle handle() {
        MethodHandle bound = handle;
        if (bound == null) {
            bound = Linker.nativeLinker().downcallHandle(address, type, options);
            handle = bound;
        }
        return bound;
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

    private static UnsatisfiedLinkError missing(String name) {
        return new UnsatisfiedLinkError("the C library has no " + name);
    }
}
