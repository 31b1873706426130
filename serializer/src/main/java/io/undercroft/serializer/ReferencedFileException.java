package io.undercroft.serializer;

import java.nio.file.FileSystemException;
import java.nio.file.Path;

/// Thrown when a file would be replaced in which bytes of another file are stored: a base, an adopted file, or a file
/// of a set. Nothing was changed. Write to another name, or set
/// [SaveOptions#replacingReferenced] if the other file is not needed any more.
///
/// That is checked for the files that this process has open, and for those that the state was opened from, with their
/// bases. No other files are searched for.
public final class ReferencedFileException extends FileSystemException {
    private static final long serialVersionUID = 1;

    /// A file that is not replaced.
    ///
    /// @param file the file
    /// @param referrer a file that has bytes in it
    public ReferencedFileException(Path file, Path referrer) {
        super(file.toString(), referrer.toString(),
                "bytes of " + referrer + " are stored in it, and would be lost. Write to another name");
    }

    /// {@return a file that has bytes in the one that is not replaced}
    public Path referrer() {
        return Path.of(getOtherFile());
    }
}
