package io.undercroft.format;

/// A fault that [Verifier] found.
///
/// @param rule the rule that is broken
/// @param storage the number of the storage whose bytes are at fault, or [#NO_STORAGE]
/// @param offset the first byte of the range in the file that is at fault
/// @param length how many bytes the range has
/// @param what what is wrong
public record Damage(Rule rule, int storage, long offset, long length, String what) {
    /// Stands where no storage is at fault.
    public static final int NO_STORAGE = -1;
}
