package io.undercroft.interop.torch7;

import java.util.Optional;

/// The classes of the package `tds`, tables that threads can share. Their functions write them, without a table of
/// fields.
enum TdsClass {
    /// A long with the number of entries, and each as two objects.
    HASH,
    /// A long with the number of elements, and each as an object.
    VECTOR,
    /// A long.
    COUNTER;

    /// The version of these classes.
    static final long VERSION = 0;

    /// {@return the class of a name, if it is one of these}
    static Optional<TdsClass> find(String name) {
        return switch (name) {
            // The second name is that of the first files.
            case "tds.Hash", "tds_hash" -> Optional.of(HASH);
            case "tds.Vec" -> Optional.of(VECTOR);
            case "tds.AtomicCounter" -> Optional.of(COUNTER);
            default -> Optional.empty();
        };
    }
}
