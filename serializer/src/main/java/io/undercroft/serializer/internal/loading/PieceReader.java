package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.DecodedPiece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.LargeFiles;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Reads pieces of files into memory.
///
/// The memory is not touched before: the system allocates a huge page, zeroes it and fills it while it is in the cache.
/// So zeros that are in no file take no memory.
public final class PieceReader {
    /// A copy of fewer bytes has memory of its own: the first bytes of a block for many storages take as long as a
    /// whole huge page.
    private static final long OF_ITS_OWN = 2L << 20;
    /// The number of bytes that one thread reads at once: one huge page or a few.
    private static final long SHARE = 4L << 20;
    /// The number of bytes that are read before their checksums are computed: they are still in the second-level cache.
    private static final long CACHED = 1L << 17;

    /// The least number of bytes that are read from a store into the memory of a storage directly, and the number of
    /// those that are read past the page cache at once.
    private static final long ONCE = 1L << 20;

    private final MappedFile file;
    private final OpenOptions options;
    private @Nullable Allocator memory;
    private boolean isLarge;

    /// A part of a piece, or all of one that is decoded.
    ///
    /// @param offset the offset of the bytes in the piece
    /// @param start the offset of the bytes in the storage
    private record Share(Piece piece, long offset, MemorySegment into, long start) {
        void read(CheckedInput sums, boolean isLarge) throws IOException {
            switch (piece) {
                case FilePiece run -> read(run.file(), run.offset() + offset, sums, isLarge);
                case DecodedPiece decoded -> {
                    decoded.read(offset, into);
                    sums.add(start, into);
                }
                case ZeroPiece _ -> {
                    // New memory is zeroed.
                }
            }
        }

        private void read(MappedFile file, long offset, CheckedInput sums, boolean isLarge) throws IOException {
            if (isReadOnce(file, into.byteSize())) {
                file.readOnce(offset, into);
                sums.add(start, into);
                return;
            }
            long step = isLarge ? ONCE : sums.hasChecksums() ? CACHED : into.byteSize();
            for (long at = 0; at < into.byteSize(); at += step) {
                MemorySegment part = into.asSlice(at, Math.min(step, into.byteSize() - at));
                if (isLarge) {
                    file.readOnce(offset + at, part);
                } else {
                    file.read(offset + at, part);
                }
                sums.add(start + at, part);
            }
        }
    }

    /// Creates a reader for the storages of a file.
    ///
    /// @param file the file
    /// @param options the options for opening
    public PieceReader(MappedFile file, OpenOptions options) {
        this.file = file;
        this.options = options;
    }

    MappedFile file() {
        return file;
    }

    OpenOptions options() {
        return options;
    }

    /// Reads pieces, one after the other, into one run of memory, and computes their checksums while they are in the
    /// cache. Large ones are read by several threads.
    ///
    /// @param input the pieces to read, of this and other files; receives the checksums
    /// @return the bytes, which do not depend on the files; read-only if the file is opened so
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not enough memory; the message has the kind and amount
    public Allocation read(CheckedInput input) {
        Allocator allocator = memory();
        return DeviceSource.withAccess(options, copy(input, allocator, nbytes(input.pieces()), isLarge));
    }

    /// Reads pieces as [#read], for a copy that is the caller's own.
    ///
    /// @param input the pieces to read, of this and other files; receives the checksums
    /// @return the bytes, which can be written to however the file is opened
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not enough memory; the message has the kind and amount
    public Allocation copy(CheckedInput input) {
        long nbytes = nbytes(input.pieces());
        return copy(input, nbytes < OF_ITS_OWN ? single() : memory(), nbytes, false);
    }

    private static long nbytes(List<Piece> pieces) {
        return pieces.stream().mapToLong(Piece::length).reduce(0, Math::addExact);
    }

    private Allocator single() {
        return options.memory().orElseGet(AnonymousMemory::allocator);
    }

    private Allocation copy(CheckedInput input, Allocator allocator, long nbytes, boolean isLarge) {
        Allocation made = allocate(allocator, nbytes);
        try {
            read(input, made.segment(), isLarge);
            return made;
        } catch (IOException e) {
            made.free();
            throw new UncheckedIOException(e);
        } catch (Throwable e) {
            made.free();
            throw e;
        }
    }

    private synchronized Allocator memory() {
        if (memory == null) {
            memory = options.memory().isPresent() ? options.memory().get() : new SlabAllocator(file.size());
            isLarge = LargeFiles.isLarge(file.size());
        }
        return memory;
    }

    private Allocation allocate(Allocator allocator, long nbytes) {
        try {
            return allocator.allocate(nbytes);
        } catch (OutOfMemoryError e) {
            OutOfMemoryError told = new OutOfMemoryError(file.location() + ": a storage of " + nbytes
                    + " bytes cannot be read into memory (" + e.getMessage()
                    + "); open the file without OpenOptions.inMemory to map it, or choose fewer tensors with "
                    + "OpenOptions.only");
            told.initCause(e);
            throw told;
        }
    }

    private static void read(CheckedInput input, MemorySegment into, boolean isLarge) throws IOException {
        List<Piece> joined = joined(input.pieces());
        MappedFile.fetch(joined.stream()
                .filter(piece -> !(piece instanceof FilePiece run && isReadOnce(run.file(), run.length()))).toList());
        List<Share> shares = new ArrayList<>();
        long at = 0;
        for (Piece piece : joined) {
            switch (piece) {
                case FilePiece run when !isReadOnce(run.file(), run.length()) ->
                    share(run, into.asSlice(at, run.length()), at, shares);
                default -> shares.add(new Share(piece, 0, into.asSlice(at, piece.length()), at));
            }
            at += piece.length();
        }
        Workers.share(shares, share -> share.read(input, isLarge));
    }

    /// Returns whether bytes of an object of a store are too many for a copy on this host.
    private static boolean isReadOnce(MappedFile file, long length) {
        return length >= ONCE && file.source().isPresent();
    }

    /// {@return whether all runs of an object of a store are read into the memory of a storage directly}
    ///
    /// @param runs the runs that a storage consists of, in their order
    static boolean areReadOnce(List<FilePiece> runs) {
        return joined(runs).stream()
                .allMatch(piece -> piece instanceof FilePiece run && isReadOnce(run.file(), run.length()));
    }

    /// Joins pieces that are adjacent in an object of a store, which are one request then. What has been fetched stays
    /// apart from what has not.
    private static List<Piece> joined(List<? extends Piece> pieces) {
        List<Piece> joined = new ArrayList<>();
        for (Piece piece : pieces) {
            if (piece instanceof FilePiece next && !joined.isEmpty() && joined.getLast() instanceof FilePiece run
                    && run.file() == next.file() && run.offset() + run.length() == next.offset()
                    && run.file().source().isPresent() && isFetched(run) == isFetched(next)) {
                joined.set(joined.size() - 1, run.file().piece(run.offset(), run.length() + next.length()));
            } else {
                joined.add(piece);
            }
        }
        return joined;
    }

    private static boolean isFetched(FilePiece run) {
        return run.file().isFetched(run.offset(), run.length());
    }

    private static void share(FilePiece run, MemorySegment into, long start, List<Share> shares) {
        for (long at = 0; at < run.length(); at += SHARE) {
            shares.add(new Share(run, at,
                    into.asSlice(at, Math.min(SHARE, run.length() - at)), start + at));
        }
    }
}
