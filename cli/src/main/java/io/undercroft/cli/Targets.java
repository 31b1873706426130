package io.undercroft.cli;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/// What may be the name of a file to write.
final class Targets {
    private static final String SUFFIX = ".croft";

    private Targets() {}

    static boolean isCroft(Path target) {
        return lowerCase(target).endsWith(SUFFIX);
    }

    /// {@return the format that a file is going to have, if there is such a format}
    ///
    /// @param target the file
    /// @param name the name of a format, or nothing for that which the name of the file ends in
    static Optional<CheckpointFormat> format(Path target, Optional<String> name) {
        return name.isPresent()
                ? Checkpoint.formats().stream().filter(format -> format.name().equals(name.get())).findFirst()
                : Checkpoint.formats().stream()
                        .filter(format -> format.suffixes().stream().anyMatch(lowerCase(target)::endsWith)).findFirst();
    }

    private static String lowerCase(Path file) {
        return file.toString().toLowerCase(Locale.ROOT);
    }

    static int refuse(String label, Path target, Run run) {
        return run.complain(
                "%s: only .croft files can be written. Give %s a name that ends in %s".formatted(target, label,
                        SUFFIX));
    }

    static boolean isSame(Path source, Path target) throws IOException {
        return Files.exists(target) && Files.isSameFile(source, target);
    }
}
