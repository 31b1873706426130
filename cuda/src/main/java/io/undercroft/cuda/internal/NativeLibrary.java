package io.undercroft.cuda.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Loads jcuda's native library from a directory of this user.
///
/// jcuda unpacks it from its jar to a fixed name in `java.io.tmpdir`, and loads the file that it finds there if there
/// is one, of any owner. So the property names a new directory, which only this user can write to (mode 0700), while
/// jcuda's class is initialized. The JDK's own temporary files do not depend on the property once the JVM is running.
/// The loaded library needs neither the file nor the directory any more, so that nothing is left behind.
final class NativeLibrary {
    private static final String TEMPORARY = "java.io.tmpdir";

    private NativeLibrary() {}

    /// Loads the library.
    ///
    /// @param initializer initializes jcuda's class
    /// @throws IOException if there is no temporary directory
    static synchronized void load(Runnable initializer) throws IOException {
        String before = System.getProperty(TEMPORARY);
        Path folder = Files.createTempDirectory("undercroft-cuda-");
        try {
            System.setProperty(TEMPORARY, folder.toString());
            initializer.run();
        } finally {
            restore(before);
            delete(folder);
        }
    }

    /// A program may have removed the property.
    private static void restore(@Nullable String before) {
        if (before == null) {
            System.clearProperty(TEMPORARY);
        } else {
            System.setProperty(TEMPORARY, before);
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : List.copyOf(files.toList())) {
                Files.delete(file);
            }
            Files.delete(folder);
        } catch (IOException | UncheckedIOException _) {
            // Files that cannot be deleted remain in a directory that only this user can write to.
        }
    }
}
