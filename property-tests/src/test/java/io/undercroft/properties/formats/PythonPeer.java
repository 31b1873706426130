package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/// The Python process in which the real libraries run; see `differential.py`. One request at a time.
final class PythonPeer implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String program;
    private final Path script;
    private Process process;
    private Writer requests;
    private BufferedReader answers;

    private PythonPeer(String program, Path script) throws IOException {
        this.program = program;
        this.script = script;
        start();
    }

    /// Starts the Python that the environment variable `UNDERCROFT_PYTHON` names. What it prints as an error comes out
    /// as ours.
    ///
    /// @param directory where the script is put
    /// @return the process, or nothing if no Python is named
    static Optional<PythonPeer> start(Path directory) throws IOException {
        String program = System.getenv("UNDERCROFT_PYTHON");
        if (program == null) {
            return Optional.empty();
        }
        Path script = directory.resolve("differential.py");
        try (InputStream source = PythonPeer.class.getResourceAsStream("differential.py")) {
            Files.write(script, Objects.requireNonNull(source).readAllBytes());
        }
        return Optional.of(new PythonPeer(program, script));
    }

    private void start() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(program, script.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        // Sets have one order in all processes, so that a seed repeats a run.
        builder.environment().put("PYTHONHASHSEED", "0");
        process = builder.start();
        requests = process.outputWriter(UTF_8);
        answers = process.inputReader(UTF_8);
    }

    /// {@return the answer, or nothing if the process died of the request; another one is started then}
    Optional<JsonNode> ask(Map<String, ?> request) throws IOException {
        requests.write(JSON.writeValueAsString(request) + "\n");
        requests.flush();
        String answer = answers.readLine();
        if (answer == null) {
            close();
            start();
            return Optional.empty();
        }
        return Optional.of(JSON.readTree(answer));
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
