package io.undercroft.interop.internal;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Values of states in messages.
public final class StateValues {
    private StateValues() {}

    /// {@return what a value is, in the words of the programs that write such files: `an integer`, `a list`}
    ///
    /// @param value a value of a state
    public static String describe(@Nullable Object value) {
        return switch (value) {
            case null -> "None";
            case Boolean _ -> "a bool";
            case Double _,Float _ -> "a float";
            case Number _ -> "an integer";
            case String _ -> "a string";
            case byte[] _ -> "bytes";
            case Complex _ -> "a complex number";
            case Tuple _ -> "a tuple";
            case List<?> _ -> "a list";
            case TypedMap object when PythonObjects.is(object) -> "an object of " + PythonObjects.className(object);
            case TypedMap map -> "of type " + map.type();
            case Map<?, ?> _ -> "a dict";
            case Set<?> _ -> "a set";
            case Tensor _ -> "a tensor";
            case Storage _,TypedStorage _ -> "a storage";
            case DType _ -> "a dtype";
            case Device _ -> "a device";
            case Shape _ -> "a shape";
            case Typed typed -> "of type " + typed.type();
            case Symbol symbol -> "the constant " + symbol.name();
            default -> "of the Java class " + value.getClass().getName();
        };
    }
}
