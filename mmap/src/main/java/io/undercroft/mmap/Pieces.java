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
        long length = 0;
        for (Piece piece : pieces) {
            length = Math.addExact(length, piece.length());
        }
        return length;
    }

    /// {@return for each file that has a byte in them, where in it the furthest one ends}
    ///
    /// @throws ArithmeticException if that does not fit a `long`
    static Map<MappedFile, Long> ends(List<Piece> pieces) {
        Map<MappedFile, Long> ends = new LinkedHashMap<>();
        for (Piece piece : pieces) {
            if (piece instanceof FilePiece run && run.length() > 0) {
                long end = Math.addExact(run.offset(), run.length());
                ends.put(run.file(), Math.max(end, ends.getOrDefault(run.file(), 0L)));
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
        return piece instanceof FilePiece run
                ? new FileRun(run.file().host(), run.offset(), run.length())
                : new ZeroRun(piece.length());
    }
}
