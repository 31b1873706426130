package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.storage.Tensor;
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

/// The second process of the quickstart, which knows only the name of the published checkpoint, and the lines exchanged
/// with it.
public final class SecondProcess implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 60;
    /// The exit code of the second process when the first one was interrupted.
    private static final int FORSAKEN = 1;

    private final Process process;
    private final BufferedReader in;
    private final Writer out;

    private SecondProcess(Process process) {
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
    static SecondProcess start() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), "io.undercroft.cli.Croft", "quickstart-peer"));
        return new SecondProcess(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
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

    // ---- in the second process

    /// Attaches, prints what it reads, writes, and reads the answer of the first process. The lines in between also
    /// order the writes of the two.
    ///
    /// @param in the output of the first process
    /// @param out the output of this process
    /// @return the exit code, 1 if the first process ends
    /// @throws IOException if the memory cannot be attached
    public static int run(BufferedReader in, TextOutput out) throws IOException {
        String name = in.readLine();
        if (name == null) {
            return FORSAKEN;
        }
        try (Checkpoint shared = Steps.attach(name)) {
            say(out, "attached");
            Sha256 sha256 = new Sha256(ElementBudget.of(shared));
            for (String each : shared.names()) {
                say(out, each + " " + sha256.of(shared.tensor(each)).digest());
            }
            if (!"write".equals(in.readLine())) {
                return FORSAKEN;
            }
            Tensor head = shared.tensor(Steps.HEAD);
            head.setDouble(0, 0, Steps.QUESTION);
            say(out, "written");
            if (!"answered".equals(in.readLine())) {
                return FORSAKEN;
            }
            say(out, "read " + head.getDouble(0, 1));
            return 0;
        }
    }

    private static void say(TextOutput out, String line) {
        out.line(line);
        out.flush();
    }
}
