package io.undercroft.serializer;

import java.nio.file.FileSystemException;

/// Thrown by a [CheckpointFile] that would continue from another snapshot than the one it saw last: another writer has
/// committed to the file meanwhile, or has compacted, replaced or deleted it. Nothing was changed.
/// [CheckpointFile#newest] shows the snapshot that is the newest now, and a commit after that succeeds.
public final class StaleFileException extends FileSystemException {
    private static final long serialVersionUID = 1;

    /// A file that was changed.
    ///
    /// @param file the file
    /// @param what what has happened to it
    public StaleFileException(String file, String what) {
        super(file, null, what + " since this writer saw its newest snapshot, and nothing was written. Take "
                + "CheckpointFile.newest() into account, or open the file again; then repeat this");
    }
}
