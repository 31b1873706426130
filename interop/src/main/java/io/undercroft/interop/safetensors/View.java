package io.undercroft.interop.safetensors;

import java.util.List;

/// How a tensor uses the storage of another one.
///
/// @param base the name of the other
/// @param offset where its first element starts, in bytes from the first byte of the other
/// @param stride its strides, in elements
record View(String base, long offset, List<Long> stride) {
    long[] strides() {
        return stride.stream().mapToLong(Long::longValue).toArray();
    }
}
