package io.undercroft.serializer.internal.writing;

import io.undercroft.format.ExtentDigester;
import io.undercroft.format.ExtentSums;
import io.undercroft.format.Layout;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// What one of the threads of a save works with: a block of memory, and a digester. Each chunk is looked at, copied and
/// summed up while its bytes are in the cache of the processor. Belongs to one thread.
final class Lane {
    private final MemorySegment block;
    private final ExtentDigester digester = new ExtentDigester();
    private final Candidates candidates;
    private final SaveOptions options;

    /// A lane.
    ///
    /// @param block its memory
    /// @param candidates where bytes stand already
    /// @param options whether zeros are written
    Lane(MemorySegment block, Candidates candidates, SaveOptions options) {
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
    List<Finding> look(Batch batch) throws IOException {
        List<Finding> findings = new ArrayList<>(batch.chunks().size());
        long end = batch.start();
        for (Chunk chunk : batch.chunks()) {
            Optional<Finding> early = lookInPlace(chunk);
            if (early.isPresent()) {
                findings.add(early.get());
            } else if (batch.fits()) {
                long at = chunk.place(end);
                end = at + chunk.length();
                findings.add(new Finding.Copied(at, copy(chunk, block.asSlice(at, chunk.length()))));
            } else {
                findings.add(new Finding.TooLarge());
            }
        }
        return findings;
    }

    /// What can be said of a chunk without a sum over it.
    private Optional<Finding> lookInPlace(Chunk chunk) throws IOException {
        if (!chunk.isReached()) {
            return Optional.of(new Finding.Unreached());
        }
        if (isLeftOut(chunk)) {
            chunk.check();
            return Optional.of(new Finding.Zeros());
        }
        Extent.Stored before = chunk.before();
        if (before != null && before.place().offset() % chunk.alignment() == 0
                && candidates.isSame(chunk.bytes(), before.place())) {
            return Optional.of(new Finding.Unchanged(before));
        }
        return Optional.empty();
    }

    private boolean isLeftOut(Chunk chunk) throws IOException {
        try {
            return !options.savesZeros() && chunk.storage().nbytes() >= Layout.SPARSE_BYTES
                    && RawBytes.areZero(chunk.bytes());
        } catch (InternalError e) {
            throw truncated(chunk, e);
        }
    }

    /// Copies bytes of a chunk and sums them up.
    ///
    /// @param chunk the chunk
    /// @param into where to, as many bytes
    /// @return the sums over the copy
    /// @throws IOException if they cannot be read
    private ExtentSums copy(Chunk chunk, MemorySegment into) throws IOException {
        try {
            digester.copy(chunk.bytes(), into);
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
    /// @throws IOException if it cannot be read
    ExtentSums sum(Chunk chunk) throws IOException {
        try {
            digester.update(chunk.bytes());
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
    /// @param offset where it starts in the file; pages of the block are pages of the file
    /// @param pieces takes them
    /// @return the sums over what was taken
    /// @throws IOException if reading or writing fails
    ExtentSums carry(Chunk chunk, long offset, Pieces pieces) throws IOException {
        long start = offset % Layout.PAGE;
        long most = block.byteSize() - Layout.PAGE;
        for (long done = 0; done < chunk.length(); done += most) {
            MemorySegment piece = block.asSlice(start, Math.min(most, chunk.length() - done));
            try {
                digester.copy(chunk.bytes().asSlice(done, piece.byteSize()), piece);
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
