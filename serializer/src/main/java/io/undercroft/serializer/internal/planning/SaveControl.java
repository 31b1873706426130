package io.undercroft.serializer.internal.planning;

import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/// The progress and cancellation of a save in the background.
/// Safe for any thread.
public final class SaveControl {
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.WRITING);
    private final LongAdder done = new LongAdder();
    private final LongAdder total = new LongAdder();

    /// A save is cancelled or reaches its last step, whichever is first.
    private enum Phase {
        WRITING, CANCELLED, ENDING
    }

    /// The control of a running save.
    public SaveControl() {}

    /// Ends the save, unless its last step has begun.
    ///
    /// @return whether it was in time
    public boolean cancel() {
        return phase.compareAndSet(Phase.WRITING, Phase.CANCELLED) || isCancelled();
    }

    /// {@return whether it was cancelled in time}
    public boolean isCancelled() {
        return phase.get() == Phase.CANCELLED;
    }

    /// {@return the number of bytes that have been read from the snapshot}
    public long done() {
        return done.sum();
    }

    /// {@return the number of bytes of the snapshot}
    public long total() {
        return total.sum();
    }

    /// Counts bytes that will be read.
    ///
    /// @param bytes the number of bytes
    public void expect(long bytes) {
        total.add(bytes);
    }

    /// Counts bytes that are read.
    ///
    /// @param bytes the number of bytes
    /// @throws CancellationException if the save was cancelled
    public void read(long bytes) {
        if (isCancelled()) {
            throw cancelled();
        }
        done.add(bytes);
    }

    /// Begins the last step.
    ///
    /// @throws CancellationException if the save was cancelled
    public void commit() {
        end();
        if (isCancelled()) {
            throw cancelled();
        }
    }

    /// Makes cancelling impossible, unless the save was cancelled already.
    public void end() {
        phase.compareAndSet(Phase.WRITING, Phase.ENDING);
    }

    private static CancellationException cancelled() {
        return new CancellationException("the save was cancelled; no file was made or changed");
    }
}
