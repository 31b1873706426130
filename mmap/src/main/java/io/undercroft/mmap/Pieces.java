package io.undercroft.mmap;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// Sums over pieces.
final class Pieces {
    private Pieces() {}

    /// {@return the length of all pieces together, in bytes}
    ///
    /// @throws ArithmeticException if that is not to be held in a `long`
    static long length(List<Piece> pieces) {
        return pieces.stream().mapToLong(Piece::length).reduce(0, Math::addExact);
    }

    /// {@return where in the file the furthest byte ends}
    ///
    /// @throws ArithmeticException if that is not to be held in a `long`
    static long end(List<Piece> pieces) {
        long end = 0;
        for (Piece piece : pieces) {
            if (piece instanceof FilePiece(long offset, long length) && length > 0) {
                end = Math.max(end, Math.addExact(offset, length));
            }
        }
        return end;
    }

    /// {@return the same bytes in the fewest pieces, none of them empty}
    ///
    /// @param pieces whose sums are known to be exact
    static List<Piece> merge(List<Piece> pieces) {
        List<Piece> merged = new ArrayList<>();
        for (Piece piece : pieces) {
            Optional<Piece> both = merged.isEmpty() ? Optional.empty() : join(merged.getLast(), piece);
            if (both.isPresent()) {
                merged.set(merged.size() - 1, both.get());
            } else if (piece.length() > 0) {
                merged.add(piece);
            }
        }
        return merged;
    }

    private static Optional<Piece> join(Piece left, Piece right) {
        if (left instanceof ZeroPiece(long length) && right instanceof ZeroPiece(long more)) {
            return Optional.of(new ZeroPiece(length + more));
        }
        if (left instanceof FilePiece(long offset, long length) && right instanceof FilePiece(long next, long more)
                && offset + length == next) {
            return Optional.of(new FilePiece(offset, length + more));
        }
        return Optional.empty();
    }
}
