package io.undercroft.format.internal;

/// A range of a file that belongs to no snapshot and may have any contents: bytes that a torn append left.
///
/// @param offset the first byte in the file
/// @param length the number of bytes that it has, at least 1
public record FreeRange(long offset, long length) {}
