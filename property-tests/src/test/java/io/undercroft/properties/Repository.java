package io.undercroft.properties;

import java.nio.file.Files;
import java.nio.file.Path;

/// The files of this repository. The tests run in their module, the proofs anywhere in the repository.
public final class Repository {
    private static final Path ROOT = root();

    private Repository() {}

    /// {@return a file or folder}
    ///
    /// @param path where it is, from the top of the repository on
    public static Path path(String path) {
        return ROOT.resolve(path);
    }

    private static Path root() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.isDirectory(at.resolve("test-support/fixtures/pytorch"))) {
                return at;
            }
        }
        throw new IllegalStateException("no fixtures folder above " + Path.of("").toAbsolutePath());
    }
}
