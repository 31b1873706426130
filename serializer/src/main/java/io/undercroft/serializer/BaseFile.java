package io.undercroft.serializer;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/// Another file that holds bytes of a `.croft` file, and whether it was found: [Checkpoint#bases].
///
/// @param kind what it is
/// @param path its path below the [root][OpenOptions#root], as the file records it
/// @param uuid the id of a `.croft` base; nothing for an adopted file
/// @param nbytes the size of an adopted file in bytes; nothing for a `.croft` base, which may have grown
/// @param file where it was found; nothing if it was not, or if it is in a store as the file that names it is
/// @param problem why it was not found, or is not the file that is meant; nothing if it was found
public record BaseFile(Kind kind, String path, Optional<UUID> uuid, OptionalLong nbytes, Optional<Path> file,
        Optional<String> problem) {
    /// What a base is.
    public enum Kind {
        /// A `.croft` file, which has an id.
        CROFT,
        /// A file of another format, which is known by its path and its size.
        ADOPTED
    }

    /// {@return whether it was found}
    public boolean isFound() {
        return problem.isEmpty();
    }
}
