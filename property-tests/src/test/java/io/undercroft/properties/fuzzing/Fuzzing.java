package io.undercroft.properties.fuzzing;

import io.undercroft.properties.Scratch;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// What Jazzer calls.
public final class Fuzzing {
    private static @Nullable FuzzTarget target;

    private Fuzzing() {}

    /// Called once.
    ///
    /// @param arguments the name of the target, as of a file, and a folder for the files that are read
    public static void fuzzerInitialize(String... arguments) throws IOException {
        target = FuzzTargets.all(new Scratch(Path.of(arguments[1]))).stream()
                .filter(each -> each.fileName().equals(arguments[0])).findAny().orElseThrow();
    }

    /// Called with each input.
    ///
    /// @param input any bytes
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        Objects.requireNonNull(target).read(input);
    }
}
