package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.TensorBlocks;
import io.undercroft.storage.Tensor;
import java.util.Comparator;
import java.util.Map;

/// An order in which tensors are listed. Those that are equal in it stay in the order of the state.
public enum TensorOrder {
    /// By their names.
    NAME,
    /// The one with the most bytes first.
    SIZE,
    /// By the names of their dtypes.
    DTYPE;

    Comparator<Map.Entry<String, Tensor>> comparator() {
        return switch (this) {
            case NAME -> Map.Entry.comparingByKey();
            case SIZE -> Map.Entry.comparingByValue(Comparator.<Tensor>comparingLong(TensorBlocks::nbytes).reversed());
            case DTYPE -> Comparator.comparing(named -> named.getValue().dtype().name());
        };
    }
}
