package io.undercroft.cuda.internal;

import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// The division of uploads into batches of one buffer each. Small uploads share a buffer, and those whose targets are
/// adjacent share a copy.
final class UploadPlan {
    /// Pieces of at least this size begin on a page of the buffer, which direct reads from a disk need; others on a
    /// cache line.
    private static final long LARGE = 64 << 10;
    private static final long PAGE = 4096;
    private static final long LINE = 64;

    private final long bufferSize;
    private final List<Batch> batches = new ArrayList<>();
    private List<Piece> pieces = new ArrayList<>();
    private List<Copy> copies = new ArrayList<>();
    /// The target of the last piece of the batch.
    private MemorySegment last = MemorySegment.NULL;
    private long end;

    private UploadPlan(long bufferSize) {
        this.bufferSize = bufferSize;
    }

    /// The pieces that share one buffer.
    ///
    /// @param pieces the pieces that are read into it
    /// @param copies the copies that are made from it
    record Batch(List<Piece> pieces, List<Copy> copies) {}

    /// Bytes that are read into a buffer.
    ///
    /// @param upload the upload that they belong to
    /// @param offset their offset in the upload
    /// @param start their offset in the buffer
    /// @param size the number of bytes
    record Piece(Upload upload, long offset, long start, long size) {}

    /// Bytes of a buffer that are copied at once.
    ///
    /// @param start their offset in the buffer
    /// @param size the number of bytes
    /// @param target the address on the device where they go
    record Copy(long start, long size, long target) {}

    /// {@return the batches, in the order in which they are best read}
    ///
    /// @param uploads the uploads, in order
    /// @param bufferSize the size of a buffer in bytes
    static List<Batch> of(List<Upload> uploads, long bufferSize) {
        UploadPlan plan = new UploadPlan(bufferSize);
        uploads.forEach(plan::add);
        plan.endBatch();
        return plan.batches;
    }

    private void add(Upload upload) {
        long size = upload.target().byteSize();
        for (long offset = 0; offset < size;) {
            long length = Math.min(bufferSize, size - offset);
            offset += length;
            add(upload, offset - length, length);
        }
    }

    private void add(Upload upload, long offset, long size) {
        MemorySegment target = upload.target().asSlice(offset, size);
        boolean joins = !copies.isEmpty() && isAdjacent(last, target);
        long start = joins ? end : alignUp(end, size < LARGE ? LINE : PAGE);
        if (start + size > bufferSize) {
            endBatch();
            joins = false;
            start = 0;
        }
        pieces.add(new Piece(upload, offset, start, size));
        if (joins) {
            Copy before = copies.removeLast();
            copies.add(new Copy(before.start, before.size + size, before.target));
        } else {
            copies.add(new Copy(start, size, target.address()));
        }
        last = target;
        end = start + size;
    }

    /// Returns whether two segments are parts of one allocation, one directly after the other.
    private static boolean isAdjacent(MemorySegment one, MemorySegment other) {
        return one.address() + one.byteSize() == other.address() && one.scope().equals(other.scope());
    }

    private static long alignUp(long position, long alignment) {
        return Math.ceilDiv(position, alignment) * alignment;
    }

    private void endBatch() {
        if (!pieces.isEmpty()) {
            batches.add(new Batch(pieces, copies));
        }
        pieces = new ArrayList<>();
        copies = new ArrayList<>();
        end = 0;
    }
}
