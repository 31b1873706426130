package io.undercroft.storage;

import java.util.Objects;

/// A storage seen as elements of one type. PyTorch keeps it as the legacy view of an untyped storage, and so do we: the
/// bytes and the identity belong to [#untyped].
///
/// @param untyped the bytes
/// @param dtype the type of the elements
public record TypedStorage(Storage untyped, DType dtype) {
    /// Checks the parts.
    ///
    /// @throws IllegalArgumentException if the storage does not hold a whole number of elements
    public TypedStorage {
        Objects.requireNonNull(untyped, "untyped");
        if (dtype.isByteSized() && untyped.nbytes() % dtype.itemsize() != 0) {
            throw new IllegalArgumentException(
                    untyped.nbytes() + " bytes are no whole number of " + dtype.name() + " elements");
        }
    }

    /// {@return the number of elements}
    public long size() {
        return dtype.isByteSized()
                ? untyped.nbytes() / dtype.itemsize()
                : Math.multiplyExact(untyped.nbytes(), 8) / dtype.bits();
    }
}
