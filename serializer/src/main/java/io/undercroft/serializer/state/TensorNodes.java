package io.undercroft.serializer.state;

import io.undercroft.storage.DType;
import io.undercroft.storage.Layout;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer;
import io.undercroft.storage.Quantizer.Channels;
import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseCompressedTensor;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import io.undercroft.storage.SparseTensor;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Converts nodes of a state to quantized and sparse tensors, and the reverse.
///
/// A state has the components of such tensors, so that each component has a name, is stored once and stays shared, and
/// any language can read them: a quantized tensor is a [Typed] of its stored integers, whose attributes are `scale` and
/// `zero_point`, or `scales`, `zero_points` and `axis`; a sparse tensor is a [TypedMap] of its components. The type is
/// PyTorch's name of the scheme or the layout, for instance `torch.per_tensor_affine` or `torch.sparse_csr`. Files of
/// PyTorch are read as such nodes. The conversions copy no elements, except parameters of channels of another dtype.
public final class TensorNodes {
    private TensorNodes() {}

    /// {@return the quantized tensor that a node of a state describes, or empty if it describes none}
    ///
    /// @param node a value of a state
    /// @throws IllegalArgumentException if the components are missing, have wrong types or do not match
    public static Optional<QuantizedTensor> quantized(@Nullable Object node) {
        if (!(node instanceof Typed typed)) {
            return Optional.empty();
        }
        Parts parts = new Parts(typed.type(), typed.attributes());
        Quantizer quantizer = switch (typed.type()) {
            case PerTensor.SCHEME ->
                new PerTensor(parts.number("scale").doubleValue(), parts.number("zero_point").longValue());
            case PerChannel.SCHEME, PerChannelFloat.SCHEME -> channels(parts);
            default -> null;
        };
        return Optional.ofNullable(quantizer)
                .map(known -> new QuantizedTensor(Parts.as(Tensor.class, typed.type(), "value", typed.value()), known));
    }

    /// {@return the sparse tensor that a node of a state describes, or empty if it describes none} The indices are not
    /// checked; [SparseTensor#validate] does.
    ///
    /// @param node a value of a state
    /// @throws IllegalArgumentException if the components are missing, have wrong types or do not match
    public static Optional<SparseTensor> sparse(@Nullable Object node) {
        if (!(node instanceof TypedMap map)) {
            return Optional.empty();
        }
        return Layout.find(map.type()).filter(layout -> layout != Layout.STRIDED)
                .map(layout -> sparse(layout, new Parts(map.type(), map)));
    }

    /// {@return the node that describes a quantized tensor in a state, on the same storages}
    ///
    /// @param tensor the quantized tensor
    public static Typed of(QuantizedTensor tensor) {
        Typed node = new Typed(tensor.qscheme(), tensor.integers());
        switch (tensor.quantizer()) {
            case PerTensor(double scale, long zeroPoint) -> {
                node.attributes().put("scale", scale);
                node.attributes().put("zero_point", zeroPoint);
            }
            case Channels channels -> {
                node.attributes().put("scales", channels.scales());
                node.attributes().put("zero_points", channels.zeroPoints());
                node.attributes().put("axis", (long) channels.axis());
            }
        }
        return node;
    }

    /// {@return the node that describes a sparse tensor in a state, on the same storages}
    ///
    /// @param tensor the sparse tensor
    public static TypedMap of(SparseTensor tensor) {
        TypedMap node = new TypedMap(tensor.layout().toString());
        switch (tensor) {
            case SparseCooTensor coo -> node.put("indices", coo.indices());
            case SparseCompressedTensor compressed -> {
                node.put(compressedName(tensor.layout()), compressed.compressedIndices());
                node.put(plainName(tensor.layout()), compressed.plainIndices());
            }
        }
        node.put("values", tensor.values());
        node.put("size", tensor.shape());
        if (tensor instanceof SparseCooTensor coo) {
            node.put("is_coalesced", coo.isCoalesced());
        }
        return node;
    }

    /// PyTorch decides by the type of the zero points, since it saves those of both schemes under the name of one.
    private static Quantizer channels(Parts parts) {
        boolean floats = parts.values().get("zero_points") instanceof Tensor points
                ? points.dtype().kind() == DType.Kind.FLOATING
                : parts.type().equals(PerChannelFloat.SCHEME);
        return floats
                ? new PerChannelFloat(parts.vector("scales", DType.FLOAT32), parts.vector("zero_points", DType.FLOAT32),
                        parts.axis())
                : new PerChannel(parts.vector("scales", DType.FLOAT64), parts.vector("zero_points", DType.INT64),
                        parts.axis());
    }

    private static SparseTensor sparse(Layout layout, Parts parts) {
        Tensor values = parts.get(Tensor.class, "values");
        Shape size = parts.get(Shape.class, "size");
        if (layout == Layout.SPARSE_COO) {
            // PyTorch before 2.0 did not record it; then they are treated as uncoalesced.
            boolean coalesced = Boolean.TRUE.equals(parts.values().get("is_coalesced"));
            return new SparseCooTensor(parts.get(Tensor.class, "indices"), values, size,
                    coalesced ? Coalescence.COALESCED : Coalescence.UNCOALESCED);
        }
        return new SparseCompressedTensor(layout, parts.get(Tensor.class, compressedName(layout)),
                parts.get(Tensor.class, plainName(layout)), values, size);
    }

    private static String compressedName(Layout layout) {
        return layout.compressesRows() ? "crow_indices" : "ccol_indices";
    }

    private static String plainName(Layout layout) {
        return layout.compressesRows() ? "col_indices" : "row_indices";
    }

    /// The parts of a node by name.
    ///
    /// @param type the type of the node
    /// @param values the parts
    private record Parts(String type, Map<?, ?> values) {
        <T> T get(Class<T> wanted, String name) {
            return as(wanted, type, name, values.get(name));
        }

        Number number(String name) {
            return get(Number.class, name);
        }

        int axis() {
            long axis = number("axis").longValue();
            if (axis < 0 || axis >= Shape.MAX_RANK) {
                throw new IllegalArgumentException("a node of type " + type + " has the axis " + axis);
            }
            return (int) axis;
        }

        /// Parameters of channels; old files of PyTorch list them, and other types are converted, as by PyTorch.
        Tensor vector(String name, DType dtype) {
            if (!(values.get(name) instanceof List<?> list)) {
                return get(Tensor.class, name).to(dtype);
            }
            Tensor vector = Tensor.zeros(dtype, list.size());
            for (int i = 0; i < list.size(); i++) {
                Number number = as(Number.class, type, name, list.get(i));
                if (dtype.kind() == DType.Kind.FLOATING) {
                    vector.setDouble(i, number.doubleValue());
                } else {
                    vector.setLong(i, number.longValue());
                }
            }
            return vector;
        }

        static <T> T as(Class<T> wanted, String type, String name, @Nullable Object value) {
            if (!wanted.isInstance(value)) {
                throw new IllegalArgumentException("in a node of type " + type + ", " + name + " is "
                        + (value == null ? "missing" : "of type " + value.getClass().getSimpleName())
                        + "; it should be of type " + wanted.getSimpleName());
            }
            return wanted.cast(value);
        }
    }
}
