package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Reads pieces of files into memory.
///
/// The memory is not touched before: the system gives a huge page, zeroes it and fills it while it is in the cache. So
/// zeros that are in no file take no memory at all.
public final class PieceReader {
    /// What one thread reads at once: a huge page or a few.
    private static final long SHARE = 4L << 20;

    private PieceReader() {}

    private record Share(MappedFile file, long offset, MemorySegment into) {
        void read() throws IOException {
            file.read(offset, into);
        }
    }

    /// Reads pieces one after the other.
    ///
    /// @param file on whose behalf, for messages
    /// @param pieces what to read
    /// @param memory where to; its memory is zeroed
    /// @param mode whether the result may be written to
    /// @return the bytes
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not that much memory
    public static Allocation read(MappedFile file, List<Piece> pieces, Allocator memory, MapMode mode) {
        Allocation made = allocate(file, pieces.stream().mapToLong(Piece::length).reduce(0, Math::addExact), memory);
        try {
            read(pieces, made.segment());
            return mode == MapMode.READ_ONLY ? readOnly(made) : made;
        } catch (IOException e) {
            made.free();
            throw new UncheckedIOException(e);
        } catch (Throwable e) {
            made.free();
            throw e;
        }
    }

    private static Allocation allocate(MappedFile file, long nbytes, Allocator memory) {
        try {
            return memory.allocate(nbytes);
        } catch (OutOfMemoryError e) {
            OutOfMemoryError told = new OutOfMemoryError(file.path() + ": a storage of " + nbytes
                    + " bytes cannot be read into memory (" + e.getMessage()
                    + "); open the file without OpenOptions.inMemory to map it, or choose fewer tensors with "
                    + "OpenOptions.only");
            told.initCause(e);
            throw told;
        }
    }

    private static void read(List<Piece> pieces, MemorySegment into) throws IOException {
        List<Share> shares = new ArrayList<>();
        long at = 0;
        for (Piece piece : pieces) {
            switch (piece) {
                case FilePiece run -> share(run, into.asSlice(at, run.length()), shares);
                case ZeroPiece _ -> {
                    // As fresh memory is.
                }
            }
            at += piece.length();
        }
        Workers.share(shares, Share::read);
    }

    private static void share(FilePiece run, MemorySegment into, List<Share> shares) {
        for (long at = 0; at < run.length(); at += SHARE) {
            shares.add(new Share(run.file(), run.offset() + at,
                    into.asSlice(at, Math.min(SHARE, run.length() - at))));
        }
    }

    private static Allocation readOnly(Allocation made) {
        return new Allocation(made.segment().asReadOnly(), made.sharing(), made.filename().orElse(null), made::free);
    }
}
