package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/// A second JVM with the same class path, to talk to line by line.
final class PeerJvm implements AutoCloseable {
    /// They live for moments, in which the second compiler and a parallel collector only cost.
    private static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final Process process;
    private final BufferedReader answers;

    PeerJvm(Class<?> main, List<String> options, String... arguments) throws IOException {
        this(List.of(), main, options, arguments);
    }

    /// Started by another command, such as `unshare`.
    PeerJvm(List<String> starter, Class<?> main, List<String> options, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(starter);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(SHORT_LIVED);
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        answers = process.inputReader();
    }

    String answer() throws IOException {
        return String.valueOf(answers.readLine());
    }

    String answerOrError() {
        try {
            return answer();
        } catch (IOException e) {
            return e.toString();
        }
    }

    String ask(String line) throws IOException {
        say(line);
        return answer();
    }

    long pid() {
        return process.pid();
    }

    void endInput() throws IOException {
        process.outputWriter().close();
    }

    /// Kills the process, and waits until it is gone.
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /// Kills what the starter started, and waits until all are gone.
    void killAll() throws InterruptedException {
        List<ProcessHandle> children = process.descendants().toList();
        children.forEach(ProcessHandle::destroyForcibly);
        children.forEach(child -> child.onExit().join());
        kill();
    }

    void say(String line) throws IOException {
        process.outputWriter().append(line).append('\n').flush();
    }

    void endsWell() throws InterruptedException {
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
