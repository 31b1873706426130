package io.undercroft.serializer;

/// A listener for the progress of writing a state: [SaveOptions#progress(SaveProgress)].
@FunctionalInterface
public interface SaveProgress {
    /// Called after bytes were processed: written, found to exist already, or found to be zeros. The first call has 0
    /// bytes, the last one all bytes; the number never decreases. The file is synced and renamed after the last call.
    ///
    /// The threads that write call this method, one at a time, and wait for it. An exception cancels the save, which
    /// throws it to its caller and leaves no file.
    ///
    /// During a save in the background, the listener must neither call `System.exit` nor wait for the
    /// [save][PendingSave]: the JVM waits for the save, and the save for the listener.
    ///
    /// @param done the number of bytes of storages that were processed
    /// @param total the number of bytes of all storages
    void written(long done, long total);
}
