package io.undercroft.serializer.internal;

import io.undercroft.format.ExtentDigester;
import io.undercroft.format.Layout;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Writes the bytes of storages one after another.
///
/// Bytes go through a buffer of one chunk. It costs a copy and buys three things: the checksum is of what was written, even
/// if another thread writes to the tensor meanwhile; a mapped source that was truncated throws instead of killing the JVM;
/// and memory stays bounded. Chunks of large storages that hold only zeros are not written. Belongs to one thread.
final class ExtentWriter implements AutoCloseable {
    private static final int CHUNK = 1 << Layout.DEFAULT_CHUNK_LOG2;

    private final AtomicFile file;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment buffer = arena.allocate(CHUNK, Storage.ALIGNMENT);
    private final MemorySegment zeros = arena.allocate(CHUNK, Storage.ALIGNMENT);
    private final ExtentDigester digester = new ExtentDigester(Layout.DEFAULT_CHUNK_LOG2);
    private long position = Layout.DATA_START;

    ExtentWriter(AtomicFile file) {
        this.file = file;
    }

    /// {@return the end of what was written, in bytes from the start of the file}
    long position() {
        return position;
    }

    /// Writes a storage.
    ///
    /// @return its extents in order
    /// @throws IOException if reading or writing fails
    List<Extent> write(Storage storage) throws IOException {
        List<Extent> extents = new ArrayList<>();
        if (storage.device().isMeta()) {
            endZeros(extents, storage.nbytes());
            return extents;
        }
        long zeroRun = 0;
        long byteRun = 0;
        for (long done = 0; done < storage.nbytes(); done += CHUNK) {
            MemorySegment chunk = buffer.asSlice(0, Math.min(CHUNK, storage.nbytes() - done));
            fetch(storage, done, chunk);
            if (isLeftOut(storage, chunk)) {
                byteRun = endBytes(extents, byteRun);
                zeroRun += chunk.byteSize();
            } else {
                zeroRun = endZeros(extents, zeroRun);
                if (byteRun == 0) {
                    position = Layout.placeExtent(position, storage.nbytes());
                }
                append(chunk);
                byteRun += chunk.byteSize();
            }
        }
        endBytes(extents, byteRun);
        endZeros(extents, zeroRun);
        return extents;
    }

    @Override
    public void close() {
        arena.close();
    }

    private static void fetch(Storage storage, long offset, MemorySegment into) throws IOException {
        try {
            MemorySegment.copy(storage.segment(), offset, into, 0, into.byteSize());
        } catch (InternalError e) {
            throw new IOException(
                    "the file behind " + storage.describe() + " was truncated while it was mapped; open it again",
                    e);
        }
    }

    private boolean isLeftOut(Storage storage, MemorySegment chunk) {
        return storage.nbytes() >= Layout.MAPPING_ALIGNMENT && chunk.mismatch(zeros.asSlice(0, chunk.byteSize())) < 0;
    }

    private void append(MemorySegment chunk) throws IOException {
        digester.update(chunk);
        file.write(position, chunk);
        position += chunk.byteSize();
    }

    /// Ends a run of bytes that were written, if there is one; returns the length of the new run.
    private long endBytes(List<Extent> extents, long length) {
        if (length > 0) {
            extents.add(new Extent.Raw(position - length, length, digester.finish()));
        }
        return 0;
    }

    /// Ends a run of zeros, if there is one; returns the length of the new run.
    private static long endZeros(List<Extent> extents, long length) {
        if (length > 0) {
            extents.add(new Extent.Zero(length));
        }
        return 0;
    }
}
