package io.undercroft.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The Python process in which PyTorch and safetensors run; see `peers.py`. One request at a time.
final class Peers implements AutoCloseable {
    private final List<String> command;
    private final Process process;
    private final Writer requests;
    private final BufferedReader replies;

    private Peers(List<String> command) throws IOException {
        this.command = command;
        this.process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        this.requests = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
        this.replies = process.inputReader(StandardCharsets.UTF_8);
    }

    /// Starts the process. Its error output is that of this process.
    ///
    /// @param python the interpreter; needs torch, safetensors and numpy
    /// @param directory where the script is put; goes with the directory
    /// @return the running process
    /// @throws IOException if it cannot be started
    static Peers start(String python, Path directory) throws IOException {
        Path script = directory.resolve("peers.py");
        try (InputStream source = Peers.class.getResourceAsStream("peers.py")) {
            Files.copy(source, script, StandardCopyOption.REPLACE_EXISTING);
        }
        return new Peers(List.of(python, script.toString()));
    }

    /// {@return one more such process, started now and to be closed on its own}
    ///
    /// @throws IOException if it cannot be started
    Peers another() throws IOException {
        return new Peers(command);
    }

    /// {@return the Python interpreter}
    String interpreter() {
        return command.getFirst();
    }

    /// {@return its number}
    long pid() {
        return process.pid();
    }

    /// Sends one request and waits for its reply.
    ///
    /// @param request a function of the script and its arguments; none may hold a tab or a line break
    /// @return what the function returned
    /// @throws IOException if the function failed or the process ended
    List<String> ask(Object... request) throws IOException {
        String line = Stream.of(request).map(Object::toString).collect(Collectors.joining("\t"));
        requests.write(line + "\n");
        requests.flush();
        String reply = replies.readLine();
        if (reply == null) {
            throw new IOException("the Python process ended at: " + line);
        }
        List<String> fields = Arrays.asList(reply.split("\t", -1));
        if (!fields.getFirst().equals("ok")) {
            throw new IOException("Python failed at '" + line + "': " + reply);
        }
        return fields.subList(1, fields.size());
    }

    /// A function of the script as a contender. It returns seconds and a witness.
    ///
    /// @param name what the contender is called
    /// @param request as for [#ask]
    Contender contender(String name, Object... request) {
        return new Contender(name, () -> {
            List<String> reply = ask(request);
            return new Contender.Outcome(Double.parseDouble(reply.get(0)), Double.parseDouble(reply.get(1)));
        });
    }

    /// Ends the process.
    @Override
    public void close() {
        try {
            requests.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            process.destroy();
        }
    }
}
