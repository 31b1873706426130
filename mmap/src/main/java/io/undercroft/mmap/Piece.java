package io.undercroft.mmap;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

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

    /// A run of bytes that are decoded from others when they are read. It can be read and not be mapped.
    non-sealed interface DecodedPiece extends Piece {
        /// {@return the runs of files that are read to decode the piece}
        List<FilePiece> runs();

        /// Reads bytes of the piece.
        ///
        /// @param start the first byte, counted from the start of the piece
        /// @param into the destination, which is filled
        /// @throws IOException if a file ends before, or reading fails
        void read(long start, MemorySegment into) throws IOException;
    }

    /// {@return the runs of files that pieces are read from, in their order}
    ///
    /// @param pieces the pieces
    static List<FilePiece> files(List<? extends Piece> pieces) {
        return pieces.stream().<FilePiece>mapMulti((piece, runs) -> {
            switch (piece) {
                case FilePiece run -> runs.accept(run);
                case ZeroPiece _ -> {
                    // In no file.
                }
                case DecodedPiece decoded -> decoded.runs().forEach(runs);
            }
        }).toList();
    }

    private static void requireNotNegative(String name, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("the " + name + " of a piece cannot be " + value);
        }
    }
}
