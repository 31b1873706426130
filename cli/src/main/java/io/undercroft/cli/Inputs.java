package io.undercroft.cli;

import io.undercroft.cli.internal.StandardInput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/// Opens input files: local files, files in a store with a URI such as `https://host/model.safetensors`, and standard
/// input with the name `-`. All are given as a [Path], which has one slash after the scheme of a URI.
final class Inputs {
    private static final Pattern URI_AS_PATH = Pattern.compile("([a-z][a-z0-9+.-]+):/(?=[^/])");

    private Inputs() {}

    /// {@return whether a file is named by a URI}
    static boolean isUri(Path file) {
        return URI_AS_PATH.matcher(file.toString()).lookingAt() && Files.notExists(file);
    }

    /// {@return a file as the user named it}
    static String shown(Path file) {
        return StandardInput.isMeant(file)
                ? StandardInput.NAME
                : isUri(file) ? URI_AS_PATH.matcher(file.toString()).replaceFirst("$1://") : file.toString();
    }

    /// Opens a file.
    ///
    /// @throws IllegalArgumentException if it is named by an invalid URI
    static Checkpoint open(Path file, OpenOptions options) throws IOException {
        if (StandardInput.isMeant(file)) {
            return StandardInput.open(options);
        }
        return isUri(file) ? Checkpoint.open(uri(file), options) : Checkpoint.open(file, options);
    }

    /// {@return the URI by which the user named a file}
    ///
    /// @throws IllegalArgumentException if it is invalid
    static URI uri(Path file) {
        try {
            return new URI(shown(file));
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("the URI is not valid: " + e.getReason()
                    + "; write a space as %20, and quote ? and & for the shell", e);
        }
    }

    /// {@return the path of an open file, its URI as a path, or `-`}
    ///
    /// @param checkpoint the open file
    /// @param given how the user named it
    static Path path(Checkpoint checkpoint, Path given) {
        return isUri(given) || StandardInput.isMeant(given) ? given : checkpoint.path();
    }
}
