package io.undercroft.interop.torch;

import static io.undercroft.interop.internal.TensorsByName.withGrad;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// What PyTorch's `_rebuild_*` functions do: make tensors of storages.
final class TensorRebuilder {
    static final String TENSOR = "torch.Tensor";
    static final String PARAMETER = "torch.nn.parameter.Parameter";
    /// The type of the node that stands for a nested tensor.
    static final String NESTED_TYPE = "torch.nested";
    static final List<String> NESTED_PARTS = List.of("buffer", "sizes", "strides", "storage_offsets");

    // The functions by their names.
    static final String TENSOR_V2 = "torch._utils._rebuild_tensor_v2";
    static final String TENSOR_V3 = "torch._utils._rebuild_tensor_v3";
    static final String META = "torch._utils._rebuild_meta_tensor_no_storage";
    static final String QUANTIZED = "torch._utils._rebuild_qtensor";
    static final String SPARSE = "torch._utils._rebuild_sparse_tensor";
    static final String NESTED = "torch._utils._rebuild_nested_tensor";
    static final String MAKE_PARAMETER = "torch._utils._rebuild_parameter";
    static final String MAKE_PARAMETER_WITH_STATE = "torch._utils._rebuild_parameter_with_state";
    static final String FROM_TYPE = "torch._tensor._rebuild_from_type_v2";

    /// The parts of a compressed sparse tensor, in the order in which they are pickled.
    static final Map<String, List<String>> SPARSE_PARTS = Map.of(
            "torch.sparse_coo", List.of("indices", "values", "size", "is_coalesced"),
            "torch.sparse_csr", List.of("crow_indices", "col_indices", "values", "size"),
            "torch.sparse_csc", List.of("ccol_indices", "row_indices", "values", "size"),
            "torch.sparse_bsr", List.of("crow_indices", "col_indices", "values", "size"),
            "torch.sparse_bsc", List.of("ccol_indices", "row_indices", "values", "size"));

    private TensorRebuilder() {}

    /// `(storage, offset, size, stride)`
    static Tensor tensor(CallArguments arguments) {
        if (arguments.size() < 4) {
            arguments.requireSize(4, 4);
        }
        TypedStorage storage = arguments.typedStorage(0);
        return strided(storage.untyped(), storage.dtype(), arguments);
    }

    /// `(storage, offset, size, stride, requires_grad, hooks[, {"conj": True, "neg": True}])`
    static Tensor tensorV2(CallArguments arguments) {
        arguments.requireSize(6, 7);
        return flagged(tensor(arguments), arguments, 6);
    }

    /// `(storage, offset, size, stride, requires_grad, hooks, dtype[, {"conj": True, "neg": True}])`
    static Tensor tensorV3(CallArguments arguments) {
        arguments.requireSize(7, 8);
        return flagged(strided(arguments.storage(0), arguments.dtype(6), arguments), arguments, 7);
    }

    /// `(dtype, size, stride, requires_grad)`: sizes without bytes.
    static Tensor meta(CallArguments arguments) {
        arguments.requireSize(4, 4);
        DType dtype = arguments.dtype(0);
        Shape shape = arguments.shape(1);
        long[] stride = arguments.integers(2);
        Storage storage = Storage.meta(extent(dtype, shape, stride));
        return withGrad(checked(storage, dtype, 0, shape, stride), arguments.flag(3));
    }

    /// `(tensor, dtype, device, requires_grad)`: a tensor of a device that has no storages, for instance a TPU, is
    /// pickled as its copy on the CPU, and stays there.
    static Tensor fromCpu(CallArguments arguments) {
        arguments.requireSize(4, 4);
        Tensor tensor = arguments.tensor(0);
        if (!tensor.dtype().equals(arguments.dtype(1))) {
            throw arguments.wrong(1, tensor.dtype().name());
        }
        return withGrad(tensor, arguments.flag(3));
    }

    /// `(storage, offset, size, stride, (scheme, …), requires_grad, hooks)`
    static Typed quantized(CallArguments arguments) {
        arguments.requireSize(7, 7);
        Tensor tensor = withGrad(tensor(arguments), arguments.flag(5));
        CallArguments quantizer = new CallArguments("a quantizer", arguments.tuple(4), arguments.containers());
        String scheme = quantizer.symbol(0).name();
        Typed typed = new Typed(scheme, tensor);
        switch (scheme) {
            case "torch.per_tensor_affine", "torch.per_tensor_symmetric" -> {
                quantizer.requireSize(3, 3);
                typed.attributes().put("scale", quantizer.real(1));
                typed.attributes().put("zero_point", quantizer.integer(2));
            }
            case "torch.per_channel_affine", "torch.per_channel_symmetric",
                    "torch.per_channel_affine_float_qparams" -> {
                quantizer.requireSize(4, 4);
                typed.attributes().put("scales", perChannel(quantizer, 1, tensor));
                typed.attributes().put("zero_points", perChannel(quantizer, 2, tensor));
                typed.attributes().put("axis", quantizer.integer(3));
            }
            default -> throw quantizer.wrong(0, "a quantization scheme");
        }
        return typed;
    }

    /// `(layout, parts)`; a coordinate tensor of an old file lacks the last part.
    static TypedMap sparse(CallArguments arguments) {
        arguments.requireSize(2, 2);
        String layout = arguments.symbol(0).name();
        List<String> names = SPARSE_PARTS.get(layout);
        if (names == null) {
            throw arguments.wrong(0, "a sparse layout");
        }
        CallArguments parts = new CallArguments(layout, arguments.tuple(1), arguments.containers());
        parts.requireSize(names.contains("is_coalesced") ? 3 : 4, 4);
        TypedMap map = new TypedMap(layout);
        for (int i = 0; i < names.size(); i++) {
            map.put(names.get(i), switch (names.get(i)) {
                case "size" -> parts.shape(i);
                case "is_coalesced" -> parts.get(i) == null ? null : parts.flag(i);
                default -> parts.tensor(i);
            });
        }
        return map;
    }

    /// `(buffer, sizes, strides, storage_offsets)`
    static TypedMap nested(CallArguments arguments) {
        arguments.requireSize(4, 4);
        TypedMap map = new TypedMap(NESTED_TYPE);
        for (int i = 0; i < NESTED_PARTS.size(); i++) {
            map.put(NESTED_PARTS.get(i), arguments.tensor(i));
        }
        return map;
    }

    /// `(tensor, requires_grad, hooks)`
    static Typed parameter(CallArguments arguments) {
        arguments.requireSize(3, 3);
        return parameterOf(arguments, arguments.flag(1));
    }

    /// `(tensor, requires_grad, hooks, attributes)`
    static Typed parameterWithState(CallArguments arguments) {
        arguments.requireSize(4, 4);
        Typed parameter = parameterOf(arguments, arguments.flag(1));
        arguments.containers().setAttributes(parameter.attributes(), arguments.get(3));
        return parameter;
    }

    /// `Parameter(tensor[, requires_grad])`: the class itself.
    static Typed parameterClass(CallArguments arguments) {
        arguments.requireSize(1, 2);
        return parameterOf(arguments, arguments.size() == 1 || arguments.flag(1));
    }

    /// Sets the state of a parameter, as PyTorch before 0.4 pickled it: `(requires_grad, volatile, hooks)`.
    ///
    /// @param parameter a plain one
    static void setState(Typed parameter, CallArguments state) {
        state.requireSize(3, 3);
        if (!(parameter.value() instanceof Tensor tensor && parameter.type().equals(PARAMETER))) {
            throw PickleFault.malformed("no state can be set on " + CallArguments.describe(parameter));
        }
        parameter.value(withGrad(tensor, state.flag(0)));
    }

    /// `(function, class, arguments, attributes)`: a tensor with attributes, or of a subclass.
    static Object fromType(CallArguments arguments) {
        arguments.requireSize(4, 4);
        // Itself it may not call: that could nest as deep as the file likes.
        Globals.Function function = Globals.function(arguments.get(0));
        if (function == null || !function.name().startsWith("torch._utils.")) {
            throw arguments.wrong(0, "a function that makes a tensor");
        }
        Object made = Objects.requireNonNull(function.call(arguments.tuple(2), arguments.containers()));
        String type = switch (arguments.get(1)) {
            case Symbol known when known.name().equals(TENSOR) || known.name().equals(PARAMETER) -> known.name();
            case Symbol foreign when !Globals.isKnown(foreign) && ForeignNames.isName(foreign.name()) -> foreign.name();
            case null, default -> throw arguments.wrong(1, "a class of tensors");
        };
        return withAttributes(made, type, arguments.get(3), arguments.containers());
    }

    private static Object withAttributes(Object made, String type, @Nullable Object state, Containers containers) {
        switch (made) {
            case TypedMap parts when type.equals(TENSOR) -> containers.setAttributes(parts.attributes(), state);
            case TypedMap parts -> throw unsupported(parts, type);
            case Typed same when same.type().equals(type) -> containers.setAttributes(same.attributes(), state);
            default -> {
                Typed typed = new Typed(type, made);
                containers.setAttributes(typed.attributes(), state);
                return typed;
            }
        }
        return made;
    }

    private static PickleFault unsupported(TypedMap parts, String type) {
        return PickleFault.because("TORCH-UNSUPPORTED", "a tensor of layout " + parts.type() + " is a " + type,
                "Only plain tensors of that layout are read; in Python, save it as a plain tensor");
    }

    private static Typed parameterOf(CallArguments arguments, boolean requiresGrad) {
        return switch (arguments.get(0)) {
            case Tensor tensor -> new Typed(PARAMETER, withGrad(tensor, requiresGrad));
            case Typed typed -> new Typed(PARAMETER, typed);
            case TypedMap parts -> throw unsupported(parts, PARAMETER);
            case null, default -> throw arguments.wrong(0, "a tensor");
        };
    }

    /// Scales and zero points are a tensor or a list, one for each index of the axis.
    private static Object perChannel(CallArguments quantizer, int index, Tensor tensor) {
        long axis = quantizer.integer(3);
        if (axis < 0 || axis >= tensor.dim()) {
            throw quantizer.wrong(3, "a dimension of the tensor");
        }
        Object values = quantizer.get(index);
        long count = switch (values) {
            case Tensor given -> given.numel();
            case List<?> list when isCharged(list, quantizer) && list.stream().allMatch(Number.class::isInstance) ->
                list.size();
            case null, default -> -1;
        };
        if (values == null || count != tensor.size((int) axis)) {
            throw quantizer.wrong(index, "one number for each channel");
        }
        return values;
    }

    /// One list may be looked through for many tensors.
    private static boolean isCharged(List<?> list, CallArguments arguments) {
        arguments.containers().budget().takeSteps(list.size());
        return true;
    }

    private static Tensor strided(Storage storage, DType dtype, CallArguments arguments) {
        long offset = arguments.integer(1);
        Shape shape = arguments.shape(2);
        long[] stride = arguments.integers(3);
        try {
            return checked(storage, dtype, offset, shape, stride);
        } catch (PickleFault refused) {
            // The pickle continues behind it, and has other tensors.
            arguments.containers().budget().takeMemory(ReadBudget.UNREADABLE);
            return Unreadable.tensor(
                    refused.at("", FormatException.NO_OFFSET).withFile(arguments.containers().file()), shape);
        }
    }

    /// {@return a tensor that lies inside its storage}
    ///
    /// @throws PickleFault if it would not
    static Tensor checked(Storage storage, DType dtype, long offset, Shape shape, long[] stride) {
        try {
            return Tensor.of(storage, dtype, offset, shape, stride);
        } catch (IllegalArgumentException e) {
            throw PickleFault.because("TORCH-TENSOR", "a tensor does not fit its storage: " + e.getMessage(),
                    PickleFault.DAMAGED);
        }
    }

    /// {@return a shape}
    ///
    /// @throws PickleFault if a size is negative, or there are too many
    static Shape shape(long... sizes) {
        try {
            return Shape.of(sizes);
        } catch (IllegalArgumentException e) {
            throw PickleFault.because("TORCH-TENSOR", String.valueOf(e.getMessage()), PickleFault.DAMAGED);
        }
    }

    private static Tensor flagged(Tensor tensor, CallArguments arguments, int metadata) {
        EnumSet<Tensor.Flag> flags = EnumSet.noneOf(Tensor.Flag.class);
        if (arguments.flag(4)) {
            flags.add(Tensor.Flag.REQUIRES_GRAD);
        }
        if (arguments.get(metadata) != null) {
            // As in PyTorch, a name sets its flag whatever its value is; only True is written.
            arguments.map(metadata).keySet().forEach(name -> flags.add(switch (name) {
                case String text when text.equals("conj") -> Tensor.Flag.CONJ;
                case String text when text.equals("neg") -> Tensor.Flag.NEG;
                case null, default -> throw arguments.wrong(metadata, "a dict of conj and neg");
            }));
        }
        try {
            return flags.isEmpty() || Unreadable.why(tensor).isPresent() ? tensor : tensor.withFlags(flags);
        } catch (IllegalArgumentException e) {
            throw PickleFault.malformed(String.valueOf(e.getMessage()));
        }
    }

    /// Returns the bytes that a tensor reaches, counted from its first element.
    static long extent(DType dtype, Shape shape, long[] stride) {
        try {
            if (shape.numel() == 0) {
                return 0;
            }
            long elements = 1;
            for (int dim = 0; dim < Math.min(stride.length, shape.rank()); dim++) {
                elements = Math.addExact(elements, Math.multiplyExact(shape.size(dim) - 1, stride[dim]));
            }
            return elements < 0 ? 0 : dtype.nbytes(elements);
        } catch (ArithmeticException _) {
            throw PickleFault.because("TORCH-TENSOR", "a meta tensor has more than 2^63-1 bytes", PickleFault.DAMAGED);
        }
    }
}
