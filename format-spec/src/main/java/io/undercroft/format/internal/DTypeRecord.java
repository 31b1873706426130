package io.undercroft.format.internal;

/// One element type. A reader without support for the name can still map, copy and verify tensors of it.
///
/// @param name PyTorch's name, such as `float32`
/// @param bits the size of one element in bits, at least 1; 4-bit and other sub-byte types are packed
public record DTypeRecord(String name, int bits) {}
