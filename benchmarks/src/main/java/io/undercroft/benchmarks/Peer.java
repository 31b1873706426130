package io.undercroft.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// A process that is asked line by line: Python, in which PyTorch and safetensors run, see `peers.py`; or another JVM,
/// see [JvmPeer]. A request is the name of a function and its arguments, separated by tabs; the reply is `ok` and what
/// it returned, or `error` and why. The error output is that of this process.
final class Peer implements AutoCloseable {
    private static final List<String> SMALL_HEAP = List.of("-Xmx64m", "-XX:+UseSerialGC");
    private static final List<String> JVM_FLAGS = List.of("--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");
    private static final long PATIENCE_SECONDS = 30;

    private final List<String> command;
    private final Process process;
    private final Writer requests;
    private final BufferedReader replies;

    /// Starts a program.
    ///
    /// @param command the command line
    /// @param environment variables of its environment, besides those of this process
    /// @throws IOException if it cannot be started
    Peer(List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().putAll(environment);
        this.command = command;
        this.process = builder.start();
        this.requests = process.outputWriter(StandardCharsets.UTF_8);
        this.replies = process.inputReader(StandardCharsets.UTF_8);
    }

    /// {@return a new process of Python}
    ///
    /// @param interpreter needs torch, safetensors and numpy
    /// @param directory where the script is put; goes with the directory
    /// @throws IOException if it cannot be started
    static Peer python(String interpreter, Path directory) throws IOException {
        return new Peer(List.of(interpreter, resource("peers.py", directory).toString()), Map.of());
    }

    /// {@return a new JVM with the class path of this one, and a small heap}
    ///
    /// @throws IOException if it cannot be started
    static Peer jvm() throws IOException {
        return jvm(JvmPeer.class);
    }

    /// {@return a new JVM as of [#jvm()] that runs another program}
    ///
    /// @param main its main class
    /// @throws IOException if it cannot be started
    static Peer jvm(Class<?> main) throws IOException {
        return jvm(main, SMALL_HEAP, "");
    }

    /// {@return a new JVM that runs another program}
    ///
    /// @param main its main class
    /// @param flags further flags of the JVM
    /// @param classPath what follows the class path of this JVM
    /// @param arguments what the program takes
    /// @throws IOException if it cannot be started
    static Peer jvm(Class<?> main, List<String> flags, String classPath, String... arguments) throws IOException {
        return new Peer(Stream.of(List.of(java()), JVM_FLAGS, flags,
                List.of("-cp", System.getProperty("java.class.path") + classPath, main.getName()), List.of(arguments))
                .flatMap(List::stream).toList(), Map.of());
    }

    /// {@return the `java` program of this JVM}
    static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    /// {@return a copy of a resource of the benchmarks}
    ///
    /// @param name its name
    /// @param directory where it is put
    /// @throws IOException if that fails
    static Path resource(String name, Path directory) throws IOException {
        Path copy = directory.resolve(name);
        try (InputStream source = Peer.class.getResourceAsStream(name)) {
            Files.copy(source, copy, StandardCopyOption.REPLACE_EXISTING);
        }
        return copy;
    }

    /// Runs a program to its end.
    ///
    /// @param command the command line
    /// @return the lines that it printed
    /// @throws IOException if it fails
    static List<String> run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<String> printed = process.inputReader().lines().toList();
        if (process.onExit().join().exitValue() != 0) {
            throw new IOException("failed: " + String.join(" ", command));
        }
        return printed;
    }

    /// {@return one more such process, started now and to be closed on its own}
    ///
    /// @throws IOException if it cannot be started
    Peer another() throws IOException {
        return new Peer(command, Map.of());
    }

    /// {@return the program that it runs, for instance the Python interpreter}
    String program() {
        return command.getFirst();
    }

    /// Sends one request and waits for its reply.
    ///
    /// @param request a function and its arguments; none may hold a tab or a line break
    /// @return what the function returned
    /// @throws IOException if the function failed or the process ended
    List<String> ask(Object... request) throws IOException {
        String line = Stream.of(request).map(Object::toString).collect(Collectors.joining("\t"));
        requests.append(line).append('\n').flush();
        return reply(line);
    }

    private List<String> reply(String request) throws IOException {
        String reply = replies.readLine();
        if (reply == null) {
            throw new IOException("process " + process.pid() + " ended at: " + request);
        }
        List<String> fields = Arrays.asList(reply.split("\t", -1));
        if (!fields.getFirst().equals("ok")) {
            throw new IOException("process " + process.pid() + " failed at '" + request + "': " + reply);
        }
        return fields.subList(1, fields.size());
    }

    /// {@return the first field of a reply, a number}
    ///
    /// @param request as for [#ask]
    /// @throws IOException as [#ask]
    double number(Object... request) throws IOException {
        return Double.parseDouble(ask(request).getFirst());
    }

    /// A function as a contender. It returns seconds and a witness.
    ///
    /// @param name what the contender is called
    /// @param request as for [#ask]
    Contender contender(String name, Object... request) {
        return new Contender(name, () -> {
            List<String> reply = ask(request);
            return new Contender.Outcome(Double.parseDouble(reply.get(0)), Double.parseDouble(reply.get(1)));
        });
    }

    /// Ends its input, so that it exits in order and releases what it shares.
    @Override
    public void close() {
        try {
            requests.close();
            process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        } catch (IOException | CompletionException _) {
            process.destroyForcibly();
        }
    }

    /// Processes that do the same.
    static final class Group implements AutoCloseable {
        private final List<Peer> peers = new ArrayList<>();

        /// Starts one of them.
        @FunctionalInterface
        interface Starting {
            Peer start() throws IOException;
        }

        /// Starts processes, and waits until each of them answers.
        ///
        /// @param count how many
        /// @param starting starts one
        /// @throws IOException if one cannot be started; the others are ended
        Group(int count, Starting starting) throws IOException {
            try {
                for (int i = 0; i < count; i++) {
                    peers.add(starting.start());
                }
                ask("versions");
            } catch (IOException e) {
                close();
                throw e;
            }
        }

        /// {@return what one process after the other answers}
        ///
        /// @param request as for [Peer#ask]
        /// @throws IOException if one of them fails
        List<List<String>> ask(Object... request) throws IOException {
            List<List<String>> replies = new ArrayList<>();
            for (Peer peer : peers) {
                replies.add(peer.ask(request));
            }
            return replies;
        }

        /// {@return the numbers of the processes}
        List<Long> pids() {
            return peers.stream().map(peer -> peer.process.pid()).toList();
        }

        /// {@return by how many bytes the sum of the proportional set sizes of the processes grows by a request}
        ///
        /// @param request as for [Peer#ask]
        /// @throws IOException if one of them fails
        long growth(Object... request) throws IOException {
            long before = ProcessMemory.proportional(pids());
            ask(request);
            return ProcessMemory.proportional(pids()) - before;
        }

        @Override
        public void close() {
            peers.forEach(Peer::close);
        }
    }
}
