package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.Pages;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.loading.RunChecksum.Kind;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.spi.Faults;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The state of one thread of a save: a block of memory, and a digester. Each chunk is compared, copied and summed up
/// while its bytes are in the cache of the processor; a chunk on a device is copied to the host once. For use by
/// one thread.
final class ChunkWorker implements AutoCloseable {
    /// The number of bytes that are read from the disk at once.
    private static final long READ = 1L << 20;

    private final MemorySegment block;
    private final ExtentDigester digester = new ExtentDigester();
    private final ContentIndex candidates;
    private final SaveOptions options;
    private @Nullable Allocation pages;

    /// Creates a worker.
    ///
    /// @param block its memory
    /// @param candidates the places where equal bytes may be stored
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

    /// Compares the chunks of a batch, and copies those that may have to be written into the block, in the order and
    /// with the alignment of the file.
    ///
    /// @param batch the batch
    /// @return the outcome of each chunk
    /// @throws IOException if reading fails
    List<ChunkOutcome> look(Batch batch) throws IOException {
        List<ChunkOutcome> outcomes = new ArrayList<>(batch.chunks().size());
        long end = batch.start();
        for (Chunk chunk : batch.chunks()) {
            long at = chunk.place(end);
            ChunkOutcome outcome = switch (chunk.content()) {
                case REACHED -> look(chunk, at);
                case ZEROS -> new ChunkOutcome.Zeros();
                case UNREACHED -> new ChunkOutcome.Unreached();
            };
            boolean takesSpace = outcome instanceof ChunkOutcome.Copied
                    || (chunk.isOnDevice() && outcome instanceof ChunkOutcome.Unchanged);
            end = takesSpace ? at + chunk.length() : end;
            outcomes.add(outcome);
        }
        return outcomes;
    }

    /// Compares a chunk. A chunk on a device is first copied to its place in the block.
    private ChunkOutcome look(Chunk chunk, long at) throws IOException {
        boolean wasInterrupted = Thread.currentThread().isInterrupted();
        try {
            MemorySegment bytes = chunk.bytes(block.asSlice(at));
            MappedExtents.Found mapped = candidates.mappedExtents().find(chunk);
            if (mapped instanceof MappedExtents.Found.Same(Extent.Stored extent) && !mayBeLeftOut(chunk, extent)) {
                return new ChunkOutcome.Unchanged(extent, bytes);
            }
            if (isLeftOut(chunk, bytes)) {
                chunk.check();
                return new ChunkOutcome.Zeros();
            }
            Extent.Stored before = mapped instanceof MappedExtents.Found.Shared ? null : chunk.before();
            if (before == null || before.place().offset() % chunk.alignment() != 0) {
                return copied(chunk, bytes, at);
            }
            if (candidates.isOnDisk(before.place())) {
                return lookOnDisk(chunk, bytes, at, before);
            }
            return candidates.isSame(bytes, before.place())
                    ? new ChunkOutcome.Unchanged(before, bytes)
                    : copied(chunk, bytes, at);
        } catch (InternalError e) {
            return Pages.guard(chunk.bytes(block.asSlice(at)), () -> {
                throw e;
            });
        } catch (IllegalStateException e) {
            throw Faults.ended(e, wasInterrupted, () -> chunk.bytes(block.asSlice(at)));
        }
    }

    private ChunkOutcome copied(Chunk chunk, MemorySegment bytes, long at) {
        ExtentSums sums = copy(chunk, bytes, at);
        chunk.check(sums);
        return new ChunkOutcome.Copied(at, sums);
    }

    /// Compares a chunk with bytes that have to be read from the disk, unless the digests say that they differ.
    private ChunkOutcome lookOnDisk(Chunk chunk, MemorySegment bytes, long at, Extent.Stored before)
            throws IOException {
        ExtentSums sums = copy(chunk, bytes, at);
        if (sums.digest().equals(before.sums().digest())
                && candidates.isSameOnDisk(block.asSlice(at, chunk.length()), before.place(), pages())) {
            return new ChunkOutcome.Unchanged(before, bytes);
        }
        chunk.check(sums);
        return new ChunkOutcome.Copied(at, sums);
    }

    /// {@return memory for bytes of the disk, aligned to pages} It stays in the cache of the processor.
    private MemorySegment pages() {
        if (pages == null) {
            pages = AnonymousMemory.allocator().allocate(READ);
        }
        return pages.segment();
    }

    private boolean isLeftOut(Chunk chunk, MemorySegment bytes) {
        return leavesZerosOut(chunk) && areZero(bytes);
    }

    private boolean leavesZerosOut(Chunk chunk) {
        return options.request().omitsZeros(chunk.storage().nbytes());
    }

    /// {@return whether an extent may be all zero, as far as its checksum says} The snapshot may have been saved with
    /// zeros.
    private boolean mayBeLeftOut(Chunk chunk, Extent.Stored extent) {
        return leavesZerosOut(chunk) && extent.sums().checksum() == Kind.CRC32C.ofZeros(chunk.length());
    }

    /// {@return whether the first byte is zero and each equals the one before it}
    private static boolean areZero(MemorySegment bytes) {
        long rest = bytes.byteSize() - 1;
        return bytes.get(ValueLayout.JAVA_BYTE, 0) == 0
                && Faults.haveSameBytes(bytes.asSlice(0, rest), bytes.asSlice(1));
    }

    /// Copies bytes of a chunk into the block and sums them up. Those of a device are there already.
    ///
    /// @return the sums over the copy
    private ExtentSums copy(Chunk chunk, MemorySegment bytes, long at) {
        if (chunk.isOnDevice()) {
            digester.update(bytes);
        } else {
            digester.copy(bytes, block.asSlice(at, chunk.length()));
        }
        return digester.finish();
    }

    @Override
    public void close() {
        if (pages != null) {
            pages.free();
        }
    }
}
