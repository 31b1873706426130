package io.undercroft.interop.torch;

import io.undercroft.serializer.state.Tuple;
import org.jspecify.annotations.Nullable;

/// A function or class that a pickle may call.
///
/// @param name its full name in Python
/// @param body what it does here: makes a value of its arguments and has no other effect
record PickleFunction(String name, Body body) {
    /// What a function does.
    @FunctionalInterface
    interface Body {
        /// Makes a value; throws [PickleFault] if the arguments are wrong.
        @Nullable
        Object call(Arguments arguments);
    }

    @Nullable
    Object call(Tuple values, Containers containers) {
        return body.call(new Arguments(name, values, containers));
    }
}
