package io.undercroft.serializer.internal;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.StreamSupport;

/// Paths that a file names, below a directory. A path whose form was checked stays below it, except for symbolic links.
public final class ConfinedPath {
    private ConfinedPath() {}

    /// {@return the file that a path means, without links, or nothing if links lead out of the directory, or the path
    /// means something else on this system than the names that it consists of: on Windows `a\b` is two}
    ///
    /// @param directory the directory, without links
    /// @param path relative, with `/` between its parts
    /// @throws IOException if there is no such file
    /// @throws java.nio.file.InvalidPathException if no file can have such a name on this system
    public static Optional<Path> resolve(Path directory, String path) throws IOException {
        Optional<Path> relative = relative(directory.getFileSystem(), path);
        Path real = directory.resolve(relative.orElse(directory)).toRealPath();
        return relative.isPresent() && real.startsWith(directory) ? Optional.of(real) : Optional.empty();
    }

    /// {@return a path, or nothing if it means something else on this system than the names that it consists of}
    ///
    /// @param system the file system
    /// @param path relative, with `/` between its parts
    /// @throws java.nio.file.InvalidPathException if no file can have such a name on this system
    public static Optional<Path> relative(FileSystem system, String path) {
        Path relative = system.getPath(path);
        return relative.getRoot() == null && names(relative).equals(List.of(path.split("/", -1)))
                ? Optional.of(relative)
                : Optional.empty();
    }

    /// {@return the form of a path below a directory in files, with `/` between its parts; or nothing if it is not
    /// below it}
    ///
    /// @param directory the directory, without links
    /// @param real the path, without links
    public static Optional<String> hint(Path directory, Path real) {
        return real.startsWith(directory)
                ? Optional.of(String.join("/", names(directory.relativize(real))))
                : Optional.empty();
    }

    private static List<String> names(Path relative) {
        return StreamSupport.stream(relative.spliterator(), false).map(Path::toString).toList();
    }

    /// {@return whether a path that had no links has none now} Between looking and opening it may have changed hands.
    ///
    /// @param real the path
    /// @throws IOException if there is no such file any more
    public static boolean isStill(Path real) throws IOException {
        return real.toRealPath().equals(real);
    }
}
