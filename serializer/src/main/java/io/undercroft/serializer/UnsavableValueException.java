package io.undercroft.serializer;

import org.jspecify.annotations.Nullable;

/// Thrown if a state has a value that the format cannot represent. Nothing was written.
public final class UnsavableValueException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String path;

    /// Creates an exception.
    ///
    /// @param path the path of the value, as for [#path]
    /// @param message the message, which names the path
    /// @param cause the cause, or null
    public UnsavableValueException(String path, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.path = path;
    }

    /// {@return the path of the value, as [names][io.undercroft.serializer.state] of tensors; empty for the
    /// state itself}
    public String path() {
        return path;
    }
}
