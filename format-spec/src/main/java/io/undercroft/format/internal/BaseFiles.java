package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.util.Optional;

/// Finds the other files in which bytes of a file are. This package knows no files; who calls it says where they are.
@FunctionalInterface
public interface BaseFiles {
    /// {@return nowhere: no base is read}
    static BaseFiles none() {
        return base -> Optional.empty();
    }

    /// Looks for a base. Whether it is the file that was meant is for the caller to check.
    ///
    /// @param base what a snapshot says of it, which was checked
    /// @return its bytes, good until all that was asked of them is done; nothing if its bytes are not to be looked at
    /// @throws FormatException by rule V18 if it should be there, and is not, or not below the root
    /// @throws IOException if it cannot be opened for any other reason
    Optional<ByteSource> open(BaseRecord base) throws IOException;
}
