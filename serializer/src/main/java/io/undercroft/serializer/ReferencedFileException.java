package io.undercroft.serializer;

import java.nio.file.FileSystemException;

/// Thrown if a file that would be replaced has bytes of another file: it is a base, an adopted file, or a file of a
/// set. Nothing was changed. Write to another name, or set [SaveOptions#replacingReferenced] if the other file is not
/// needed any more.
///
/// The files that this process has open, and those that the state was opened from, are checked, with their bases. No
/// other files are searched for.
public final class ReferencedFileException extends FileSystemException {
    private static final long serialVersionUID = 1;

    /// Creates an exception.
    ///
    /// @param file the file that is not replaced
    /// @param referrer a file that has bytes in it
    public ReferencedFileException(String file, String referrer) {
        super(file, referrer, "bytes of " + referrer + " are stored in it, and would be lost. Write to another name");
    }

    /// {@return a file that has bytes in the file that is not replaced}
    public String referrer() {
        return getOtherFile();
    }
}
