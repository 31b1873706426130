package io.undercroft.cli;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.quickstart.Quickstart;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Objects;
import java.util.stream.Stream;

/// Runs the commands on the bundled checkpoint and throws away what they print. The JVM keeps what they loaded in the
/// cache that the launcher script starts later ones from.
final class AotWarmUp {
    private static final String CHECKPOINT = "/tiny-gpt2-training.pt";

    private AotWarmUp() {}

    static int run() throws IOException {
        Path folder = Files.createTempDirectory("croft-train-");
        try (InputStream bundled = Quickstart.class.getResourceAsStream(CHECKPOINT)) {
            String torch = folder.resolve("in.pt").toString();
            String croft = folder.resolve("out.croft").toString();
            Files.copy(Objects.requireNonNull(bundled, CHECKPOINT), Path.of(torch));
            return quietly("inspect", torch)
                    + quietly("inspect", "--json", "--hash", torch)
                    + quietly("convert", torch, croft)
                    + quietly("inspect", croft)
                    + quietly("verify", croft)
                    + quietly("append", croft, torch, "--message", "again")
                    + quietly("snapshots", croft)
                    + quietly("compact", croft)
                    + quietly("--help");
        } finally {
            delete(folder);
        }
    }

    private static int quietly(String... args) {
        return Croft.execute(new Output(OutputStream.nullOutputStream()), new PrintWriter(Writer.nullWriter()), args);
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
