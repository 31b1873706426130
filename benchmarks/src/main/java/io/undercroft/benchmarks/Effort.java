package io.undercroft.benchmarks;

/// The number of rounds and the sizes of a benchmark.
enum Effort {
    /// The effort for the figures in the documentation.
    FULL,
    /// Less than a minute: enough to see that everything runs, and the rough picture.
    QUICK
}
