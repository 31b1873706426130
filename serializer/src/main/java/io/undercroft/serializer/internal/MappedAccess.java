package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Reading mapped bytes of a file that may be damaged or truncated.
public final class MappedAccess {
    private MappedAccess() {}

    /// Runs a task that reads the index or the storages of a file. Exceptions name the file.
    ///
    /// @param <T> the type of the result
    /// @param file the file
    /// @param access reads mapped bytes of it
    /// @return the result
    public static <T extends @Nullable Object> T guarded(MappedFile file, Supplier<T> access) {
        try {
            return file.guard(access);
        } catch (FormatException e) {
            throw e.withFile(file.location());
        }
    }
}
