package io.undercroft.interop.torch;

import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import java.util.ArrayList;
import java.util.List;

/// An array of NumPy that the pickle has made but not yet filled, by `_reconstruct(class, (0,), b'b')`. BUILD puts the
/// real one in its place.
final class BlankArray {
    private final String function;
    private final Tuple arguments;
    private final Symbol type;
    private final List<Integer> memoSlots = new ArrayList<>();

    /// @param function the function that made it
    /// @param arguments what it was called with
    /// @param type the class of the array
    BlankArray(String function, Tuple arguments, Symbol type) {
        this.function = function;
        this.arguments = arguments;
        this.type = type;
    }

    /// {@return the function that made it}
    String function() {
        return function;
    }

    /// {@return what that was called with}
    Tuple arguments() {
        return arguments;
    }

    /// {@return the class of the array}
    Symbol type() {
        return type;
    }

    /// {@return whether its mask follows its elements}
    boolean isMasked() {
        return function.equals(PickledArrays.MASKED);
    }

    /// {@return the memo slots that refer to it; may be changed}
    List<Integer> memoSlots() {
        return memoSlots;
    }
}
