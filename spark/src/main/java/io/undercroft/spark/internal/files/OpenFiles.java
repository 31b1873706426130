package io.undercroft.spark.internal.files;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/// Opens files in tasks.
public final class OpenFiles {
    private OpenFiles() {}

    /// Opens a file, without bytes of its storages.
    ///
    /// @param file the file
    /// @param options how
    /// @return what it holds
    /// @throws IOException if it is missing or not readable, or no module on the class path opens its scheme
    public static Checkpoint open(DataFile file, OpenOptions options) throws IOException {
        Optional<Path> path = file.local();
        return path.isPresent() ? Checkpoint.open(path.get(), options) : Checkpoint.open(file.uri(), options);
    }
}
