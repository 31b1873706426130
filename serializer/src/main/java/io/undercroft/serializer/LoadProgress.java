package io.undercroft.serializer;

/// A listener for the progress of loading or verifying a checkpoint: [OpenOptions#progress(LoadProgress)].
@FunctionalInterface
public interface LoadProgress {
    /// Called after bytes were read. The first call has 0 bytes, the last one all bytes; the number never decreases.
    ///
    /// The threads that read call this method, one at a time, and wait for it. An exception cancels the load or
    /// verification, which throws it to its caller.
    ///
    /// @param done the number of bytes read so far
    /// @param total the size in bytes of all storages that are loaded, or the approximate number of bytes that are
    ///     verified
    void loaded(long done, long total);
}
