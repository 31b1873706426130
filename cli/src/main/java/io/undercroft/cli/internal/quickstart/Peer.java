package io.undercroft.cli.internal.quickstart;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/// A second JVM that runs [PeerSide], and the lines exchanged with it.
final class Peer implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 60;

    private final Process process;
    private final BufferedReader in;
    private final Writer out;

    private Peer(Process process) {
        this.process = process;
        this.in = process.inputReader();
        this.out = process.outputWriter();
        // It must not outlive this process, nor complain of what an interrupt took away.
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        // A read that waits for a hanging process then ends.
        Executor later = CompletableFuture.delayedExecutor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        later.execute(process::destroyForcibly);
    }

    /// Starts the same Java with the same flags and class path as this process.
    static Peer start() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), "io.undercroft.cli.Croft", "quickstart-peer"));
        return new Peer(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }

    long pid() {
        return process.pid();
    }

    void send(String text) throws IOException {
        out.write(text);
        out.flush();
    }

    /// Waits for a line.
    void expect(String line) throws IOException {
        String said = in.readLine();
        if (!line.equals(said)) {
            throw new IOException("the second process was to print '" + line + "' but "
                    + (said == null ? "ended" : "printed '" + said + "'"));
        }
    }

    /// Waits for the end and returns the exit code.
    int end() throws InterruptedException {
        return process.waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
