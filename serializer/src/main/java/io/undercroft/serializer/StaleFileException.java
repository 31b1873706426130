package io.undercroft.serializer;

import java.nio.file.FileSystemException;

/// Thrown by a [CroftFile] if another writer has committed to the file after its last operation, or has compacted,
/// replaced or deleted the file. Nothing was changed. After [CroftFile#newest] has returned the present newest
/// snapshot, a commit succeeds.
public final class StaleFileException extends FileSystemException {
    private static final long serialVersionUID = 1;

    /// Creates an exception.
    ///
    /// @param file the file
    /// @param what a description of the change
    public StaleFileException(String file, String what) {
        super(file, null, what + " since this writer saw its newest snapshot, and nothing was written. Take "
                + "CroftFile.newest() into account, or open the file again; then repeat this");
    }
}
