package io.undercroft.serializer;

/// Is told how far writing a state has come: [SaveOptions#progress(SaveProgress)].
@FunctionalInterface
public interface SaveProgress {
    /// Bytes have been dealt with: written, found to be somewhere already, or found to be zeros. The first call says
    /// that there are none yet, the last one that it was all of them; what is done never becomes less. Making it
    /// durable and giving it its name come after the last call, and may take as long as a disk takes.
    ///
    /// It is called by the threads that write, by never two at once, and holds them up. An exception that it throws
    /// ends the save, which throws it to its caller and leaves nothing behind: so may a save be given up.
    ///
    /// It must not call `System.exit` during a save in the background, nor wait for that save: the JVM does not end
    /// before [the save][PendingSave] has, and the save would wait for the call that waits for it. Throw, and exit
    /// elsewhere.
    ///
    /// @param done how many bytes of storages
    /// @param total how many bytes all storages have
    void written(long done, long total);
}
