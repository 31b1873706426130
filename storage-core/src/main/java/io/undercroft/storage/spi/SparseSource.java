package io.undercroft.storage.spi;

import io.undercroft.storage.Allocation;
import java.util.List;
import java.util.function.Supplier;

/// A source of the bytes of a storage that knows which of them are zeros before they are made. While a storage has its
/// [source][io.undercroft.storage.Storage#source], its bytes are those of the source, as nobody has written to them.
/// Saving it does not read the zeros. Called by any thread.
public interface SparseSource extends Supplier<Allocation> {
    /// A run of zeros.
    ///
    /// @param start its first byte
    /// @param end the byte after its last
    record Zeros(long start, long end) {}

    /// {@return the runs of zeros that are stored nowhere, in order, apart from each other}
    List<Zeros> zeros();
}
