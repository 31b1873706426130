package io.undercroft.mmap;

/// Whose shared memory is attached by its name. Names are open to all users of a host, and whoever takes one first
/// decides what is found under it.
public enum TrustedOwner {
    /// That of the user of this process, and that of root.
    SELF_OR_ROOT,
    /// That of any user whose permissions allow it. What is attached can then be changed at any time by that user, and
    /// cut, which is an [InternalError] where it is read.
    ANYBODY
}
