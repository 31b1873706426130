package io.undercroft.mmap;

import io.undercroft.mmap.internal.FileIdentity;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/// A file that is mapped and not open any more. It is looked at by its path, for as long as that still leads to it.
///
/// @param path its path
/// @param identity the identity of the file, if the system reports it
/// @param end how long it has to be, in bytes
record ClosedFile(Path path, Optional<FileIdentity> identity, long end) implements Backing {
    static ClosedFile of(Path path, long end) {
        return new ClosedFile(path, identity(path), end);
    }

    private static Optional<FileIdentity> identity(Path path) {
        try {
            return FileIdentity.of(path);
        } catch (IOException | UnsupportedOperationException _) {
            return Optional.empty();
        }
    }

    @Override
    public void checkNotCut() {
        long size;
        try {
            size = identity.isPresent() && identity.equals(FileIdentity.of(path)) ? Files.size(path) : end;
        } catch (IOException _) {
            // The path names another file or none: its current size cannot be queried.
            return;
        }
        if (size < end) {
            throw new TruncatedMappingException(path.toString(), end, size);
        }
    }
}
