package io.undercroft.properties;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/// What a run of former code was recorded to do.
public final class Recorded {
    private Recorded() {}

    /// {@return the lines of a file that is a resource of a test}
    ///
    /// @param test the test
    /// @param name the name of the file
    /// @throws IOException if it cannot be read
    public static List<String> lines(Class<?> test, String name) throws IOException {
        try (InputStream in = Objects.requireNonNull(test.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        }
    }
}
