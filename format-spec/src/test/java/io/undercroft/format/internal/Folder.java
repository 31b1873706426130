package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/// Bases that are in a folder, by their path hints.
///
/// @param root the folder
record Folder(Path root) implements BaseFiles {
    @Override
    public Optional<ByteSource> open(BaseRecord base) throws IOException {
        return Optional.of(source(base.path(), Rule.V18_BASE));
    }

    /// {@return the bytes of a file of the folder}
    ByteSource source(String path, Rule missing) throws IOException {
        try {
            return ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(root.resolve(path))));
        } catch (NoSuchFileException e) {
            throw missing.broken("the file " + FormatException.quote(path) + " is not there", FormatException.NO_OFFSET,
                    e);
        }
    }
}
