package io.undercroft.properties;

/// How much of a proof to do.
public enum Effort {
    /// All of it.
    FULL,
    /// What fits into a minute.
    QUICK
}
