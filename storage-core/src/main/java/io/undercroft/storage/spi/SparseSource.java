package io.undercroft.storage.spi;

import io.undercroft.storage.Allocation;
import java.util.List;
import java.util.function.Supplier;

/// A source of deferred bytes that knows which of them are zeros without making them. While a storage has a
/// [source][io.undercroft.storage.Storage#source], its bytes were not written, so that a save does not read these
/// zeros. Called by any thread.
public interface SparseSource extends Supplier<Allocation> {
    /// A range of zeros.
    ///
    /// @param start the offset of the first byte
    /// @param end the end, exclusive
    record Zeros(long start, long end) {}

    /// {@return the ranges of zeros that are not stored, in ascending order, with gaps between them}
    List<Zeros> zeros();
}
