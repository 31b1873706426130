package io.undercroft.cuda.internal;

/// The numbers of threads and buffers of the ring of a device. They limit the host memory that copies take.
///
/// @param threads the number of threads that fill or empty buffers for one transfer. One thread is slower than the bus
/// @param buffers the maximum number of buffers. It exceeds the number of threads, so that some buffers are copied
///         while others are filled
/// @param bufferBytes the size of a buffer in bytes. Copying it takes long compared with the time to start a copy
public record RingSize(int threads, int buffers, int bufferBytes) {
    private static final int MOST_THREADS = 16;
    private static final int FEWEST_BUFFERS = 16;
    private static final int BUFFER_BYTES = 4 << 20;

    /// The size that is used unless [CudaMemory#useRing] sets another. The numbers are guesses until `croft cuda-check
    /// --sweep` has measured them on a GPU.
    public static final RingSize DEFAULT = of(Runtime.getRuntime().availableProcessors());

    /// {@return the size for a number of processors}
    ///
    /// @param processors the number of processors of the machine
    public static RingSize of(int processors) {
        int threads = Math.clamp(processors, 1, MOST_THREADS);
        return new RingSize(threads, Math.max(FEWEST_BUFFERS, 2 * threads), BUFFER_BYTES);
    }
}
