package io.undercroft.mmap;

/// The lifetime of a name of shared memory. Processes that are attached when the name is removed keep the bytes.
public enum NameLifetime {
    /// Until [SharedMemory#unlink] is called or the host restarts, regardless of holders.
    UNTIL_UNLINKED,
    /// Until the process that created the segment releases it or ends.
    WITH_CREATOR,
    /// Until the last holder in any process releases it or is found to have ended.
    WITH_LAST_HOLDER
}
