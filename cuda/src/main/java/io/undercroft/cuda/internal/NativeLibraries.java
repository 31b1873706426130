package io.undercroft.cuda.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Loads the libraries of NVIDIA's driver and of jcuda.
final class NativeLibraries {
    /// The name of the library of NVIDIA's driver.
    static final String DRIVER = "libcuda.so.1";

    /// Directories in which some containers and distributions store the library although the dynamic linker does not
    /// search them: Kubernetes nodes, WSL, NixOS, RHEL, Debian.
    static final List<Path> FOLDERS = List.of(Path.of("/usr/local/nvidia/lib64"), Path.of("/usr/lib/wsl/lib"),
            Path.of("/run/opengl-driver/lib"), Path.of("/usr/lib64/nvidia"),
            Path.of("/usr/lib/x86_64-linux-gnu/nvidia/current"));

    private static final String TEMPORARY = "java.io.tmpdir";

    private NativeLibraries() {}

    /// Loads the library of the driver that the dynamic linker finds, or else one from the given directories. Libraries
    /// that are linked with its name are then linked with the loaded one.
    ///
    /// @param folders the directories to search if the dynamic linker finds none
    /// @return its functions; empty if it is not found
    /// @throws IllegalCallerException if the JVM denies native access
    static Optional<SymbolLookup> loadDriver(List<Path> folders) {
        return lookup(Path.of(DRIVER)).or(() -> folders.stream().map(folder -> folder.resolve(DRIVER))
                .filter(Files::exists).flatMap(file -> lookup(file).stream()).findFirst());
    }

    @SuppressWarnings("restricted")
    private static Optional<SymbolLookup> lookup(Path library) {
        try {
            // The dynamic linker searches for a name without a directory.
            return Optional.of(SymbolLookup.libraryLookup(library.toString(), Arena.global()));
        } catch (IllegalArgumentException _) {
            return Optional.empty();
        }
    }

    /// Loads jcuda's native library from a directory of this user.
    ///
    /// jcuda unpacks it from its jar to a fixed name in `java.io.tmpdir`, and loads the file that it finds there if
    /// there is one, of any owner. So the property names a new directory, which only this user can write to (mode
    /// 0700), while jcuda's class is initialized. The JDK's own temporary files do not depend on the property once the
    /// JVM is running. The loaded library needs neither the file nor the directory any more, so that nothing is left
    /// behind.
    ///
    /// @param initializer initializes jcuda's class
    /// @throws IOException if there is no temporary directory
    static synchronized void loadJcuda(Runnable initializer) throws IOException {
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
