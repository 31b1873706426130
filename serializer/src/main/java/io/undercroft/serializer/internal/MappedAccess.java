package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.Allocation;
import java.util.concurrent.atomic.AtomicReference;
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

    /// Makes an allocation as [#guarded], and frees it if the check afterwards fails.
    ///
    /// @param file the file
    /// @param access makes the allocation, and reads mapped bytes of the file
    /// @return the allocation
    public static Allocation allocated(MappedFile file, Supplier<Allocation> access) {
        AtomicReference<@Nullable Allocation> made = new AtomicReference<>();
        try {
            return guarded(file, () -> {
                Allocation allocation = access.get();
                made.set(allocation);
                return allocation;
            });
        } catch (Throwable e) {
            Allocation lost = made.get();
            if (lost != null) {
                lost.free();
            }
            throw e;
        }
    }
}
