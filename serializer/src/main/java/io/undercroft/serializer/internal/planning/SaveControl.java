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

    /// Either it is cancelled or it reaches its last step, whichever is first.
    private enum Phase {
        WRITING, CANCELLED, ENDING
    }

    /// A save that goes on.
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

    /// {@return how many bytes have been read from the snapshot}
    public long done() {
        return done.sum();
    }

    /// {@return how many bytes the snapshot has}
    public long total() {
        return total.sum();
    }

    /// Counts bytes that will be read.
    ///
    /// @param bytes how many
    public void expect(long bytes) {
        total.add(bytes);
    }

    /// Counts bytes that are read.
    ///
    /// @param bytes how many
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

    /// Says that it is too late to cancel the save, unless that was done.
    public void end() {
        phase.compareAndSet(Phase.WRITING, Phase.ENDING);
    }

    private static CancellationException cancelled() {
        return new CancellationException("the save was cancelled; no file was made or changed");
    }
}
