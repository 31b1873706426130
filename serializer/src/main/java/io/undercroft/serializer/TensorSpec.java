package io.undercroft.serializer;

import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The dtype and the shape of a tensor.
///
/// @param dtype the type of the elements
/// @param shape the size in each dimension
public record TensorSpec(DType dtype, Shape shape) {
    /// Checks that the arguments are not null.
    public TensorSpec {
        Objects.requireNonNull(dtype, "dtype");
        Objects.requireNonNull(shape, "shape");
    }

    /// {@return the dtype and the shape of a tensor}
    ///
    /// @param tensor the tensor, of which no elements are read
    public static TensorSpec of(Tensor tensor) {
        return new TensorSpec(tensor.dtype(), tensor.shape());
    }

    /// {@return the specs of the tensors of a state by name, in the order of the state}
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, which may have meta tensors
    /// @throws IllegalArgumentException if it is deeper or has longer names than a
    ///     [state][io.undercroft.serializer.state] may have
    public static SequencedMap<String, TensorSpec> ofState(@Nullable Object state) {
        return ofState(state, StateClasses.of());
    }

    /// {@return the specs of the tensors of a state by name, in the order of the state}
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, which may have meta tensors and objects of
    ///     the classes
    /// @param classes the classes whose objects may be in it
    /// @throws IllegalArgumentException if it has other objects, or is deeper or has longer names than a
    ///     [state][io.undercroft.serializer.state] may have
    public static SequencedMap<String, TensorSpec> ofState(@Nullable Object state, StateClasses classes) {
        Objects.requireNonNull(classes, "classes");
        SequencedMap<String, TensorSpec> specs = new LinkedHashMap<>();
        StateIndex.of(ObjectEncoder.of(state, classes, "look into")).tensors()
                .forEach((name, tensor) -> specs.put(name, of(tensor)));
        return specs;
    }

    /// {@return for instance `float32 [2, 3]`}
    @Override
    public String toString() {
        return dtype.name() + " " + shape;
    }
}
