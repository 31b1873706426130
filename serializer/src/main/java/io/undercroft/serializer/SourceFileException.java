package io.undercroft.serializer;

import java.nio.file.FileSystemException;

/// Thrown if a state would replace the file that it was opened from, or the index of the set that it was opened from.
/// Nothing was changed. Write to another name, or set [SaveOptions#replacingSource].
public final class SourceFileException extends FileSystemException {
    private static final long serialVersionUID = 1;

    /// Creates an exception.
    ///
    /// @param file the file, as the caller named it
    public SourceFileException(String file) {
        super(file, null, "what is saved was opened from this file, which would be replaced. Write to another name, or "
                + "allow that with SaveOptions.replacingSource");
    }
}
