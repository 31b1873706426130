package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Optional;

/// A placeholder for a tensor whose description in a file breaks a rule that concerns this tensor only, for instance
/// one that reaches outside its storage. It keeps the place of the tensor in the state, so that the other tensors can
/// be read.
///
/// It has one element of the type `unreadable`, and access to its bytes throws the exception that it was made of:
/// saving, exporting and reading it are refused. [Contents#tensor] throws that exception at once.
public final class Unreadable {
    private static final DType TYPE = DType.opaque("unreadable", Byte.SIZE);

    private Unreadable() {}

    /// {@return a placeholder}
    ///
    /// @param why what is wrong with the tensor
    public static Tensor tensor(FormatException why) {
        Storage nothing = Storage.deferred(1, () -> {
            throw why;
        });
        return Tensor.of(nothing, TYPE, 0, Shape.of(1), 1);
    }

    /// Refuses a state that holds a placeholder.
    ///
    /// @param state the names of its tensors
    /// @throws FormatException what is wrong with the first of them, with its name
    public static void requireNone(StateIndex state) {
        state.tensors().forEach((name, tensor) -> why(tensor).ifPresent(why -> {
            throw new FormatException(why.code(),
                    "the tensor " + FormatException.quote(name) + " cannot be saved: " + why.what(),
                    why.offset(), "Save the other tensors without it");
        }));
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
