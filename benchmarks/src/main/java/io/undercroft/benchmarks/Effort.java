package io.undercroft.benchmarks;

/// How much time to take.
enum Effort {
    /// What the stated figures come from.
    FULL,
    /// Less than a minute: enough to see that everything runs, and the rough picture.
    QUICK
}
