package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.internal.disk.Disk;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.OptionalLong;

/// Compares what is about to be written with the free space, before the first byte.
final class FreeSpace {
    private FreeSpace() {}

    /// Refuses what does not fit on the disk.
    ///
    /// @param nbytes how many bytes are written at least
    /// @param path the file, for messages
    /// @param directory where it goes
    /// @param disk where that is
    /// @throws FileSystemException if there are not so many free
    /// @throws IOException if the file system cannot be queried
    static void require(long nbytes, Path path, Path directory, Disk disk) throws IOException {
        OptionalLong free = disk.usableSpace(directory);
        if (free.isPresent() && nbytes > free.getAsLong()) {
            throw new FileSystemException(path.toString(), null,
                    "at least " + nbytes + " bytes would be written, and its file system has " + free.getAsLong()
                            + " free; free some space, or write to another file system. No file was made or changed");
        }
    }
}
