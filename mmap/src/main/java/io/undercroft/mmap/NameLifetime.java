package io.undercroft.mmap;

/// The lifetime of a name of shared memory. Processes that are attached when it is removed keep the bytes.
public enum NameLifetime {
    /// Until [SharedMemory#unlink] is called, regardless of holders. If it never is, until the host restarts.
    UNTIL_UNLINKED,
    /// Until the process that created it releases it, or is found dead.
    WITH_CREATOR,
    /// Until the last holder in any process releases it or is found to have ended.
    WITH_LAST_HOLDER
}
