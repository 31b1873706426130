package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.nio.file.Path;

/// Decides whether a file may be replaced. Called twice: before anything is written, and just before the new file is
/// renamed.
@FunctionalInterface
public interface Replacing {
    /// Allows every file to be replaced.
    Replacing ANY = _ -> {};

    /// Refuses a file that must stay.
    ///
    /// @param target the file, links followed; it need not be there
    /// @throws IOException if it must not be replaced
    void check(Path target) throws IOException;
}
