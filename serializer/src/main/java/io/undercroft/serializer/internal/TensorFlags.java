package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.storage.Tensor;
import java.util.EnumSet;
import java.util.Set;

/// The flags of a tensor in memory and in a file: the same in two independent modules, except for negative strides,
/// which only tensors in files can have.
public final class TensorFlags {
    private TensorFlags() {}

    /// {@return the flags as stored in a file}
    ///
    /// @param flags those of a tensor in memory
    public static Set<TensorFlag> toFile(Set<Tensor.Flag> flags) {
        if (flags.isEmpty()) {
            return Set.of();
        }
        Set<TensorFlag> result = EnumSet.noneOf(TensorFlag.class);
        for (Tensor.Flag flag : flags) {
            result.add(switch (flag) {
                case REQUIRES_GRAD -> TensorFlag.REQUIRES_GRAD;
                case CONJ -> TensorFlag.CONJUGATE;
                case NEG -> TensorFlag.NEGATIVE;
            });
        }
        return result;
    }

    static Set<Tensor.Flag> fromFile(Set<TensorFlag> flags) {
        if (flags.isEmpty()) {
            return Set.of();
        }
        Set<Tensor.Flag> result = EnumSet.noneOf(Tensor.Flag.class);
        for (TensorFlag flag : flags) {
            result.add(switch (flag) {
                case REQUIRES_GRAD -> Tensor.Flag.REQUIRES_GRAD;
                case CONJUGATE -> Tensor.Flag.CONJ;
                case NEGATIVE -> Tensor.Flag.NEG;
                case REVERSED -> throw Rule.V13_UNSUPPORTED.broken(
                        "a tensor has negative strides, which tensors in memory cannot have",
                        FormatException.NO_OFFSET);
            });
        }
        return result;
    }
}
