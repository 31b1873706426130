package io.undercroft.interop.torch;

import io.undercroft.interop.internal.StateValues;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The arguments of a call in a pickle, of the types that the function needs.
final class CallArguments {
    private final String function;
    private final Tuple values;
    private final Containers containers;

    CallArguments(String function, Tuple values, Containers containers) {
        this.function = function;
        this.values = values;
        this.containers = containers;
    }

    /// {@return what fills maps and sets}
    Containers containers() {
        return containers;
    }

    /// {@return all arguments}
    Tuple values() {
        return values;
    }

    /// {@return what makes arrays of NumPy}
    PickledArrays arrays() {
        return containers.arrays();
    }

    /// {@return the number of arguments}
    int size() {
        return values.size();
    }

    /// Checks the number of arguments.
    void requireSize(int least, int most) {
        if (size() < least || size() > most) {
            throw PickleFault.malformed(function + " is called with " + size() + " arguments");
        }
    }

    /// {@return an argument of any type; null also where there is none}
    @Nullable
    Object get(int index) {
        return index < size() ? values.get(index) : null;
    }

    String string(int index) {
        return as(String.class, index, "a string");
    }

    boolean flag(int index) {
        return as(Boolean.class, index, "True or False");
    }

    long integer(int index) {
        return as(Long.class, index, "an integer");
    }

    double real(int index) {
        return as(Number.class, index, "a number").doubleValue();
    }

    Symbol symbol(int index) {
        return as(Symbol.class, index, "a constant");
    }

    DType dtype(int index) {
        return as(DType.class, index, "a dtype");
    }

    Tuple tuple(int index) {
        return as(Tuple.class, index, "a tuple");
    }

    List<?> list(int index) {
        return as(List.class, index, "a list");
    }

    Map<?, ?> map(int index) {
        return as(Map.class, index, "a dict");
    }

    Tensor tensor(int index) {
        return as(Tensor.class, index, "a tensor");
    }

    TypedStorage typedStorage(int index) {
        return as(TypedStorage.class, index, "a storage with a dtype");
    }

    /// {@return the bytes of a storage, with or without a dtype}
    Storage storage(int index) {
        return switch (get(index)) {
            case Storage storage -> storage;
            case TypedStorage storage -> storage.untyped();
            case null, default -> throw wrong(index, "a storage");
        };
    }

    /// {@return integers in a tuple, a list or a `torch.Size`}
    long[] integers(int index) {
        if (get(index) instanceof Shape shape) {
            return shape.toArray();
        }
        List<?> list = list(index);
        if (list.size() > Shape.MAX_RANK) {
            throw PickleFault.malformed(list.size() + " dimensions are more than the limit of " + Shape.MAX_RANK);
        }
        long[] integers = new long[list.size()];
        for (int i = 0; i < integers.length; i++) {
            if (!(list.get(i) instanceof Long number)) {
                throw wrong(index, "a tuple of integers");
            }
            integers[i] = number;
        }
        return integers;
    }

    Shape shape(int index) {
        return TensorRebuilder.shape(integers(index));
    }

    /// {@return why an argument is refused}
    ///
    /// @param index which argument
    /// @param wanted the expected type
    PickleFault wrong(int index, String wanted) {
        if (get(index) instanceof Symbol symbol && !Globals.isKnown(symbol)) {
            return PickleFault.global(symbol.name());
        }
        return PickleFault.malformed("argument " + (index + 1) + " of " + function + " is to be " + wanted + ", not "
                + (index < size() ? describe(get(index)) : "missing"));
    }

    private <T> T as(Class<T> type, int index, String wanted) {
        Object value = get(index);
        if (!type.isInstance(value)) {
            throw wrong(index, wanted);
        }
        return type.cast(value);
    }

    /// {@return what kind of value this is, in Python's words}
    static String describe(@Nullable Object value) {
        return switch (value) {
            case ByteString _ -> "bytes";
            case UnbuiltObject.OfNumpy _ -> "an array without elements";
            case UnbuiltObject.OfTorch _ -> "a tensor without elements";
            case TypedMap map when !PythonObjects.is(map) -> "a dict";
            case Typed typed -> "a value of type " + typed.type();
            case Symbol symbol when Globals.function(symbol) != null -> "the function " + symbol.name();
            case Symbol symbol when !Globals.isConstant(symbol) -> "the class " + symbol.name();
            case null, default -> StateValues.describe(value);
        };
    }
}
