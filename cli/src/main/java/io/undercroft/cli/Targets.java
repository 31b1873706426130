package io.undercroft.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// What may be the name of a file to write.
final class Targets {
    private static final String SUFFIX = ".croft";

    private Targets() {}

    static boolean isCroft(Path target) {
        return target.toString().endsWith(SUFFIX);
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
