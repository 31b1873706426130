package io.undercroft.cuda.internal;

import java.nio.file.Path;
import java.util.List;

/// Loads the driver's library from a directory, for tests.
public final class DriverFolder {
    private DriverFolder() {}

    /// Loads the library from a directory in the same way as from [NativeLibraries#FOLDERS].
    ///
    /// @param folder the directory
    public static void load(Path folder) {
        if (NativeLibraries.loadDriver(List.of(folder)).isEmpty()) {
            throw new IllegalArgumentException("there is no driver in " + folder);
        }
    }
}
