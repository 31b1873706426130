package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.util.Optional;

/// Finds the other files that a file references. This package opens no files itself; the caller provides them.
@FunctionalInterface
public interface BaseFiles {
    /// {@return an instance that finds no file, so that no base is read}
    static BaseFiles none() {
        return base -> Optional.empty();
    }

    /// Looks for a base. The caller has to check whether it is the right file.
    ///
    /// @param base its record in a snapshot, which was checked
    /// @return its bytes, usable until the call for which it was opened returns; empty if its bytes need not be read
    /// @throws FormatException by rule V18 if it should be there, and is not, or not below the root
    /// @throws IOException if it cannot be opened for any other reason
    Optional<ByteSource> open(BaseRecord base) throws IOException;
}
