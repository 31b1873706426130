package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.Layout;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// What one of the threads of a save works with: a block of memory, and a digester. Each chunk is looked at, copied and
/// summed up while its bytes are in the cache of the processor; one on a device is copied to the host once. Belongs to
/// one thread.
final class ChunkWorker implements AutoCloseable {
    private final MemorySegment block;
    private final ExtentDigester digester = new ExtentDigester();
    private final ContentIndex candidates;
    private final SaveOptions options;
    private @Nullable Allocation large;

    /// A lane.
    ///
    /// @param block its memory
    /// @param candidates where bytes are already
    /// @param options whether zeros are written
    ChunkWorker(MemorySegment block, ContentIndex candidates, SaveOptions options) {
        this.block = block;
        this.candidates = candidates;
        this.options = options;
    }

    /// {@return its memory}
    MemorySegment block() {
        return block;
    }

    /// Looks at the chunks of a batch, and copies those that may have to be written into the block, one after the other
    /// as they would lie in the file.
    ///
    /// @param batch the batch
    /// @return what was found, chunk by chunk
    /// @throws IOException if reading fails
    List<ChunkOutcome> look(Batch batch) throws IOException {
        List<ChunkOutcome> findings = new ArrayList<>(batch.chunks().size());
        long end = batch.start();
        for (Chunk chunk : batch.chunks()) {
            if (!chunk.isReached()) {
                findings.add(new ChunkOutcome.Unreached());
                continue;
            }
            long at = batch.fits() ? chunk.place(end) : 0;
            MemorySegment bytes = bytes(chunk, at, batch.fits());
            ChunkOutcome finding = lookInPlace(chunk, bytes);
            if (finding == null && batch.fits()) {
                finding = new ChunkOutcome.Copied(at, copy(chunk, bytes, block.asSlice(at, chunk.length())));
            } else if (finding == null) {
                finding = new ChunkOutcome.TooLarge(bytes);
            }
            boolean takesSpace = finding instanceof ChunkOutcome.Copied
                    || (chunk.isOnDevice() && finding instanceof ChunkOutcome.Unchanged);
            if (takesSpace) {
                end = at + chunk.length();
            }
            findings.add(finding);
        }
        return findings;
    }

    /// What is on a device comes where it is going to be copied to.
    private MemorySegment bytes(Chunk chunk, long at, boolean fits) {
        return chunk.bytes(!chunk.isOnDevice() || fits ? block.asSlice(at) : large(chunk.length()));
    }

    /// Memory for a chunk that is larger than the block.
    private MemorySegment large(long nbytes) {
        if (large != null && large.segment().byteSize() < nbytes) {
            close();
        }
        if (large == null) {
            large = AnonymousMemory.allocator().allocate(nbytes);
        }
        return large.segment();
    }

    @Override
    public void close() {
        if (large != null) {
            large.free();
            large = null;
        }
    }

    /// What can be said of a chunk without a sum over it; null if nothing can.
    private @Nullable ChunkOutcome lookInPlace(Chunk chunk, MemorySegment bytes) throws IOException {
        if (isLeftOut(chunk, bytes)) {
            chunk.check();
            return new ChunkOutcome.Zeros();
        }
        Extent.Stored before = chunk.before();
        if (before != null && before.place().offset() % chunk.alignment() == 0
                && candidates.isSame(bytes, before.place())) {
            return new ChunkOutcome.Unchanged(before, bytes);
        }
        return null;
    }

    private boolean isLeftOut(Chunk chunk, MemorySegment bytes) throws IOException {
        try {
            return !options.request().savesZeros() && chunk.storage().nbytes() >= Layout.SPARSE_BYTES
                    && RawBytes.areZero(bytes);
        } catch (InternalError e) {
            throw truncated(chunk, e);
        }
    }

    /// Copies bytes of a chunk and sums them up.
    ///
    /// @param chunk the chunk
    /// @param bytes its bytes
    /// @param into where to, as many bytes; those of a device are there already
    /// @return the sums over the copy
    /// @throws IOException if they cannot be read
    private ExtentSums copy(Chunk chunk, MemorySegment bytes, MemorySegment into) throws IOException {
        try {
            if (chunk.isOnDevice()) {
                digester.update(bytes);
            } else {
                digester.copy(bytes, into);
            }
            ExtentSums sums = digester.finish();
            chunk.check(sums);
            return sums;
        } catch (InternalError e) {
            throw truncated(chunk, e);
        }
    }

    /// {@return the sums over a chunk that is larger than the block}
    ///
    /// @param chunk the chunk
    /// @param bytes its bytes
    /// @throws IOException if it cannot be read
    ExtentSums sum(Chunk chunk, MemorySegment bytes) throws IOException {
        try {
            digester.update(bytes);
            ExtentSums sums = digester.finish();
            chunk.check(sums);
            return sums;
        } catch (InternalError e) {
            throw truncated(chunk, e);
        }
    }

    /// Takes a piece of a chunk.
    @FunctionalInterface
    interface Pieces {
        /// Takes the next piece.
        ///
        /// @param done the size of the pieces before
        /// @param bytes the piece, in the block
        void take(long done, MemorySegment bytes) throws IOException;
    }

    /// Brings a chunk that is larger than the block through it, piece by piece.
    ///
    /// @param chunk the chunk
    /// @param bytes its bytes
    /// @param offset where it starts in the file; pages of the block are pages of the file
    /// @param pieces takes them
    /// @return the sums over what was taken
    /// @throws IOException if reading or writing fails
    ExtentSums carry(Chunk chunk, MemorySegment bytes, long offset, Pieces pieces) throws IOException {
        long start = offset % Layout.PAGE;
        long most = block.byteSize() - Layout.PAGE;
        for (long done = 0; done < chunk.length(); done += most) {
            MemorySegment piece = block.asSlice(start, Math.min(most, chunk.length() - done));
            try {
                digester.copy(bytes.asSlice(done, piece.byteSize()), piece);
            } catch (InternalError e) {
                throw truncated(chunk, e);
            }
            pieces.take(done, piece);
        }
        ExtentSums sums = digester.finish();
        chunk.check(sums);
        return sums;
    }

    private static IOException truncated(Chunk chunk, InternalError cause) {
        return new IOException("the file behind " + chunk.storage().bytes().describe()
                + " was truncated while it was mapped; open it again", cause);
    }
}
