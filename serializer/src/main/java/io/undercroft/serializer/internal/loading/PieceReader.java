package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.spi.OpenRequest;
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
    /// The number of bytes that one thread reads at once: one huge page or a few.
    private static final long SHARE = 4L << 20;

    private final MappedFile file;
    private final OpenRequest request;
    private @Nullable Allocator memory;

    private record Share(MappedFile file, long offset, MemorySegment into) {
        void read() throws IOException {
            file.read(offset, into);
        }
    }

    /// Creates a reader for the storages of a file.
    ///
    /// @param file the file
    /// @param request the options for opening
    public PieceReader(MappedFile file, OpenRequest request) {
        this.file = file;
        this.request = request;
    }

    /// Reads pieces, one after the other, into one run of memory. Large ones are read by several threads.
    ///
    /// @param pieces the pieces to read, of this and other files
    /// @return the bytes, which do not depend on the files; read-only if the file is opened so
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not enough memory; the message has the kind and amount
    public Allocation read(List<Piece> pieces) {
        return DeviceSource.withAccess(request, copy(pieces));
    }

    /// Reads pieces as [#read], for a copy that is the caller's own.
    ///
    /// @param pieces the pieces to read, of this and other files
    /// @return the bytes, which can be written to however the file is opened
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not enough memory; the message has the kind and amount
    public Allocation copy(List<Piece> pieces) {
        Allocation made = allocate(pieces.stream().mapToLong(Piece::length).reduce(0, Math::addExact));
        try {
            read(pieces, made.segment());
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
            memory = request.memory().isPresent() ? request.memory().get() : new SlabAllocator(file.size());
        }
        return memory;
    }

    private Allocation allocate(long nbytes) {
        try {
            return memory().allocate(nbytes);
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
                    // New memory is zeroed.
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
}
