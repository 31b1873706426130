package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.io.IOException;

/// Finds the files of a set. This package knows no files; who calls it says where they are.
@FunctionalInterface
public interface ShardFiles {
    /// Opens a file. Whether it is the one that was meant is for the caller to check.
    ///
    /// @param path where it is, relative to the folder of the manifest; it leads nowhere but down
    /// @return its bytes, good for as long as the snapshot that is made of them is used
    /// @throws FormatException by rule V21 if it is not there, or not below that folder
    /// @throws IOException if it cannot be opened for any other reason
    ByteSource open(String path) throws IOException;
}
