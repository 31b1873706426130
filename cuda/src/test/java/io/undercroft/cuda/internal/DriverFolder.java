package io.undercroft.cuda.internal;

import java.nio.file.Path;
import java.util.List;

/// For tests: a directory in which the driver's library is searched.
public final class DriverFolder {
    private DriverFolder() {}

    /// Loads the library from a directory, as from those of [DriverLibrary#FOLDERS].
    ///
    /// @param folder the directory
    public static void load(Path folder) {
        if (DriverLibrary.load(List.of(folder)).isEmpty()) {
            throw new IllegalArgumentException("there is no driver in " + folder);
        }
    }
}
