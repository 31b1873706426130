package io.undercroft.interop.gguf;

import io.undercroft.storage.Shape;

/// A tensor as the header describes it.
///
/// @param name its name
/// @param type its type
/// @param shape its sizes, outermost first, in elements of its dtype
/// @param offset where it starts, in bytes from the first byte behind the header
/// @param nbytes its size in bytes
record TensorInfo(String name, TensorType type, Shape shape, long offset, long nbytes) {}
