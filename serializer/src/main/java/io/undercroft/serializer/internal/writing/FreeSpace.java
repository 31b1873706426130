package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Target;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.OptionalLong;

/// Compares what is about to be written with the free space, before the first byte.
final class FreeSpace {
    private FreeSpace() {}

    /// Refuses what does not fit on the disk.
    ///
    /// @param nbytes how many bytes are written at least
    /// @param target the file
    /// @param disk where that is
    /// @throws FileSystemException if there are not so many free
    /// @throws IOException if the file system cannot be queried
    static void require(long nbytes, Target target, Disk disk) throws IOException {
        OptionalLong free = disk.usableSpace(target.directory());
        if (free.isPresent() && nbytes > free.getAsLong()) {
            throw new FileSystemException(target.path().toString(), null,
                    "at least " + nbytes + " bytes would be written, and its file system has " + free.getAsLong()
                            + " free; free some space, or write to another file system. No file was made or changed");
        }
    }
}
