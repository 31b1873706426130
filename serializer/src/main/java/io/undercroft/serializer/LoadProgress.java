package io.undercroft.serializer;

/// Reports how far the loading or verification of a checkpoint has come: [OpenOptions#progress(LoadProgress)].
@FunctionalInterface
public interface LoadProgress {
    /// Bytes have been read. The first call is with 0, the last one with all of them; the number never decreases.
    ///
    /// It is called by the threads that read, by never two at once, and delays them. An exception that it throws ends
    /// the loading or verification, which throws it.
    ///
    /// @param done the number of bytes read so far
    /// @param total the size in bytes of all storages that are loaded, or the approximate number of bytes that are
    ///     verified
    void loaded(long done, long total);
}
