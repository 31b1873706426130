package io.undercroft.serializer;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/// Another file that has bytes of a `.croft` file, and whether it was found. See [Checkpoint#bases].
///
/// @param kind the kind of the file
/// @param path its path below the [root][OpenOptions#root], as the file records it
/// @param uuid the id of a `.croft` base; empty for an adopted file
/// @param nbytes the size of an adopted file in bytes; empty for a `.croft` base, which may grow
/// @param file the file that was found; empty if none was, or if it is in the store of the file that names it
/// @param problem the reason why it was not found, or is another file; empty if it was found
public record BaseFile(Kind kind, String path, Optional<UUID> uuid, OptionalLong nbytes, Optional<Path> file,
        Optional<String> problem) {
    /// The kind of a base.
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
