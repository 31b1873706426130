package io.undercroft.serializer;

import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// What a tensor is, without its elements and strides.
///
/// @param dtype the type of the elements
/// @param shape the size in each dimension
public record TensorSpec(DType dtype, Shape shape) {
    /// Checks that both are there.
    public TensorSpec {
        Objects.requireNonNull(dtype, "dtype");
        Objects.requireNonNull(shape, "shape");
    }

    /// {@return what a tensor is}
    ///
    /// @param tensor the tensor; none of its elements is read
    public static TensorSpec of(Tensor tensor) {
        return new TensorSpec(tensor.dtype(), tensor.shape());
    }

    /// {@return what the tensors of a state are, by their names in the order of the state}
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it; meta tensors will do
    /// @throws IllegalArgumentException if it is deeper, or its names are longer, than [StateIndex] allows
    public static SequencedMap<String, TensorSpec> ofState(@Nullable Object state) {
        return ofState(state, StateClasses.of());
    }

    /// {@return what the tensors of a state are, by their names in the order of the state}
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, and objects of the classes; meta tensors
    ///     will do
    /// @param classes the classes whose objects may be in it
    /// @throws IllegalArgumentException if it holds other objects, is deeper, or its names are longer, than
    ///     [StateIndex] allows
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
