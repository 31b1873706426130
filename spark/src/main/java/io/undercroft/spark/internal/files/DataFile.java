package io.undercroft.spark.internal.files;

import java.io.Serializable;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/// A file that was listed.
///
/// @param uri its URI, as Hadoop writes it: `file:/data/model.pt`
/// @param root the path that was given, or the directory below which it was found, as a URI
/// @param nbytes its size
/// @param modified when it was modified, in milliseconds since 1970
public record DataFile(URI uri, URI root, long nbytes, long modified) implements Serializable {
    /// {@return its path, if it is a file of the host}
    public Optional<Path> local() {
        return pathOf(uri);
    }

    /// {@return the path of a URI, if it is one of the host}
    ///
    /// @param uri the URI
    public static Optional<Path> pathOf(URI uri) {
        return uri.getScheme() == null || uri.getScheme().equals("file")
                ? Optional.of(Path.of(uri.getPath()))
                : Optional.empty();
    }

    /// {@return its path below the root, with `/` between the names; its name if it is the root}
    public String relative() {
        String below = root.relativize(uri).getPath();
        return below.isEmpty() ? name() : below;
    }

    /// {@return its name}
    public String name() {
        String path = uri.getPath();
        return path.substring(path.lastIndexOf('/') + 1);
    }

    @Override
    public String toString() {
        return uri.toString();
    }
}
