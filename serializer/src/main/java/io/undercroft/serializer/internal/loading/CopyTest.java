package io.undercroft.serializer.internal.loading;

import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

/// A test whether one tensor can be copied into another: the shapes have to be the same, and the elements convertible.
/// For use by one thread.
public final class CopyTest implements BiPredicate<TensorSpec, TensorSpec> {
    private final Map<List<DType>, Boolean> convertible = new HashMap<>();

    @Override
    public boolean test(TensorSpec found, TensorSpec wanted) {
        return found.shape().equals(wanted.shape()) && (found.dtype().equals(wanted.dtype())
                || convertible.computeIfAbsent(List.of(found.dtype(), wanted.dtype()),
                        pair -> canConvert(pair.get(0), pair.get(1))));
    }

    private static boolean canConvert(DType from, DType to) {
        try {
            var _ = Tensor.zeros(to, 1).copyFrom(Tensor.zeros(from, 1));
            return true;
        } catch (UnsupportedOperationException _) {
            return false;
        }
    }
}
