package io.undercroft.mmap;

/// How long a name of shared memory lasts. Whoever is attached when it goes keeps the bytes.
public enum NameLifetime {
    /// Until somebody calls [SharedMemory#unlink], whoever comes and goes. Forgotten, it stays until the host restarts.
    UNTIL_UNLINKED,
    /// Until the process that created it releases it, or is found dead.
    WITH_CREATOR,
    /// Until the last one who holds it, in whatever process, releases it or is found dead.
    WITH_LAST_HOLDER
}
