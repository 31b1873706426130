package io.undercroft.mmap;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.internal.ByteRun;
import io.undercroft.mmap.internal.ByteRun.FileRun;
import io.undercroft.mmap.internal.ByteRun.ZeroRun;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Sums over pieces.
final class Pieces {
    private Pieces() {}

    /// {@return the length of all pieces together, in bytes}
    ///
    /// @throws ArithmeticException if that does not fit a `long`
    static long length(List<Piece> pieces) {
        return pieces.stream().mapToLong(Piece::length).reduce(0, Math::addExact);
    }

    /// {@return for each file that has a byte in them, where in it the furthest one ends}
    ///
    /// @throws ArithmeticException if that does not fit a `long`
    static Map<MappedFile, Long> ends(List<Piece> pieces) {
        Map<MappedFile, Long> ends = new LinkedHashMap<>();
        for (Piece piece : pieces) {
            if (piece instanceof FilePiece(MappedFile file, long offset, long length) && length > 0) {
                ends.merge(file, Math.addExact(offset, length), Math::max);
            }
        }
        return ends;
    }

    /// {@return the same bytes in the fewest runs, none of them empty}
    ///
    /// @param pieces whose sums are known to be exact
    static List<ByteRun> merge(List<Piece> pieces) {
        List<ByteRun> merged = new ArrayList<>();
        for (Piece piece : pieces) {
            if (piece.length() > 0) {
                ByteRun run = run(piece);
                if (merged.isEmpty() || !run.continues(merged.getLast())) {
                    merged.add(run);
                } else {
                    merged.set(merged.size() - 1, merged.getLast().longer(run.length()));
                }
            }
        }
        return merged;
    }

    private static ByteRun run(Piece piece) {
        return piece instanceof FilePiece(MappedFile file, long offset, long length)
                ? new FileRun(file.host(), offset, length)
                : new ZeroRun(piece.length());
    }
}
