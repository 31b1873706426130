package io.undercroft.mmap;

/// The owners whose shared memory may be attached by name. All users of a host share the names, and the first to use
/// one decides what it refers to.
public enum TrustedOwner {
    /// That of the user of this process, and that of root.
    SELF_OR_ROOT,
    /// That of any user whose permissions allow it. What is attached can then be changed at any time by that user, and
    /// cut, which is an [InternalError] where it is read.
    ANYBODY
}
