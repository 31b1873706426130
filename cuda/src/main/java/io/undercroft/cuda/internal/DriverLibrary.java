package io.undercroft.cuda.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/// The library of NVIDIA's driver.
final class DriverLibrary {
    static final String NAME = "libcuda.so.1";

    /// Directories in which some containers and distributions store the library although the dynamic linker does not
    /// search them: Kubernetes nodes, WSL, NixOS, RHEL, Debian.
    static final List<Path> FOLDERS = List.of(Path.of("/usr/local/nvidia/lib64"), Path.of("/usr/lib/wsl/lib"),
            Path.of("/run/opengl-driver/lib"), Path.of("/usr/lib64/nvidia"),
            Path.of("/usr/lib/x86_64-linux-gnu/nvidia/current"));

    private DriverLibrary() {}

    /// Loads the library that the dynamic linker finds, or else one from the given directories. Libraries that are
    /// linked with its name are then linked with the loaded one.
    ///
    /// @param folders the directories to search if the dynamic linker finds none
    /// @return its functions; empty if it is not found
    /// @throws IllegalCallerException if the JVM denies native access
    static Optional<SymbolLookup> load(List<Path> folders) {
        return lookup(Path.of(NAME)).or(() -> folders.stream().map(folder -> folder.resolve(NAME))
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
}
