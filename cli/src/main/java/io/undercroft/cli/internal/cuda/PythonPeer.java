package io.undercroft.cli.internal.cuda;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/// A Python process in which PyTorch and safetensors load files to the first CUDA device; see `cuda_peer.py`.
final class PythonPeer implements AutoCloseable {
    private static final String SCRIPT = "cuda_peer.py";
    /// The maximum time for importing PyTorch or loading a file.
    private static final long MOST_SECONDS = 120;

    private final @Nullable Process process;
    private final Path errors;
    private final String description;

    private PythonPeer(@Nullable Process process, Path errors, String description) {
        this.process = process;
        this.errors = errors;
        this.description = description;
    }

    /// Starts the process.
    ///
    /// @param python the interpreter that the user named; otherwise `python3`
    /// @param errors the file for its standard error
    /// @return the process, or one that is not available, with the reason
    /// @throws IOException if the script of this program cannot be read
    static PythonPeer start(Optional<String> python, Path errors) throws IOException {
        String interpreter = python.orElse("python3");
        String script;
        try (InputStream source = PythonPeer.class.getResourceAsStream(SCRIPT)) {
            if (source == null) {
                throw new IOException(SCRIPT + " is missing in the program");
            }
            script = new String(source.readAllBytes(), StandardCharsets.UTF_8);
        }
        Process process;
        try {
            process = new ProcessBuilder(interpreter, "-u", "-c", script)
                    .redirectError(errors.toFile()).start();
        } catch (IOException e) {
            return new PythonPeer(null, errors, "there is no " + interpreter + "; name one with --python");
        }
        PythonPeer peer = new PythonPeer(process, errors, "");
        try {
            List<String> reply = peer.reply(process);
            return new PythonPeer(process, errors, String.join(", ", reply));
        } catch (IOException e) {
            peer.close();
            return new PythonPeer(null, errors, interpreter + ": " + e.getMessage());
        }
    }

    /// {@return whether files can be loaded}
    boolean isAvailable() {
        return process != null;
    }

    /// {@return the versions that are compared with, or why none are}
    String description() {
        return description;
    }

    /// Loads a file to the device, and frees it there.
    ///
    /// @param how a function of the script
    /// @param file the file
    /// @param size the number of bytes of its tensors
    /// @return the seconds; nothing if there is no such process
    /// @throws IOException if loading fails, or other bytes were loaded
    OptionalDouble seconds(String how, Path file, long size) throws IOException {
        if (process == null) {
            return OptionalDouble.empty();
        }
        Writer requests = process.outputWriter(StandardCharsets.UTF_8);
        requests.write(how + "\t" + file + "\n");
        requests.flush();
        List<String> reply = reply(process);
        if (Long.parseLong(reply.get(1)) != size) {
            throw new IOException("Python loaded " + reply.get(1) + " bytes instead of " + size);
        }
        return OptionalDouble.of(Double.parseDouble(reply.getFirst()));
    }

    private List<String> reply(Process process) throws IOException {
        BufferedReader replies = process.inputReader(StandardCharsets.UTF_8);
        String reply;
        try {
            reply = CompletableFuture.supplyAsync(() -> line(replies), task -> Thread.ofPlatform().daemon().start(task))
                    .get(MOST_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException _) {
            process.destroyForcibly();
            throw new IOException("Python did not answer within %d seconds".formatted(MOST_SECONDS));
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the thread was interrupted while it waited for Python");
        } catch (ExecutionException e) {
            throw new IOException(CheckList.problem(Objects.requireNonNullElse(e.getCause(), e)), e);
        }
        if (reply.isEmpty()) {
            throw new IOException("Python ended; it needs torch and safetensors" + lastError());
        }
        List<String> fields = Arrays.asList(reply.split("\t", -1));
        if (!fields.getFirst().equals("ok")) {
            throw new IOException(String.join(" ", fields.subList(1, fields.size())));
        }
        return fields.subList(1, fields.size());
    }

    /// Returns the next line; empty at the end.
    private static String line(BufferedReader replies) {
        try {
            return Objects.requireNonNullElse(replies.readLine(), "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Returns the last line that Python wrote to standard error.
    private String lastError() throws IOException {
        String said = new String(Files.readAllBytes(errors), StandardCharsets.UTF_8).strip();
        return said.isEmpty() ? "" : ": " + said.substring(said.lastIndexOf('\n') + 1);
    }

    @Override
    public void close() {
        if (process == null) {
            return;
        }
        try {
            process.outputWriter(StandardCharsets.UTF_8).close();
        } catch (IOException _) {
            // Python has ended before it read a request, which was reported then.
        } finally {
            process.destroy();
        }
    }
}
