package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.spi.DeviceMemory.HostReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Any part of pieces of files that follow each other. Safe for use by several threads.
public final class PieceInput implements HostReader {
    private final List<Piece> pieces;
    /// The start of each piece.
    private final long[] starts;

    /// The bytes of pieces.
    ///
    /// @param pieces one after the other
    public PieceInput(List<Piece> pieces) {
        List<Piece> some = new ArrayList<>(pieces);
        some.removeIf(piece -> piece.length() == 0);
        this.pieces = List.copyOf(some);
        this.starts = new long[this.pieces.size()];
        long start = 0;
        for (int i = 0; i < starts.length; i++) {
            starts[i] = start;
            start += this.pieces.get(i).length();
        }
    }

    /// {@return whether all bytes are zeros that are in no file}
    boolean isZero() {
        return pieces.stream().noneMatch(FilePiece.class::isInstance);
    }

    /// {@return the first run of a file, for the order in which to read; null if there is none}
    @Nullable
    FilePiece first() {
        return pieces.stream().filter(FilePiece.class::isInstance).map(FilePiece.class::cast).findFirst().orElse(null);
    }

    @Override
    public void read(long offset, MemorySegment into) {
        long end = offset + into.byteSize();
        for (int i = indexOf(offset); i < starts.length && starts[i] < end; i++) {
            Piece piece = pieces.get(i);
            long from = Math.max(offset, starts[i]);
            long to = Math.min(end, starts[i] + piece.length());
            read(piece, from - starts[i], into.asSlice(from - offset, to - from));
        }
    }

    private static void read(Piece piece, long start, MemorySegment into) {
        switch (piece) {
            case FilePiece(MappedFile file, long offset, long _) -> read(file, offset + start, into);
            case Piece.ZeroPiece _ -> into.fill((byte) 0);
        }
    }

    private static void read(MappedFile file, long offset, MemorySegment into) {
        try {
            file.read(offset, into);
        } catch (IOException e) {
            file.requireAtLeast(offset + into.byteSize());
            throw new UncheckedIOException(e);
        }
    }

    /// {@return the number of the piece that has a byte}
    private int indexOf(long offset) {
        int found = Arrays.binarySearch(starts, offset);
        return found >= 0 ? found : -found - 2;
    }
}
