package io.undercroft.serializer;

/// A listener for the progress of a save, a load or a verification: [SaveOptions#progress(ProgressListener)],
/// [OpenOptions#progress(ProgressListener)].
@FunctionalInterface
public interface ProgressListener {
    /// Reports progress. The first call has 0 bytes, the last one all bytes; the number never decreases. Bytes that a
    /// save finds to be stored already, or to be zeros, count too. A save syncs and renames its file after the last
    /// call.
    ///
    /// The threads that read or write call this method, one at a time, and wait for it. An exception cancels the
    /// operation, which throws it to its caller; a save leaves no file then.
    ///
    /// During a save in the background, the listener must neither call `System.exit` nor wait for the
    /// [save][PendingSave]: the JVM waits for the save, and the save for the listener.
    ///
    /// @param done the number of bytes processed so far
    /// @param total the size in bytes of all storages that are saved or loaded, or the approximate number of bytes that
    ///     are verified
    void onProgress(long done, long total);
}
