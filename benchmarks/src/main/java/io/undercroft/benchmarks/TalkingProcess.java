package io.undercroft.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/// A separate process that reads and prints lines. Its error output is that of this process.
final class TalkingProcess implements AutoCloseable {
    private static final List<String> FLAGS = List.of("-Xmx64m", "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

    private static final long PATIENCE_SECONDS = 30;

    private final Process process;
    private final BufferedReader answers;

    private TalkingProcess(Process process) {
        this.process = process;
        this.answers = process.inputReader();
    }

    /// Starts the same Java with the same class path as this process, and a small heap.
    ///
    /// @param main what to run
    /// @return the running process
    /// @throws IOException if it cannot be started
    static TalkingProcess java(Class<?> main) throws IOException {
        List<String> command = Stream.of(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()),
                FLAGS, List.of("-cp", System.getProperty("java.class.path"), main.getName()))
                .flatMap(List::stream).toList();
        return start(command, Map.of());
    }

    /// Starts a program.
    ///
    /// @param command the command line
    /// @param environment variables of its environment, besides those of this process
    /// @return the running process
    /// @throws IOException if it cannot be started
    static TalkingProcess start(List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().putAll(environment);
        return new TalkingProcess(builder.start());
    }

    /// {@return its number}
    long pid() {
        return process.pid();
    }

    /// Sends a line.
    ///
    /// @param line without a line break
    /// @throws IOException if it has ended
    void say(String line) throws IOException {
        process.outputWriter().append(line).append('\n').flush();
    }

    /// {@return the next line that it prints}
    ///
    /// @throws IOException if it has ended
    String answer() throws IOException {
        String line = answers.readLine();
        if (line == null) {
            throw new IOException("process " + pid() + " ended before it printed a line");
        }
        return line;
    }

    /// Ends its input, so that it exits in order and releases what it shares.
    @Override
    public void close() {
        try {
            process.outputWriter().close();
            process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        } catch (IOException | CompletionException _) {
            process.destroyForcibly();
        }
    }
}
