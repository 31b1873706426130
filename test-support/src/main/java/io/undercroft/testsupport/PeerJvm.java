package io.undercroft.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/// A second JVM with the same class path. A test and its peer exchange lines of text.
public final class PeerJvm implements AutoCloseable {
    /// The options of the JVM that programs which use all of the libraries need.
    public static final List<String> NATIVE = List.of("--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");

    /// A peer runs for moments, in which the second compiler and a parallel collector only cost.
    private static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final Process process;
    private final BufferedReader answers;

    /// Starts a peer.
    ///
    /// @param environment variables to add
    /// @param starter a command that runs the rest of its arguments, such as `unshare -m`; may be empty
    /// @param options of the JVM
    /// @param main its main class
    /// @param arguments those of the main class
    public PeerJvm(Map<String, String> environment, List<String> starter, List<String> options, Class<?> main,
            String... arguments) throws IOException {
        List<String> command = new ArrayList<>(starter);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(SHORT_LIVED);
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        process = builder.start();
        answers = process.inputReader();
    }

    /// Starts a peer with [#NATIVE].
    public static PeerJvm start(Class<?> main, String... arguments) throws IOException {
        return startWith(NATIVE, main, arguments);
    }

    /// Starts a peer with these options of the JVM and no others.
    public static PeerJvm startWith(List<String> options, Class<?> main, String... arguments) throws IOException {
        return new PeerJvm(Map.of(), List.of(), options, main, arguments);
    }

    /// Starts a peer by a command that runs the rest of its arguments.
    public static PeerJvm startBy(List<String> starter, Class<?> main, String... arguments) throws IOException {
        return new PeerJvm(Map.of(), starter, NATIVE, main, arguments);
    }

    /// Starts a peer in a shell that runs a command before, such as `ulimit -n 200`.
    public static PeerJvm startAfter(String before, Class<?> main, String... arguments) throws IOException {
        return startBy(List.of("sh", "-c", before + " && exec \"$@\"", "sh"), main, arguments);
    }

    /// Starts a peer that sees mounts which no other process sees.
    ///
    /// @param mounting what a shell does before
    public static PeerJvm startMounting(String mounting, Class<?> main, String... arguments) throws IOException {
        return startBy(List.of("unshare", "-m", "sh", "-c", mounting + " && exec \"$@\"", "sh"), main, arguments);
    }

    /// {@return whether such a command can be run here}
    public static boolean canStartBy(List<String> starter) throws InterruptedException {
        return Commands.succeed(Stream.concat(starter.stream(), Stream.of("true")).toArray(String[]::new));
    }

    /// {@return whether processes may mount what no other process sees}
    public static boolean canMount() throws InterruptedException {
        return canStartBy(List.of("unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm"));
    }

    /// {@return the number of the process, which is that of the starter if this waits for the JVM}
    public long pid() {
        return process.pid();
    }

    /// {@return the next line that it prints; `null` as a text if it has ended}
    public String answer() throws IOException {
        return String.valueOf(answers.readLine());
    }

    /// {@return the next line that it prints, or why there is none}
    public String answerOrError() {
        try {
            return answer();
        } catch (IOException e) {
            return e.toString();
        }
    }

    /// Sends a line.
    public void say(String line) throws IOException {
        process.outputWriter().append(line).append('\n').flush();
    }

    /// Sends a line, and waits for the answer.
    public String ask(String line) throws IOException {
        say(line);
        return answer();
    }

    /// {@return all lines that it still prints, after it has ended without an error}
    public List<String> lines() throws IOException, InterruptedException {
        try (this) {
            process.outputWriter().close();
            List<String> lines = answers.lines().toList();
            assertThat(process.waitFor()).as(String.join("\n", lines)).isZero();
            return lines;
        }
    }

    /// Ends its input, and fails if the peer does not end without an error then.
    public void endsWell() throws IOException, InterruptedException {
        process.outputWriter().close();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    /// Kills the process, and waits until it is gone. What it has printed can still be read.
    public void kill() throws InterruptedException {
        process.toHandle().destroyForcibly();
        process.waitFor();
    }

    /// Kills what the starter started, and waits until all are gone.
    public void killAll() throws InterruptedException {
        List<ProcessHandle> children = process.descendants().toList();
        children.forEach(ProcessHandle::destroyForcibly);
        children.forEach(child -> child.onExit().join());
        kill();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
