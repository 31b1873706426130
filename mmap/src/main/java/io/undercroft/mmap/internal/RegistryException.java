package io.undercroft.mmap.internal;

import java.io.IOException;

/// The registry cannot be used. The message is one line: which directory, why, and what to do.
public final class RegistryException extends IOException {
    private static final long serialVersionUID = 1L;

    RegistryException(String message) {
        super(message);
    }
}
