package io.undercroft.serializer;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/// There is not enough memory for the copy of a state that a save in the background needs. Nothing was changed, and
/// memory that was allocated for it was freed.
public final class StagingMemoryException extends IOException {
    private static final long serialVersionUID = 1;

    private final long wanted;

    /// Describes a failed allocation.
    ///
    /// @param wanted how many bytes were requested
    /// @param why what is known of it
    /// @param cause the error of the system call, or null
    public StagingMemoryException(long wanted, String why, @Nullable Throwable cause) {
        super("to save in the background, " + wanted + " bytes are copied first, and there is no memory for them ("
                + why + "); free some, save in the foreground, or have the storages in memory of "
                + "AnonymousMemory.freezableAllocator",
                cause);
        this.wanted = wanted;
    }

    /// {@return how many bytes were requested}
    public long wanted() {
        return wanted;
    }
}
