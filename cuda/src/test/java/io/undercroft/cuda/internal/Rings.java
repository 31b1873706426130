package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaDevice;

/// For tests: the rings of all devices, and the memory that they share.
public final class Rings {
    /// The size of a buffer in bytes.
    public static final int BUFFER = RingSize.DEFAULT.bufferBytes();
    /// How many buffers a ring has at most.
    public static final int BUFFERS = RingSize.DEFAULT.buffers();

    private Rings() {}

    /// Frees the buffers, as is done when they were not used for some time.
    public static void free() {
        for (int i = 0; i < CudaDevice.count(); i++) {
            CudaMemory.of(i).ring().free();
        }
    }

    /// Copies with a ring of another size on the first device.
    ///
    /// @param threads the number of threads
    /// @param buffers the number of buffers
    /// @param bufferBytes the size of a buffer
    /// @param copies the copies to run
    public static void with(int threads, int buffers, int bufferBytes, Runnable copies) {
        CudaMemory memory = CudaMemory.of(0);
        memory.useRing(new RingSize(threads, buffers, bufferBytes));
        try {
            copies.run();
        } finally {
            memory.useRing(RingSize.DEFAULT);
        }
    }

    /// Frees what was shared and is not open in other processes any more, as each allocation of such memory does.
    ///
    /// @param index which device
    public static void freeUnused(int index) {
        ((ExportedMemory) CudaMemory.of(index).shared().orElseThrow()).freeUnused();
    }
}
