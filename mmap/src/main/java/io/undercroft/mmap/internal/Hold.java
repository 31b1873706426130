package io.undercroft.mmap.internal;

/// What this process has of a segment as long as it uses it.
public interface Hold {
    /// Releases the segment, and takes the name of the segment away if it was to last no longer. Does nothing the
    /// second time. Throws nothing: what cannot be done now is logged, and done as soon as this process has to do with
    /// shared memory again, or left to those who find it dead.
    void release();
}
