package io.undercroft.serializer;

import java.io.Serial;

/// Thrown if the tensors of a checkpoint are not the expected tensors. Nothing was changed.
public final class StateMismatchException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient MatchReport report;

    /// Creates an exception.
    ///
    /// @param checkpoint the location of the checkpoint
    /// @param report the differences
    /// @param remedy the remedy, as a sentence without a full stop
    public StateMismatchException(String checkpoint, MatchReport report, String remedy) {
        super(checkpoint + " does not hold what is expected: " + report + ". " + remedy);
        this.report = report;
    }

    /// {@return all differences}
    public MatchReport report() {
        return report;
    }
}
