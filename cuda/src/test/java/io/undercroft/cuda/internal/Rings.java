package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaDevice;

/// For tests: the rings of all devices, and the memory that they share.
public final class Rings {
    /// The size of a buffer in bytes.
    public static final int BUFFER = Ring.BUFFER_BYTES;
    /// How many buffers a ring has at most.
    public static final int BUFFERS = Ring.BUFFERS;

    private Rings() {}

    /// Frees the buffers, as is done when they were not used for some time.
    public static void free() {
        for (int i = 0; i < CudaDevice.count(); i++) {
            CudaMemory.of(i).ring().free();
        }
    }

    /// Frees what was shared and is not open in other processes any more, as each allocation of such memory does.
    ///
    /// @param index which device
    public static void freeUnused(int index) {
        ((ExportedMemory) CudaMemory.of(index).shared().orElseThrow()).freeUnused();
    }
}
