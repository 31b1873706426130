package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/// A state that was written for others.
///
/// @param dialect how
/// @param state the state
/// @param scratch where
/// @param report what the save reported
record Written(Dialect dialect, Object state, Scratch scratch, SaveReport report) {
    private static final String FILE = "a";

    /// Writes a state. If the format cannot hold it, it has to say so before there is a file.
    ///
    /// @return the file, or nothing if the state was refused
    static Optional<Written> of(Dialect dialect, Object state, Scratch scratch) throws IOException {
        Files.deleteIfExists(scratch.file(FILE));
        try {
            return Optional.of(new Written(dialect, state, scratch, dialect.write(scratch.file(FILE), state)));
        } catch (IllegalArgumentException e) {
            checkRefusal(e, scratch);
            return Optional.empty();
        }
    }

    private static void checkRefusal(IllegalArgumentException e, Scratch scratch) throws IOException {
        assertThat(e.getMessage()).isNotBlank();
        try (Stream<Path> files = Files.list(scratch.directory())) {
            assertThat(files).as("files that a refused state leaves").isEmpty();
        }
    }

    Path path() {
        return scratch.file(FILE);
    }

    Checkpoint open() throws IOException {
        return open(options -> options);
    }

    Checkpoint open(UnaryOperator<OpenOptions> more) throws IOException {
        return Checkpoint.open(path(), more.apply(dialect.opening()));
    }

    /// Writes another state next to the file, in the same way, and compares the files.
    void checkSameBytes(Object other) throws IOException {
        Path again = scratch.file("b");
        try {
            dialect.write(again, other);
            assertThat(Files.mismatch(path(), again)).as("the first byte that differs").isEqualTo(-1);
        } finally {
            Files.deleteIfExists(again);
        }
    }
}
