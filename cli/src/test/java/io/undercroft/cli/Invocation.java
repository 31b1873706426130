package io.undercroft.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.cli.internal.TextOutput;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/// What a command said and how it ended, run in this process. Its lines end with `\n`, whatever the system's end with.
record Invocation(int code, String out, String err) {
    static final Path FIXTURES = Path.of("..", "test-support", "fixtures");
    static final Path TRAINING = FIXTURES.resolve("models/tiny-gpt2-training.pt");
    static final String EMBEDDING = "model/transformer.wte.weight";
    static final String HEAD = "model/lm_head.weight";

    /// Runs a command.
    ///
    /// @param args its words; the first may be several, separated by spaces
    static Invocation of(Object... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        StringWriter err = new StringWriter();
        int code = Croft.execute(new TextOutput(out), new PrintWriter(err, true),
                Stream.concat(Arrays.stream(args).limit(1).flatMap(first -> Arrays.stream(first.toString().split(" "))),
                        Arrays.stream(args).skip(1).map(Object::toString)).toArray(String[]::new));
        return new Invocation(code, lines(out.toString(StandardCharsets.UTF_8)), lines(err.toString()));
    }

    /// {@return a text whose lines end with `\n`}
    static String lines(String printed) {
        return printed.replace(System.lineSeparator(), "\n");
    }

    static Path torch(String name) {
        return FIXTURES.resolve("pytorch").resolve(name);
    }

    JsonNode json() throws IOException {
        return new ObjectMapper().readTree(out);
    }
}
