package io.undercroft.serializer;

import java.io.Serial;

/// Thrown when the tensors of a checkpoint are not those that are expected. Nothing was changed.
public final class StateMismatchException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient MatchReport report;

    /// Describes the differences.
    ///
    /// @param checkpoint what was opened
    /// @param report the differences
    /// @param remedy what to do, as a sentence without a full stop
    public StateMismatchException(String checkpoint, MatchReport report, String remedy) {
        super(checkpoint + " does not hold what is expected: " + report + ". " + remedy);
        this.report = report;
    }

    /// {@return all differences}
    public MatchReport report() {
        return report;
    }
}
