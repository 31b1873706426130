package io.undercroft.storage.spi;

import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// The parts in which a device without its own host buffers copies through one buffer.
final class DefaultTransfer {
    /// Alignment of the buffer in bytes: a page, which direct reads from a disk need.
    static final long ALIGNMENT = 4096;
    private static final long BUFFER_SIZE = 4L << 20;

    private DefaultTransfer() {}

    @FunctionalInterface
    interface PartCopy {
        void run(long offset, MemorySegment part, MemorySegment onDevice);
    }

    static long bufferSize(List<Upload> uploads) {
        return uploads.stream().mapToLong(upload -> bufferSize(upload.target())).max().orElse(0);
    }

    static long bufferSize(MemorySegment onDevice) {
        return Math.min(BUFFER_SIZE, onDevice.byteSize());
    }

    static void forEachPart(MemorySegment onDevice, MemorySegment buffer, PartCopy copy) {
        long size = onDevice.byteSize();
        for (long offset = 0; offset < size; offset += buffer.byteSize()) {
            long length = Math.min(buffer.byteSize(), size - offset);
            copy.run(offset, buffer.asSlice(0, length), onDevice.asSlice(offset, length));
        }
    }
}
