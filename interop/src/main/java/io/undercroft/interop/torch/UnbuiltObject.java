package io.undercroft.interop.torch;

import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A tensor or an array that the pickle has made but not yet filled. As tensors never change here, BUILD puts the
/// filled one in its place.
abstract sealed class UnbuiltObject {
    private final List<Integer> memoSlots = new ArrayList<>();

    /// {@return the memo slots that refer to it; may be changed}
    final List<Integer> memoSlots() {
        return memoSlots;
    }

    /// {@return the filled one}
    ///
    /// @param state the argument of BUILD
    abstract Object build(@Nullable Object state, Containers containers);

    /// A tensor as PyTorch before 0.2 pickled it: first `torch.FloatTensor()`, then BUILD with storage, offset, sizes
    /// and strides.
    static final class OfTorch extends UnbuiltObject {
        private final @Nullable DType dtype;

        /// @param dtype the dtype of the class; null for `torch.Tensor`, which has that of its storage
        OfTorch(@Nullable DType dtype) {
            this.dtype = dtype;
        }

        @Override
        Tensor build(@Nullable Object state, Containers containers) {
            if (!(state instanceof Tuple values)) {
                throw PickleFault.malformed("the state of a tensor is a tuple, not " + CallArguments.describe(state));
            }
            Tensor tensor = TensorRebuilder.tensor(new CallArguments("torch.Tensor.__setstate__", values, containers));
            if (dtype != null && !dtype.equals(tensor.dtype())) {
                throw PickleFault
                        .malformed("a tensor of " + dtype.name() + " uses a storage of " + tensor.dtype().name());
            }
            return tensor;
        }
    }

    /// An array of NumPy, made by `_reconstruct(class, (0,), b'b')` or
    /// `_mareconstruct(class, class of the data, (0,), b'b')`.
    static final class OfNumpy extends UnbuiltObject {
        final String function;
        final Tuple arguments;
        final Symbol type;

        /// @param function the function that made it
        /// @param arguments its arguments, first the class of the array
        OfNumpy(String function, CallArguments arguments) {
            arguments.requireSize(3, 4);
            this.function = function;
            this.arguments = arguments.values();
            this.type = arguments.symbol(0);
        }

        @Override
        Object build(@Nullable Object state, Containers containers) {
            return containers.arrays().build(this, state, containers);
        }
    }
}
