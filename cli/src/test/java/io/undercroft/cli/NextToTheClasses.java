package io.undercroft.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/// A directory in the build's, for what cannot use the directory of temporary files, whose path may have blanks.
final class NextToTheClasses implements TempDirFactory {
    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext test) throws IOException {
        return Files.createTempDirectory(Files.createDirectories(Path.of("target").toAbsolutePath()), "files-");
    }
}
