package io.undercroft.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/// The stand-in for NVIDIA's driver, `libcuda.c`, and what tests set and ask of it. It is no GPU, and what passes with
/// it is no result of a GPU.
///
/// It is compiled once and loaded before anything touches jcuda, whose native library is then linked with it: the
/// dynamic linker takes a loaded library whose name is `libcuda.so.1` for the one that is needed.
final class StandIn {
    /// Set where tests must not be skipped.
    static final String REQUIRED = "UNDERCROFT_REQUIRE_CUDA_TESTS";

    private static final Path SOURCE = Path.of("src/test/c/libcuda.c");
    private static final Result RESULT = make();
    private static final Map<String, MethodHandle> FUNCTIONS = new ConcurrentHashMap<>();

    private record Result(Path library, String failure) {}

    private StandIn() {}

    /// {@return why there is none; nothing if it is loaded}
    static Optional<String> failure() {
        return Optional.of(RESULT.failure).filter(text -> !text.isEmpty());
    }

    /// {@return the library}
    static Path library() {
        return RESULT.library;
    }

    @SuppressWarnings("restricted")
    private static Result make() {
        String given = System.getProperty("undercroft.standin");
        Path library = given != null ? Path.of(given) : Path.of("target/stand-in/libcuda.so.1").toAbsolutePath();
        try {
            String failure = given == null ? compile(library) : "";
            if (failure.isEmpty()) {
                System.load(library.toString());
            }
            return new Result(library, failure);
        } catch (IOException | InterruptedException e) {
            return new Result(library,
                    "there is no C compiler that the stand-in for NVIDIA's driver can be built with: " + e);
        }
    }

    private static String compile(Path library) throws IOException, InterruptedException {
        Files.createDirectories(library.getParent());
        Path made = Files.createTempFile(library.getParent(), "libcuda", ".so");
        Process compiler = new ProcessBuilder("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC",
                "-shared",
                "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1", "-o", made.toString(), SOURCE.toString(),
                "-lpthread")
                .redirectErrorStream(true).start();
        String output = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!compiler.waitFor(5, TimeUnit.MINUTES) || compiler.exitValue() != 0) {
            throw new UncheckedIOException(new IOException("cc fails: " + output));
        }
        Files.move(made, library, StandardCopyOption.REPLACE_EXISTING);
        return "";
    }

    // ---- what tests set ----

    /// As at the start: nothing fails, nothing waits.
    static void reset() {
        fault(0);
        fail("", 0, 0);
        delay(0);
        gate(false);
        readOnlyPinning(true);
        peers(true);
        limits(8L << 30, 8L << 30);
        call("forget", FunctionDescriptor.ofVoid());
    }

    /// Bounds the memory of each device, and what can be pinned, in bytes.
    static void limits(long device, long host) {
        call("limits", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG), device, host);
    }

    /// Makes the nth call of a function from now on (`*`: of any) return an error.
    static void fail(String function, long nth, int code) {
        try (Arena arena = Arena.ofConfined()) {
            call("fail", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_INT), arena.allocateFrom(function), nth,
                    code);
        }
    }

    /// Makes all work on streams wait before it is done.
    static void delay(long micros) {
        call("delay", FunctionDescriptor.ofVoid(JAVA_LONG), micros);
    }

    /// Holds all work on streams back until the gate is opened.
    static void gate(boolean closed) {
        call("gate", FunctionDescriptor.ofVoid(JAVA_INT), closed ? 1 : 0);
    }

    /// Holds what other libraries submit back, until the gate is opened, but not what does not wait for it.
    static void gateDefaultStream() {
        call("gate", FunctionDescriptor.ofVoid(JAVA_INT), 2);
    }

    /// Sets whether memory can be pinned that the host may only read.
    static void readOnlyPinning(boolean possible) {
        call("read_only", FunctionDescriptor.ofVoid(JAVA_INT), possible ? 1 : 0);
    }

    /// Forgets the memory that was pinned where it is and was not unpinned, as the end of the process does.
    static void unpin() {
        call("unpin", FunctionDescriptor.ofVoid());
    }

    /// Sets whether devices can access each other's memory.
    static void peers(boolean possible) {
        call("peers", FunctionDescriptor.ofVoid(JAVA_INT), possible ? 1 : 0);
    }

    /// Makes all calls fail, as after a fault of a kernel; 0 for none.
    static void fault(int code) {
        call("fault", FunctionDescriptor.ofVoid(JAVA_INT), code);
    }

    /// Fills bytes of a device as another library of the process does: on the default stream.
    static void submit(long address, long nbytes, int value) {
        call("submit", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_INT), address, nbytes, value);
    }

    // ---- what tests ask ----

    /// {@return how many there are: `allocations`, `bytes`, `pinned` (bytes), `registered`, `read-only` (of these),
    /// `late` (unpinned when they were not mapped any more), `direct` (copies from one device to another past the
    /// host), `busy` (devices with work on a stream), `streams`, `pending` (copies and fills), `events`, `imports`,
    /// `pageable` (copies of host memory that is not pinned), `largest` (copy), `failed` (calls, since [#fail]), or
    /// calls of the function of that name, `*` of any}
    static long get(String what) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) call("get", FunctionDescriptor.of(JAVA_LONG, ADDRESS), arena.allocateFrom(what));
        }
    }

    /// {@return how many contexts the calling thread has pushed}
    static long depth() {
        return (long) call("depth", FunctionDescriptor.of(JAVA_LONG));
    }

    private static Object call(String name, FunctionDescriptor type, Object... arguments) {
        try {
            return FUNCTIONS.computeIfAbsent(name, _ -> bind(name, type)).invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError("the stand-in's " + name, e);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle bind(String name, FunctionDescriptor type) {
        MemorySegment function = SymbolLookup.libraryLookup(RESULT.library, Arena.global())
                .find("undercroft_standin_" + name).orElseThrow();
        return Linker.nativeLinker().downcallHandle(function, type);
    }
}
