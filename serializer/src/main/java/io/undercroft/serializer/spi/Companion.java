package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappedFile;
import java.nio.file.Path;
import java.util.Optional;

/// A file of a set, other than its index, at the time when the set was opened.
///
/// @param location the path, or the name of the object in a store, for messages
/// @param nbytes the size in bytes
/// @param path the path; empty for a file in a store
public record Companion(String location, long nbytes, Optional<Path> path) {
    /// {@return the companion for an open file}
    ///
    /// @param file the file
    public static Companion of(MappedFile file) {
        return new Companion(file.location(), file.size(),
                file.source().isPresent() ? Optional.empty() : Optional.of(file.path()));
    }
}
