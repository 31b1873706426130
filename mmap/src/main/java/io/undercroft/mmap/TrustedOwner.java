package io.undercroft.mmap;

/// The owners whose shared memory may be attached by name. All users of a host share the names, and any of them can
/// create a segment of a name.
public enum TrustedOwner {
    /// The user of this process, and root.
    SELF_OR_ROOT,
    /// Any user whose permissions allow it. That user can change what is attached at any time, and cut it, which is an
    /// [InternalError] where it is read.
    ANYBODY
}
