package io.undercroft.cli.internal.inspect;

import io.undercroft.serializer.analysis.TensorBlocks;
import io.undercroft.storage.Tensor;
import java.util.Comparator;
import java.util.Map;

/// The order in which tensors are listed. Tensors that compare equal stay in the order of the state.
public enum TensorOrder {
    /// By name.
    NAME,
    /// By size, the largest first.
    SIZE,
    /// By the name of the dtype.
    DTYPE;

    Comparator<Map.Entry<String, Tensor>> comparator() {
        return switch (this) {
            case NAME -> Map.Entry.comparingByKey();
            case SIZE -> Map.Entry.comparingByValue(Comparator.<Tensor>comparingLong(TensorBlocks::nbytes).reversed());
            case DTYPE -> Comparator.comparing(named -> named.getValue().dtype().name());
        };
    }
}
