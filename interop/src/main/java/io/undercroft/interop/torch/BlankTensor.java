package io.undercroft.interop.torch;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A tensor that the pickle has made but not yet filled, as PyTorch before 0.2 pickled tensors: first
/// `torch.FloatTensor()`, then BUILD with storage, offset, sizes and strides. As our tensors do not change, BUILD puts
/// the real one in its place.
final class BlankTensor {
    private final @Nullable DType dtype;
    private final List<Integer> memoSlots = new ArrayList<>();

    /// @param dtype the dtype of the class; null for `torch.Tensor`, which has that of its storage
    BlankTensor(@Nullable DType dtype) {
        this.dtype = dtype;
    }

    /// {@return the memo slots that refer to it; may be changed}
    List<Integer> memoSlots() {
        return memoSlots;
    }

    Tensor build(@Nullable Object state, Containers containers) {
        if (!(state instanceof Tuple values)) {
            throw PickleFault.malformed("the state of a tensor is a tuple, not " + Arguments.describe(state));
        }
        Tensor tensor = Rebuild.tensor(new Arguments("torch.Tensor.__setstate__", values, containers));
        if (dtype != null && !dtype.equals(tensor.dtype())) {
            throw PickleFault.malformed("a tensor of " + dtype.name() + " uses a storage of " + tensor.dtype().name());
        }
        return tensor;
    }
}
