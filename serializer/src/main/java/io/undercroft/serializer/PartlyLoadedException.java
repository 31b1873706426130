package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import java.io.Serial;
import java.util.List;
import java.util.stream.Collectors;

/// Thrown when [Checkpoint#loadInto] or [ShardSet#loadInto] fails after it has begun to change tensors, for instance
/// because the file is truncated during the load. The cause is the failure.
public final class PartlyLoadedException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;
    private static final int MOST_NAMED = 10;

    private final transient List<String> loaded;

    /// Creates an exception.
    ///
    /// @param checkpoint the location of the checkpoint
    /// @param loaded the names of the tensors that are loaded
    /// @param begun the names of the tensors that may be loaded in part
    /// @param cause the failure
    public PartlyLoadedException(String checkpoint, List<String> loaded, List<String> begun, Throwable cause) {
        super(checkpoint + " was loaded in part: " + loaded.size() + " tensors are loaded, "
                + begun.stream().limit(MOST_NAMED).map(FormatException::quote).collect(Collectors.joining(", "))
                + (begun.size() > MOST_NAMED ? " and " + (begun.size() - MOST_NAMED) + " more" : "")
                + " perhaps in part, the others are as they were (" + cause.getMessage()
                + "). Load an intact file before these tensors are used", cause);
        this.loaded = List.copyOf(loaded);
    }

    /// {@return the names of the tensors that are loaded, in the order in which they were}
    public List<String> loaded() {
        return loaded;
    }
}
