package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Checksums;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.DecodedPiece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.serializer.internal.loading.IncrementalChecksum.Kind;
import io.undercroft.storage.spi.DeviceMemory.HostReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The bytes of a storage, in pieces of files that follow each other, and the checksums of runs of them. The bytes are
/// read once, in parts, in any order and from several threads, and their checksums are computed on the way.
public final class CheckedInput implements HostReader {
    private final List<Piece> pieces;
    /// The start of each piece.
    private final long[] starts;
    private final List<IncrementalChecksum> runs;
    private final boolean isMapped;

    /// Bytes of which nothing was read.
    ///
    /// @param pieces one after the other
    /// @param runs the runs of which there are checksums, in order
    /// @param isMapped whether the memory that they are read to may be that of a mapped file, which may be truncated
    public CheckedInput(List<Piece> pieces, List<IncrementalChecksum> runs, boolean isMapped) {
        List<Piece> some = new ArrayList<>(pieces);
        some.removeIf(piece -> piece.length() == 0);
        this.pieces = List.copyOf(some);
        this.starts = new long[this.pieces.size()];
        long start = 0;
        for (int i = 0; i < starts.length; i++) {
            starts[i] = start;
            start += this.pieces.get(i).length();
        }
        this.runs = runs;
        this.isMapped = isMapped;
    }

    /// {@return the pieces that have bytes}
    List<Piece> pieces() {
        return pieces;
    }

    /// {@return whether all bytes are zeros that are in no file}
    boolean isZero() {
        return pieces.stream().allMatch(ZeroPiece.class::isInstance);
    }

    /// {@return the first run of a file, for the order in which to read; null if there is none}
    @Nullable
    FilePiece first() {
        List<FilePiece> runs = Piece.files(pieces);
        return runs.isEmpty() ? null : runs.getFirst();
    }

    /// {@return whether there are checksums}
    boolean hasChecksums() {
        return !runs.isEmpty();
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
        add(offset, into);
    }

    private static void read(Piece piece, long start, MemorySegment into) {
        switch (piece) {
            case FilePiece(MappedFile file, long offset, long _) -> read(file, offset + start, into);
            case ZeroPiece _ -> into.fill((byte) 0);
            case DecodedPiece decoded -> {
                try {
                    decoded.read(start, into);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
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

    /// Adds the checksums of some bytes.
    ///
    /// @param offset the first of the bytes, counted from the start of the storage
    /// @param bytes the bytes; none arrives twice
    void add(long offset, MemorySegment bytes) {
        long end = offset + bytes.byteSize();
        int first = BinarySearch.first(runs.size(), number -> runs.get(number).end() > offset);
        for (int i = first; i < runs.size() && runs.get(i).start() < end; i++) {
            IncrementalChecksum run = runs.get(i);
            if (isMapped && run.kind() == Kind.CRC32C) {
                run.add(offset, bytes, Checksums::crc32c);
            } else {
                run.add(offset, bytes);
            }
        }
    }

    /// {@return the numbers of the runs that did not arrive as a whole with the expected checksum, in order}
    public List<Integer> damaged() {
        List<Integer> damaged = new ArrayList<>();
        for (int i = 0; i < runs.size(); i++) {
            if (!runs.get(i).matches()) {
                damaged.add(i);
            }
        }
        return damaged;
    }
}
