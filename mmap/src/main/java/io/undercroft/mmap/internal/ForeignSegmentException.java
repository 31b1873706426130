package io.undercroft.mmap.internal;

import java.io.IOException;

/// Thrown for a segment of another user that the caller did not agree to trust.
public final class ForeignSegmentException extends IOException {
    private static final long serialVersionUID = 1L;

    ForeignSegmentException(long owner, long user) {
        super("it belongs to user " + owner + ", and this is user " + user);
    }
}
