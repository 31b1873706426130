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
import java.util.Arrays;
import java.util.Optional;

/// A function of the C library that sets `errno`, and has numbers and addresses as arguments.
///
/// It is made of its declaration in C, as its manual page has it. Each call is compared with that: the number of
/// arguments, and whether each fits the type of its parameter. A function that the library does not define fails with
/// [ErrnoException#ENOSYS] when it is called, as one that the kernel does not have.
///
/// All functions are called by one handle: six arguments and a result of 64 bits, since making a handle of another type
/// takes 10 ms and more in each process that attaches shared memory. The second argument is a segment where the
/// function has a buffer there (`pread`), which may belong to any arena and cannot be closed during the call; an
/// address or number otherwise. The calling conventions of Linux on 64-bit processors pass up to six numbers and
/// addresses in registers of 64 bits, and a function reads only the registers and bits of its declared parameters.
///
/// There are no lambdas here and in [Libc], as each would be linked at the first attach of a process.
final class NativeFunction {
    private static final int MOST_PARAMETERS = 6;
    private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");
    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    /// The offset of `errno` in the state, which on Linux has nothing else.
    private static final long ERRNO = 0;

    private static final MethodHandle HANDLE = handle();

    private final String declaration;
    private final String name;
    private final MemorySegment address;
    private final Type result;
    private final Type[] parameters;

    /// The number of bits of a register that belong to a value: the others of a result are undefined.
    private enum Type {
        INT, LONG
    }

    private NativeFunction(String declaration) {
        int open = declaration.indexOf('(');
        String head = declaration.substring(0, open);
        String list = declaration.substring(open + 1, declaration.length() - 1);
        this.declaration = declaration;
        this.name = head.substring(Math.max(head.lastIndexOf(' '), head.lastIndexOf('*')) + 1);
        this.address = lookup(name);
        this.result = type(head);
        this.parameters = list.equals("void") ? new Type[0] : types(list.split(","));
    }

    /// {@return a function}
    ///
    /// @param declaration its declaration in C, with names of the parameters; `...` stands for one number or address
    static NativeFunction of(String declaration) {
        return new NativeFunction(declaration);
    }

    private static Type[] types(String[] declarations) {
        Type[] types = new Type[declarations.length];
        for (int i = 0; i < types.length; i++) {
            types[i] = type(declarations[i].strip());
        }
        return types;
    }

    private static Type type(String declaration) {
        if (declaration.indexOf('*') >= 0 || declaration.equals("...")) {
            return Type.LONG;
        }
        String type = declaration.substring(0, declaration.indexOf(' '));
        return switch (type) {
            case "int", "unsigned", "mode_t", "uid_t" -> Type.INT;
            case "off_t", "size_t", "ssize_t" -> Type.LONG;
            default -> throw new IllegalArgumentException("'" + type + "' is no type of C that is known here");
        };
    }

    /// Calls it, again if a signal interrupted it.
    ///
    /// @param arguments its arguments
    /// @return the result
    /// @throws ErrnoException if it failed, as all functions here do that return -1
    long call(long... arguments) throws ErrnoException {
        return call(second(arguments), arguments);
    }

    /// Calls it with a buffer as the second argument, again if a signal interrupted it.
    ///
    /// @param first its first argument
    /// @param buffer its second; off the heap
    /// @param third its third
    /// @param fourth its fourth
    /// @return the result
    /// @throws ErrnoException if it failed
    long call(long first, MemorySegment buffer, long third, long fourth) throws ErrnoException {
        return call(buffer, new long[]{first, buffer.address(), third, fourth});
    }

    private long call(MemorySegment second, long[] arguments) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = state(arena);
            while (true) {
                try {
                    return callOnce(state, second, arguments);
                } catch (ErrnoException e) {
                    e.unless(ErrnoException.EINTR);
                }
            }
        }
    }

    /// Calls it once, also if a signal interrupts it, for callers that must not repeat the call, or make so many that
    /// they pass the memory for `errno`.
    ///
    /// @param state a [#state], used by one thread at a time
    /// @param arguments its arguments
    /// @return the result
    /// @throws ErrnoException if it failed
    long callOnce(MemorySegment state, long... arguments) throws ErrnoException {
        return callOnce(state, second(arguments), arguments);
    }

    private long callOnce(MemorySegment state, MemorySegment second, long[] arguments) throws ErrnoException {
        check(arguments);
        if (address.address() == 0) {
            throw new ErrnoException(name, ErrnoException.ENOSYS);
        }
        long returned = invoke(state, second, Arrays.copyOf(arguments, MOST_PARAMETERS));
        if (returned == -1) {
            throw new ErrnoException(name, state.get(JAVA_INT, ERRNO));
        }
        return returned;
    }

    /// {@return memory for `errno`}
    ///
    /// @param arena its lifetime
    static MemorySegment state(Arena arena) {
        return arena.allocate(STATE);
    }

    /// {@return its declaration in C}
    @Override
    public String toString() {
        return declaration;
    }

    private static MemorySegment second(long[] arguments) {
        return arguments.length < 2 ? MemorySegment.NULL : MemorySegment.ofAddress(arguments[1]);
    }

    private void check(long[] arguments) {
        boolean fits = arguments.length == parameters.length;
        for (int i = 0; fits && i < arguments.length; i++) {
            fits = parameters[i] == Type.LONG || arguments[i] == (int) arguments[i];
        }
        if (!fits) {
            throw new IllegalArgumentException(declaration + " is called with " + Arrays.toString(arguments));
        }
    }

    private long invoke(MemorySegment state, MemorySegment second, long[] all) {
        try {
            long returned = (long) HANDLE.invokeExact(address, state, all[0], second, all[2], all[3], all[4], all[5]);
            return result == Type.INT ? (int) returned : returned;
        } catch (RuntimeException | Error unexpected) {
            throw unexpected;
        } catch (Throwable unexpected) {
            throw new AssertionError("a downcall throws nothing itself", unexpected);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle() {
        return Linker.nativeLinker().downcallHandle(
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                CAPTURE);
    }

    /// Looks in libc, then in librt, where `shm_open` lived before glibc 2.34.
    @SuppressWarnings("restricted")
    private static MemorySegment lookup(String name) {
        Optional<MemorySegment> symbol = Linker.nativeLinker().defaultLookup().find(name);
        if (symbol.isEmpty() && name.equals("shm_open")) {
            symbol = SymbolLookup.libraryLookup("librt.so.1", Arena.global()).find(name);
        }
        return symbol.orElse(MemorySegment.NULL);
    }
}
