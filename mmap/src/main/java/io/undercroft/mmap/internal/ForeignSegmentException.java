package io.undercroft.mmap.internal;

import java.io.IOException;

/// A segment belongs to somebody whose bytes are not to be used without being asked for.
public final class ForeignSegmentException extends IOException {
    private static final long serialVersionUID = 1L;

    ForeignSegmentException(long owner, long user) {
        super("it belongs to user " + owner + ", and this is user " + user);
    }
}
