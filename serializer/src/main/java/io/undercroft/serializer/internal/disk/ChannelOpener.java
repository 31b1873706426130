package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/// Opens the channels of a [Disk] to its files. A file that is written past the page cache has two.
@FunctionalInterface
public interface ChannelOpener {
    /// Opens a file for reading and writing.
    ///
    /// @param path its name
    /// @param options the other options
    /// @return the channel
    /// @throws IOException if it cannot be opened
    FileChannel open(Path path, OpenOption... options) throws IOException;
}
