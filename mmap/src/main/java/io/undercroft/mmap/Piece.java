package io.undercroft.mmap;

/// One part of a stitched mapping: see [MappedFile#map(java.util.List)].
public sealed interface Piece {
    /// {@return the size of the part, in bytes}
    long length();

    /// A run of bytes of a file.
    ///
    /// @param file which file; its mode does not matter, as that of the mapping does
    /// @param offset where it starts in the file, in bytes
    /// @param length its size, in bytes
    record FilePiece(MappedFile file, long offset, long length) implements Piece {
        /// Checks the numbers. Whether the file is that long is checked when it is mapped.
        ///
        /// @throws IllegalArgumentException if one is negative
        public FilePiece {
            requireNotNegative("offset", offset);
            requireNotNegative("length", length);
        }
    }

    /// A run of zeros that are in no file. They take memory only where they are written to.
    ///
    /// @param length its size, in bytes
    record ZeroPiece(long length) implements Piece {
        /// Checks the number.
        ///
        /// @throws IllegalArgumentException if it is negative
        public ZeroPiece {
            requireNotNegative("length", length);
        }
    }

    private static void requireNotNegative(String name, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("the " + name + " of a piece cannot be " + value);
        }
    }
}
