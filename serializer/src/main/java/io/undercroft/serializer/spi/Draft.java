package io.undercroft.serializer.spi;

import java.io.IOException;

/// A file of a format that has been planned and not been written. Used once, by one thread.
public interface Draft {
    /// {@return how many bytes the file is going to have, as near as is known before it is written}
    long nbytes();

    /// Writes the file from its first byte to its last.
    ///
    /// @param output where to
    /// @throws IOException if writing fails
    void writeTo(Output output) throws IOException;
}
