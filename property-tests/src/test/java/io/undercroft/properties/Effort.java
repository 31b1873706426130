package io.undercroft.properties;

/// How much of a proof to do.
enum Effort {
    /// All of it.
    FULL,
    /// What fits into a minute.
    QUICK
}
