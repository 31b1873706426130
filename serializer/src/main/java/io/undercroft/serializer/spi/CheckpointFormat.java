package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;

/// A file format that holds tensors. Implementations are stateless and have a public constructor without parameters.
public interface CheckpointFormat {
    /// {@return the name that `croft inspect` shows, for instance `torch-zip`}
    String name();

    /// Tells whether a file is of this format, from a few reads; the file may be anything.
    ///
    /// @param file the file
    /// @return true if [#open] should be asked, also if the file is damaged or of a kind that open will refuse by name
    /// @throws IOException if reading fails
    boolean matches(MappedFile file) throws IOException;

    /// Reads what the file holds, leaving bulk data where it is.
    ///
    /// @param file the file; the contents keep using it and the caller closes it after them
    /// @param options how to map it
    /// @return the contents
    /// @throws IOException if reading fails
    /// @throws io.undercroft.format.FormatException if the file is malformed, hostile or of an unsupported kind
    Contents open(MappedFile file, OpenOptions options) throws IOException;
}
