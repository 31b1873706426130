package io.undercroft.serializer;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/// Thrown if there is not enough memory for the staged copy of a state that a background save needs. Nothing was
/// changed, and memory that was allocated for the copy was freed.
public final class StagingMemoryException extends IOException {
    private static final long serialVersionUID = 1;

    private final long wanted;

    /// Creates an exception for a failed allocation.
    ///
    /// @param wanted the number of bytes that were requested
    /// @param why the reason
    /// @param cause the error of the system call, or null
    public StagingMemoryException(long wanted, String why, @Nullable Throwable cause) {
        super("to save in the background, " + wanted + " bytes are copied first, and there is no memory for them ("
                + why + "); free some, save in the foreground, or have the storages in memory of "
                + "AnonymousMemory.freezableAllocator",
                cause);
        this.wanted = wanted;
    }

    /// {@return the number of bytes that were requested}
    public long wanted() {
        return wanted;
    }
}
