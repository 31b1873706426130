package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/// A second JVM with the same class path, to talk to line by line.
final class PeerJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader answers;

    private PeerJvm(List<String> command) throws IOException {
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        answers = process.inputReader();
    }

    static PeerJvm start(Class<?> main, String... arguments) throws IOException {
        return new PeerJvm(java(main, arguments));
    }

    /// One with further options of the JVM.
    static PeerJvm startWith(List<String> options, Class<?> main, String... arguments) throws IOException {
        List<String> command = java(main, arguments);
        command.addAll(1, options);
        return new PeerJvm(command);
    }

    /// One that has `/dev/shm` for itself.
    ///
    /// @param size how large that is, as `mount` takes it
    static PeerJvm startAlone(String size, Class<?> main, String... arguments) throws IOException {
        return startMounting("mount -t tmpfs -o size=" + size + " tmpfs /dev/shm", main, arguments);
    }

    /// One that sees mounts which nobody else sees.
    ///
    /// @param mounting what a shell does before
    static PeerJvm startMounting(String mounting, Class<?> main, String... arguments) throws IOException {
        return startAfter(List.of("unshare", "-m"), mounting, main, arguments);
    }

    /// One in whose shell something else is done before.
    ///
    /// @param shell what goes before the shell
    /// @param before what the shell does
    static PeerJvm startAfter(List<String> shell, String before, Class<?> main, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(shell);
        command.addAll(List.of("sh", "-c", before + " && exec \"$@\"", "sh"));
        command.addAll(java(main, arguments));
        return new PeerJvm(command);
    }

    /// Whether processes may have a `/dev/shm` for themselves.
    static boolean canStartAlone() throws InterruptedException {
        try {
            return new ProcessBuilder("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm").start()
                    .waitFor() == 0;
        } catch (IOException _) {
            return false;
        }
    }

    private static List<String> java(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    long pid() {
        return process.pid();
    }

    /// The next line that it prints, or null if it has ended.
    String answer() throws IOException {
        return String.valueOf(answers.readLine());
    }

    /// Says something, and waits for the answer.
    String ask(String line) throws IOException {
        process.outputWriter().append(line).append('\n').flush();
        return answer();
    }

    void endsWell() throws IOException, InterruptedException {
        process.outputWriter().close();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).isZero();
    }

    /// Kills it, and waits until it is gone. What it has printed can still be read.
    void kill() throws InterruptedException {
        process.toHandle().destroyForcibly();
        process.waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
