package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveProgress;

/// Counts the bytes of all files of an export, and informs a listener. For use by one thread.
final class WriteProgress {
    private final SaveProgress listener;
    private final long expected;
    private long done;

    /// Nothing has been written.
    ///
    /// @param listener called at once with no bytes
    /// @param expected the estimated number of bytes of the files
    WriteProgress(SaveProgress listener, long expected) {
        this.listener = listener;
        this.expected = expected;
        listener.written(0, expected);
    }

    /// Counts more bytes.
    ///
    /// @param bytes how many
    void add(long bytes) {
        done += bytes;
        // The last call is the one of finish.
        if (done < expected) {
            listener.written(done, expected);
        }
    }

    /// {@return how many bytes were written so far}
    long done() {
        return done;
    }

    /// Says that this was all.
    void finish() {
        listener.written(done, done);
    }
}
