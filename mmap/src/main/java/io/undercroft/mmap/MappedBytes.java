package io.undercroft.mmap;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.internal.PageMap;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The files behind one allocation of a [MappedFile].
///
/// @param segment its bytes
/// @param pieces the pieces that it was made of, in order; empty if all of it was copied
/// @param isOneMapping whether it is a part of one mapping, so that none of it was copied
/// @param ends the length that each file has to have, in bytes
record MappedBytes(MemorySegment segment, List<Piece> pieces, boolean isOneMapping, Map<MappedFile, Long> ends)
        implements
            FileBacking {
    @Override
    public void checkNotCut() {
        ends.forEach(MappedFile::requireAtLeast);
    }

    @Override
    public Optional<FilePiece> source(long start, long end) {
        FilePiece run = null;
        long at = 0;
        for (Piece piece : pieces) {
            long from = Math.max(start, at);
            long to = Math.min(end, at + piece.length());
            if (from < to) {
                if (!(piece instanceof FilePiece(MappedFile file, long offset, long _))) {
                    return Optional.empty();
                }
                long first = offset + from - at;
                if (run != null && (run.file() != file || run.offset() + run.length() != first)) {
                    return Optional.empty();
                }
                run = run == null
                        ? new FilePiece(file, first, to - from)
                        : new FilePiece(file, run.offset(), run.length() + to - from);
            }
            at += piece.length();
        }
        return Optional.ofNullable(run);
    }

    /// Of stitched bytes some are copied, which are in pages of no file.
    @Override
    public boolean isUnwritten(long start, long end) {
        boolean neverDiffers = isOneMapping && ends.keySet().stream().noneMatch(file -> file.mode() == MapMode.PRIVATE);
        return neverDiffers || !PageMap.mayHaveCopies(segment.asSlice(start, end - start));
    }
}
