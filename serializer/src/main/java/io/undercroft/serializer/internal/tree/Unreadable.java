package io.undercroft.serializer.internal.tree;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// A placeholder for a tensor whose description in a file breaks a rule that concerns this tensor only, for instance
/// one that reaches outside its storage. It keeps the place of the tensor in the state, so that the other tensors can
/// be read.
///
/// It has the shape that the file gives, as far as that is known, and otherwise one element. Its elements have the type
/// `unreadable` and the stride 0, and access to its bytes throws the exception that it was made of.
/// [Contents#tensor] throws that exception at once. A state with a placeholder is saved without it, if
/// [io.undercroft.serializer.SaveOptions#leavingOutUnreadable] allows that, and refused otherwise.
public final class Unreadable {
    private static final DType TYPE = DType.opaque("unreadable", Byte.SIZE);

    private Unreadable() {}

    /// {@return a placeholder for a tensor of unknown shape}
    ///
    /// @param why what is wrong with the tensor
    public static Tensor tensor(FormatException why) {
        return tensor(why, Shape.of(1));
    }

    /// {@return a placeholder}
    ///
    /// @param why what is wrong with the tensor
    /// @param shape its shape
    public static Tensor tensor(FormatException why, Shape shape) {
        Storage nothing = Storage.deferred(1, () -> {
            throw why;
        });
        return Tensor.of(nothing, TYPE, 0, shape, new long[shape.rank()]);
    }

    /// {@return what is wrong with the placeholders among tensors, by their names; usually nothing}
    ///
    /// @param tensors tensors by name
    public static SequencedMap<String, FormatException> in(SequencedMap<String, Tensor> tensors) {
        SequencedMap<String, FormatException> found = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> why(tensor).ifPresent(why -> found.put(name, why)));
        return found;
    }

    /// {@return the same as damage, for [Contents#damages]}
    ///
    /// @param found what is wrong with tensors, by their names
    public static List<Damage> damages(SequencedMap<String, FormatException> found) {
        return found.sequencedEntrySet().stream()
                .map(each -> Damage.of("tensor " + FormatException.quote(each.getKey()), 0, each.getValue())).toList();
    }

    /// {@return what is wrong with a tensor, or nothing if it is no placeholder}
    ///
    /// @param tensor any tensor
    public static Optional<FormatException> why(Tensor tensor) {
        if (!tensor.dtype().equals(TYPE) || tensor.storage().nbytes() != 1 || tensor.storage().isMeta()) {
            return Optional.empty();
        }
        try {
            tensor.storage().segment();
            return Optional.empty();
        } catch (FormatException why) {
            return Optional.of(why);
        }
    }
}
