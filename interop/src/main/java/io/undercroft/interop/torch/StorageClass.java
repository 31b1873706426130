package io.undercroft.interop.torch;

import io.undercroft.storage.DType;
import org.jspecify.annotations.Nullable;

/// A storage class of PyTorch, as persistent ids name it.
///
/// @param name the class's name
/// @param dtype type of the elements; null for `UntypedStorage`, whose elements are bytes
record StorageClass(String name, @Nullable DType dtype) {
    /// {@return bytes in one element}
    int itemsize() {
        return dtype == null ? 1 : dtype.itemsize();
    }
}
