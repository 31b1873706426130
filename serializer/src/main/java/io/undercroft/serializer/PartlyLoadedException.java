package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import java.io.Serial;
import java.util.List;

/// Thrown when [Checkpoint#loadInto] fails after it has begun to change tensors, as happens when the file is cut while
/// it is read. The cause is the failure.
public final class PartlyLoadedException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient List<String> loaded;

    /// Describes how far loading came.
    ///
    /// @param checkpoint what was opened
    /// @param loaded the names of the tensors that are loaded
    /// @param failed the name of the tensor that is loaded in part at most
    /// @param cause why it failed
    public PartlyLoadedException(String checkpoint, List<String> loaded, String failed, Throwable cause) {
        super(checkpoint + " was loaded in part: " + loaded.size() + " tensors are loaded, "
                + FormatException.quote(failed)
                + " perhaps in part, the others are as they were (" + cause.getMessage()
                + "). Load an intact file before these tensors are used", cause);
        this.loaded = List.copyOf(loaded);
    }

    /// {@return the names of the tensors that are loaded, in the order in which they were}
    public List<String> loaded() {
        return loaded;
    }
}
