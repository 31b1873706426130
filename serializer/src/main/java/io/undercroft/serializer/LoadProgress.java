package io.undercroft.serializer;

/// Reports how far the loading of a checkpoint has come: [OpenOptions#progress(LoadProgress)].
@FunctionalInterface
public interface LoadProgress {
    /// Bytes have been read. The first call says that there are none yet, the last one that it was all of them; what is
    /// done never becomes less.
    ///
    /// It is called by the threads that read, by never two at once, and delays them. An exception that it throws ends
    /// the loading, and [Checkpoint#open(java.nio.file.Path, OpenOptions)] throws it.
    ///
    /// @param done how many bytes of storages
    /// @param total how many bytes all storages have that are loaded
    void loaded(long done, long total);
}
