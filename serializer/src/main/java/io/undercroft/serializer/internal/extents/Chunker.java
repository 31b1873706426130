package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.internal.extents.Chunk.Content;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Divides storages into chunks and distributes them in batches. The chunks of a batch fit into a block of memory, with
/// the alignment of the file. Safe for use by several threads.
final class Chunker {
    /// The maximum number of chunks in a batch, for chunks that take no space.
    private static final int MOST_CHUNKS = 1 << 17;

    private final Iterator<PlannedStorage> storages;
    private final int chunkLog2;
    private final @Nullable Snapshot parent;
    private final long blockBytes;
    private @Nullable PlannedStorage storage;
    private ParentStorage predecessor = new ParentStorage(null, 0);
    private long start;
    /// The offset of the next chunk in the file, if all chunks before it are written.
    private long position;
    private @Nullable Chunk next;
    private long batches;

    /// Creates a chunker.
    ///
    /// @param storages the storages in the order of the file; none of them meta
    /// @param chunkLog2 the logarithm of the size of a chunk
    /// @param parent the snapshot before, or null if nothing of it may be shared
    /// @param blockBytes the size of a block, which has space for any one chunk
    /// @param position the smallest offset of the first chunk in the file
    Chunker(List<PlannedStorage> storages, int chunkLog2, @Nullable Snapshot parent, long blockBytes, long position) {
        this.storages = storages.iterator();
        this.chunkLog2 = chunkLog2;
        this.parent = parent;
        this.blockBytes = blockBytes;
        this.position = position;
    }

    /// {@return the next batch, or null if there is none} All of its chunks have the same alignment, and fit in a
    /// block. It touches at most one storage that is decoded.
    synchronized @Nullable Batch next() {
        List<Chunk> chunks = new ArrayList<>();
        long first = 0;
        long end = 0;
        for (Chunk chunk = peek(); chunk != null && chunks.size() < MOST_CHUNKS; chunk = peek()) {
            if (end == 0 && chunk.isReached()) {
                first = startInBlock(chunk);
                end = first;
            }
            long endWithIt = chunk.isReached()
                    ? chunk.place(end) + chunk.length()
                    : end;
            if (!chunks.isEmpty()
                    && (endWithIt > blockBytes || chunk.alignment() != chunks.getFirst().alignment()
                            || (chunk.isFirst() && chunk.storage().bytes().areDecoded()))) {
                break;
            }
            chunks.add(chunk);
            end = endWithIt;
            position = chunk.isReached() ? chunk.place(position) + chunk.length() : position;
            next = null;
        }
        return chunks.isEmpty() ? null : new Batch(batches++, chunks, first);
    }

    /// Pages of the block must be pages of the file, as only whole pages are written with direct I/O. The additional
    /// first page allows chunks to be moved forward in the block if chunks before them were shared.
    private long startInBlock(Chunk chunk) {
        return chunk.alignment() < FileLayout.PAGE ? FileLayout.PAGE + chunk.place(position) % FileLayout.PAGE : 0;
    }

    private @Nullable Chunk peek() {
        if (next == null) {
            next = cut();
        }
        return next;
    }

    /// Returns the length of the whole chunks from the start on that need not be read: they may be very many.
    private long unread(PlannedStorage of, long least) {
        long end = of.endOfUnread(start);
        return end == of.nbytes() ? end - start : Math.max(least, (end - start) & -(1L << chunkLog2));
    }

    private @Nullable Chunk cut() {
        while (storage == null || start == storage.nbytes()) {
            if (!storages.hasNext()) {
                return null;
            }
            storage = storages.next();
            predecessor = new ParentStorage(parent, storage.number());
            start = 0;
        }
        long length = Math.min(1L << chunkLog2, storage.nbytes() - start);
        boolean isReached = storage.reaches(start, start + length);
        if (!isReached) {
            length = unread(storage, length);
        }
        Content unread = storage.hasZeros(start, start + length) ? Content.ZEROS : Content.UNREACHED;
        Chunk chunk = new Chunk(storage, start, length, isReached ? Content.REACHED : unread,
                isReached ? predecessor.find(start, length) : null,
                FileLayout.alignment(storage.nbytes(), chunkLog2));
        start += length;
        return chunk;
    }
}
