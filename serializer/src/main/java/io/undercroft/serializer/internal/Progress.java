package io.undercroft.serializer.internal;

import io.undercroft.serializer.ProgressListener;

/// A counter of processed bytes that informs a listener. Safe for use by several threads.
public final class Progress {
    private final ProgressListener listener;
    private final long total;
    private long done;

    /// Creates a counter of 0 bytes.
    ///
    /// @param listener called at once with 0
    /// @param total the number of bytes
    public Progress(ProgressListener listener, long total) {
        this.listener = listener;
        this.total = total;
        listener.onProgress(0, total);
    }

    /// Counts more bytes. Those beyond the total, which may be an estimate, are not reported.
    ///
    /// @param bytes the number of bytes
    public synchronized void add(long bytes) {
        done += Math.min(bytes, total - done);
        listener.onProgress(done, total);
    }

    /// Reports that all bytes were processed.
    public synchronized void finish() {
        if (done < total) {
            add(total - done);
        }
    }
}
