package io.undercroft.mmap.internal;

/// The use of a segment by this process, until it is released.
public interface Hold {
    /// Releases the segment, and removes its name if the lifetime of the name has ended. Does nothing the
    /// second time. Throws nothing: if it cannot be done now, that is logged, and it is done when this process next
    /// uses shared memory, or by another process after this one has ended.
    void release();
}
