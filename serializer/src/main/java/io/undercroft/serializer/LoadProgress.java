package io.undercroft.serializer;

/// Reports how far the loading of a checkpoint has come: [OpenOptions#progress(LoadProgress)].
@FunctionalInterface
public interface LoadProgress {
    /// Bytes have been read. The first call is with 0, the last one with all of them; the number never decreases.
    ///
    /// It is called by the threads that read, by never two at once, and delays them. An exception that it throws ends
    /// the loading, and [Checkpoint#open(java.nio.file.Path, OpenOptions)] throws it.
    ///
    /// @param done how many bytes of storages
    /// @param total the size in bytes of all storages that are loaded
    void loaded(long done, long total);
}
