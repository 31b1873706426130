package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveProgress;
import io.undercroft.serializer.internal.planning.SaveControl;

/// Counts the bytes of all files of a save, and informs a listener and a [SaveControl], which may end the save. For use
/// by one thread.
final class WriteProgress {
    private final SaveProgress listener;
    private final SaveControl control;
    private final long expected;
    private long done;

    /// Nothing has been written.
    ///
    /// @param listener called at once with no bytes
    /// @param control may end the save
    /// @param expected the estimated number of bytes of the files
    WriteProgress(SaveProgress listener, SaveControl control, long expected) {
        this.listener = listener;
        this.control = control;
        this.expected = expected;
        listener.written(0, expected);
    }

    /// Counts more bytes.
    ///
    /// @param bytes the number of bytes
    /// @throws java.util.concurrent.CancellationException if the save was cancelled
    void add(long bytes) {
        control.read(bytes);
        done += bytes;
        // The last call is the one of finish.
        if (done < expected) {
            listener.written(done, expected);
        }
    }

    /// {@return the number of bytes written so far}
    long done() {
        return done;
    }

    /// Reports that all bytes were written.
    void finish() {
        listener.written(done, done);
    }

    /// Begins the last step, as [SaveControl#commit].
    void commit() {
        control.commit();
    }
}
