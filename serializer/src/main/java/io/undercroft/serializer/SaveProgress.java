package io.undercroft.serializer;

/// A listener for the progress of writing a state: [SaveOptions#progress(SaveProgress)].
@FunctionalInterface
public interface SaveProgress {
    /// Bytes have been processed: written, found to exist already, or found to be zeros. The first call is with 0, the
    /// last one with all of them; the number never decreases. The file is synced and renamed after the last call, which
    /// takes as long as the disk needs.
    ///
    /// It is called by the threads that write, by never two at once, and delays them. An exception that it throws ends
    /// the save, which throws it to its caller and leaves nothing behind. A save can be cancelled in this way.
    ///
    /// It must not call `System.exit` during a save in the background, nor wait for that save: the JVM does not end
    /// before [the save][PendingSave] has, and the save would wait for the call that waits for it. Throw, and exit
    /// elsewhere.
    ///
    /// @param done how many bytes of storages
    /// @param total how many bytes all storages have
    void written(long done, long total);
}
