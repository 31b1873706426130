package io.undercroft.serializer;

import java.io.Serial;

/// Thrown when a checkpoint does not hold what it should. Nothing was changed.
public final class StateMismatchException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient MatchReport report;

    /// Says what does not fit.
    ///
    /// @param checkpoint what was opened
    /// @param report what does not fit
    /// @param remedy what to do, as a sentence without a full stop
    public StateMismatchException(String checkpoint, MatchReport report, String remedy) {
        super(checkpoint + " does not hold what is expected: " + report + ". " + remedy);
        this.report = report;
    }

    /// {@return what does not fit, completely}
    public MatchReport report() {
        return report;
    }
}
