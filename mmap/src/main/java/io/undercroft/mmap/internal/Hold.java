package io.undercroft.mmap.internal;

/// What this process has of a segment as long as it uses it.
public interface Hold {
    /// Releases the segment, and takes the name of the segment away if it was to last no longer. Does nothing the
    /// second time. Throws nothing: what cannot be done now is logged, and done when this process next uses shared
    /// memory, or by another process after this one has ended.
    void release();
}
