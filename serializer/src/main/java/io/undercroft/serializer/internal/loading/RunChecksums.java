package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.serializer.internal.loading.RunChecksum.Kind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// The checksums of the chunks of a storage, which arrives in parts, in any order and from several threads.
public final class RunChecksums {
    /// No checksums.
    public static final RunChecksums NONE = new RunChecksums(List.of(), false);

    private final List<StorageChunk> chunks;
    private final List<RunChecksum> runs;
    private final boolean isMapped;

    /// The checksums of chunks of which nothing has arrived.
    ///
    /// @param chunks the chunks, in the order of the storage
    /// @param isMapped whether the parts may be in a mapped file, and could disappear
    public RunChecksums(List<StorageChunk> chunks, boolean isMapped) {
        this.chunks = chunks;
        this.runs = new ArrayList<>(chunks.size());
        this.isMapped = isMapped;
        for (StorageChunk chunk : chunks) {
            runs.add(new RunChecksum(Kind.CRC32C, chunk.start(), chunk.length(), chunk.checksum()));
        }
    }

    /// {@return whether there are none}
    boolean isEmpty() {
        return runs.isEmpty();
    }

    /// Adds the checksums of some bytes.
    ///
    /// @param offset the first of the bytes, counted from the start of the storage
    /// @param bytes the bytes; none arrives twice
    void add(long offset, MemorySegment bytes) {
        long end = offset + bytes.byteSize();
        int first = BinarySearch.first(runs.size(), number -> runs.get(number).end() > offset);
        for (int i = first; i < runs.size() && runs.get(i).start() < end; i++) {
            if (isMapped) {
                runs.get(i).add(offset, bytes, Checksums::crc32c);
            } else {
                runs.get(i).add(offset, bytes);
            }
        }
    }

    /// {@return the chunks that did not arrive as a whole with the expected checksum, in the order of the storage}
    public List<StorageChunk> damaged() {
        List<StorageChunk> damaged = new ArrayList<>();
        for (int i = 0; i < runs.size(); i++) {
            if (!runs.get(i).matches()) {
                damaged.add(chunks.get(i));
            }
        }
        return damaged;
    }
}
