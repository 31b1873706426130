package io.undercroft.mmap.internal;

import io.undercroft.mmap.SharedMemoryException.Reason;
import java.io.IOException;

/// The registry, or a segment of another user, cannot be used. The message is one line: which, why, and what to do.
public final class RegistryException extends IOException {
    private static final long serialVersionUID = 1L;

    private final Reason reason;

    RegistryException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    /// A failure of the registry itself.
    RegistryException(String message) {
        this(Reason.REGISTRY, message);
    }

    /// {@return why}
    public Reason reason() {
        return reason;
    }
}
