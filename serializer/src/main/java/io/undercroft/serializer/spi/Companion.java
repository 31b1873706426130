package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappedFile;
import java.nio.file.Path;
import java.util.Optional;

/// A file of a set, other than its index, as it was when the set was opened. It need not be open any more.
///
/// @param location its path, or the name of the object of a store, for messages
/// @param nbytes its size, in bytes
/// @param path its path; nothing in a store
public record Companion(String location, long nbytes, Optional<Path> path) {
    /// {@return an open file as one of a set}
    ///
    /// @param file the file
    public static Companion of(MappedFile file) {
        return new Companion(file.location(), file.size(),
                file.source().isPresent() ? Optional.empty() : Optional.of(file.path()));
    }
}
