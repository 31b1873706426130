package io.undercroft.cli.internal.cuda;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/// A Python process in which PyTorch and safetensors load files to the first CUDA device; see `cuda_peer.py`.
final class Peer implements AutoCloseable {
    private static final String SCRIPT = "cuda_peer.py";

    private final @Nullable Process process;
    private final String description;

    private Peer(@Nullable Process process, String description) {
        this.process = process;
        this.description = description;
    }

    /// Starts the process.
    ///
    /// @param python the interpreter that the user named; otherwise `python3`
    /// @return the process, or one that is not available, with the reason
    /// @throws IOException if the script of this program cannot be read
    static Peer start(Optional<String> python) throws IOException {
        String interpreter = python.orElse("python3");
        String script;
        try (InputStream source = Peer.class.getResourceAsStream(SCRIPT)) {
            if (source == null) {
                throw new IOException(SCRIPT + " is missing in the program");
            }
            script = new String(source.readAllBytes(), StandardCharsets.UTF_8);
        }
        Process process;
        try {
            process = new ProcessBuilder(interpreter, "-u", "-c", script)
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        } catch (IOException e) {
            return new Peer(null, "there is no " + interpreter + "; name one with --python");
        }
        Peer peer = new Peer(process, "");
        try {
            List<String> reply = reply(process);
            return new Peer(process, String.join(", ", reply));
        } catch (IOException e) {
            peer.close();
            return new Peer(null, interpreter + ": " + e.getMessage());
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

    private static List<String> reply(Process process) throws IOException {
        BufferedReader replies = process.inputReader(StandardCharsets.UTF_8);
        String reply = replies.readLine();
        if (reply == null) {
            throw new IOException("Python ended; it needs torch and safetensors");
        }
        List<String> fields = Arrays.asList(reply.split("\t", -1));
        if (!fields.getFirst().equals("ok")) {
            throw new IOException(String.join(" ", fields.subList(1, fields.size())));
        }
        return fields.subList(1, fields.size());
    }

    @Override
    public void close() {
        if (process == null) {
            return;
        }
        try {
            process.outputWriter(StandardCharsets.UTF_8).close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            process.destroy();
        }
    }
}
