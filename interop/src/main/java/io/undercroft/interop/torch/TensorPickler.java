package io.undercroft.interop.torch;

import io.undercroft.interop.torch.Pickler.Call;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Writes tensors of all kinds as the calls that make them again: what [TensorRebuilder] does, backwards.
final class TensorPickler {
    /// The attributes of the nodes that stand for quantized tensors, in the order in which they are pickled.
    private static final List<String> PER_TENSOR = List.of("scale", "zero_point");
    private static final List<String> PER_CHANNEL = List.of("scales", "zero_points", "axis");
    private static final Map<String, List<String>> SCHEMES = Map.of("torch.per_tensor_affine", PER_TENSOR,
            "torch.per_tensor_symmetric", PER_TENSOR, "torch.per_channel_affine", PER_CHANNEL,
            "torch.per_channel_symmetric", PER_CHANNEL, "torch.per_channel_affine_float_qparams", PER_CHANNEL);

    private final Pickler pickler;
    private final PickleOutput out;
    private final StorageKeys storages;

    TensorPickler(Pickler pickler, PickleOutput out, StorageKeys storages) {
        this.pickler = pickler;
        this.out = out;
        this.storages = storages;
    }

    /// {@return whether PyTorch has a value as a tensor: a plain one, a parameter, a quantized or sparse one, or one of
    /// a subclass}
    static boolean isTensor(@Nullable Object value) {
        return value instanceof TypedMap map
                ? TensorRebuilder.SPARSE_PARTS.containsKey(map.type()) || map.type().equals(TensorRebuilder.NESTED_TYPE)
                : StateIndex.held(value) instanceof Tensor;
    }

    // ---- storages ----

    /// Writes a storage that is in the state itself, with its type of elements.
    void storage(TypedStorage typed) {
        storage(typed.untyped(), typedClass(typed.untyped(), typed), true);
    }

    /// Writes what names a storage: `("storage", class, key, location, number of elements)`.
    ///
    /// @param needsClass whether it cannot be named as bytes here
    void storage(Storage storage, StorageClass type, boolean needsClass) {
        if (storage.isMeta()) {
            throw new IllegalArgumentException("a storage without bytes (meta); PyTorch saves tensors on meta only");
        }
        if (storage.referenceCount() == 0) {
            throw new IllegalArgumentException(storage.describe() + " has no bytes any more; save it while what it was "
                    + "opened from is open");
        }
        out.op(Opcode.MARK);
        pickler.text("storage");
        pickler.global(type.name());
        pickler.text(Integer.toString(storages.keyOf(storage, type, needsClass)));
        pickler.text(storage.device().toString());
        out.integer(storage.nbytes() / type.itemsize());
        out.op(Opcode.TUPLE);
        out.op(Opcode.BINPERSID);
    }

    /// {@return the class of a storage that cannot be named as bytes}
    private StorageClass typedClass(Storage storage, TypedStorage wanted) {
        StorageClass type = storages.typedClassOf(storage, wanted.dtype());
        if (type.dtype() == null) {
            throw new IllegalArgumentException("a storage of " + storage.nbytes() + " bytes cannot be one of "
                    + wanted.dtype().name()
                    + " in PyTorch: there is no such class, its size does not fit, or elements of "
                    + "other types use it too");
        }
        return type;
    }

    // ---- tensors ----

    /// {@return what makes a tensor}
    Call call(Tensor tensor) {
        return call(tensor, requiresGrad(tensor));
    }

    private Call call(Tensor tensor, boolean requiresGrad) {
        if (tensor.storage().isMeta()) {
            return new Call(TensorRebuilder.META, () -> meta(tensor, requiresGrad));
        }
        StorageClass type = requiresGrad
                ? storages.typedClassOf(tensor.storage(), tensor.dtype())
                : storages.classOf(tensor.storage(), tensor.dtype());
        if (requiresGrad && type.dtype() == null) {
            throw new IllegalArgumentException("a tensor of " + tensor.dtype().name()
                    + " that requires a gradient, on a "
                    + "storage that PyTorch has no class for: it cannot load that; take the flag away, or make a "
                    + "parameter of it");
        }
        String function = type.dtype() == null ? TensorRebuilder.TENSOR_V3 : TensorRebuilder.TENSOR_V2;
        return new Call(function, () -> strided(tensor, type, requiresGrad));
    }

    /// `(storage, offset, size, stride, requires_grad, hooks[, dtype][, {"conj": True, "neg": True}])`
    private void strided(Tensor tensor, StorageClass type, boolean requiresGrad) {
        out.op(Opcode.MARK);
        geometry(tensor, type, requiresGrad);
        out.truth(requiresGrad);
        hooks();
        if (type.dtype() == null) {
            pickler.dtype(tensor.dtype());
        }
        if (tensor.is(Tensor.Flag.CONJ) || tensor.is(Tensor.Flag.NEG)) {
            out.op(Opcode.EMPTY_DICT);
            flag(tensor, Tensor.Flag.CONJ, "conj");
            flag(tensor, Tensor.Flag.NEG, "neg");
        }
        out.op(Opcode.TUPLE);
    }

    private void flag(Tensor tensor, Tensor.Flag flag, String name) {
        if (tensor.is(flag)) {
            pickler.text(name);
            out.truth(true);
            out.op(Opcode.SETITEM);
        }
    }

    /// `(dtype, size, stride, requires_grad)`: as by PyTorch, each stands for itself and starts at its first element.
    private void meta(Tensor tensor, boolean requiresGrad) {
        if (tensor.dtype().kind() == DType.Kind.QUANTIZED) {
            throw new IllegalArgumentException("a tensor of " + tensor.dtype().name()
                    + " on the meta device, where PyTorch has none; leave it out, or give it bytes");
        }
        out.op(Opcode.MARK);
        pickler.dtype(tensor.dtype());
        pickler.integers(tensor.shape().toArray());
        pickler.integers(tensor.stride());
        out.truth(requiresGrad);
        out.op(Opcode.TUPLE);
    }

    private void geometry(Tensor tensor, StorageClass type, boolean needsClass) {
        storage(tensor.storage(), type, needsClass);
        out.integer(tensor.storageOffset());
        pickler.integers(tensor.shape().toArray());
        pickler.integers(tensor.stride());
    }

    /// PyTorch saves no hooks, but a place for them.
    private void hooks() {
        pickler.global(Globals.ORDERED_DICT);
        out.op(Opcode.EMPTY_TUPLE);
        out.op(Opcode.REDUCE);
    }

    // ---- nodes that stand for tensors ----

    /// {@return what makes the tensor that a node stands for}
    ///
    /// @throws IllegalArgumentException if it stands for no tensor of PyTorch's
    Call call(Typed typed) {
        List<String> parameters = SCHEMES.get(typed.type());
        if (parameters != null) {
            return new Call(TensorRebuilder.QUANTIZED, () -> quantized(typed, parameters));
        }
        if (typed.type().equals(TensorRebuilder.PARAMETER)) {
            String function = typed.attributes().isEmpty()
                    ? TensorRebuilder.MAKE_PARAMETER
                    : TensorRebuilder.MAKE_PARAMETER_WITH_STATE;
            return new Call(function, () -> parameter(typed));
        }
        if (!ForeignNames.isName(typed.type())) {
            throw unknown(typed.type());
        }
        return fromType(typed.type(), plainCall(typed), typed.attributes());
    }

    /// {@return what makes the tensor that a map of parts stands for}
    ///
    /// @throws IllegalArgumentException if it stands for no tensor of PyTorch's
    Call call(TypedMap map) {
        Call call;
        List<String> sparse = TensorRebuilder.SPARSE_PARTS.get(map.type());
        if (sparse != null) {
            call = new Call(TensorRebuilder.SPARSE, () -> sparse(map, sparse));
        } else if (map.type().equals(TensorRebuilder.NESTED_TYPE)) {
            call = new Call(TensorRebuilder.NESTED, () -> parts(map.type(), map, TensorRebuilder.NESTED_PARTS));
        } else {
            throw unknown(map.type());
        }
        return map.attributes().isEmpty() ? call : fromType(TensorRebuilder.TENSOR, call, map.attributes());
    }

    /// {@return what makes the tensor inside of one that has a class or attributes} Python reads only one such call in
    /// another.
    private Call plainCall(Typed outer) {
        return switch (outer.value()) {
            case Tensor tensor -> call(tensor);
            case Typed inner when SCHEMES.containsKey(inner.type()) || inner.type().equals(TensorRebuilder.PARAMETER) ->
                call(inner);
            case null, default -> throw unknown(outer.type());
        };
    }

    private static IllegalArgumentException unknown(String type) {
        return new IllegalArgumentException("a value of type " + type + " is none of PyTorch's; use null, a"
                + " Boolean, Long, Double, BigInteger or String, a byte[], a List, Map or Set of such values, or a"
                + " Tensor");
    }

    /// `(function, class, arguments, attributes)`
    private Call fromType(String type, Call inner, SequencedMap<String, @Nullable Object> attributes) {
        return new Call(TensorRebuilder.FROM_TYPE, () -> {
            out.op(Opcode.MARK);
            pickler.global(inner.function());
            pickler.global(type);
            inner.arguments().run();
            pickler.attributes(attributes);
            out.op(Opcode.TUPLE);
        });
    }

    /// `(tensor, requires_grad, hooks[, attributes])`
    private void parameter(Typed typed) {
        out.op(Opcode.MARK);
        if (typed.value() instanceof Tensor tensor) {
            pickler.call(call(tensor, false));
        } else if (typed.value() instanceof Typed) {
            pickler.write(typed.value());
        } else {
            throw new IllegalArgumentException("a parameter is a tensor");
        }
        out.truth(requiresGrad(typed));
        hooks();
        if (!typed.attributes().isEmpty()) {
            pickler.attributes(typed.attributes());
        }
        out.op(Opcode.TUPLE);
    }

    private static boolean requiresGrad(Typed parameter) {
        return StateIndex.held(parameter) instanceof Tensor tensor && requiresGrad(tensor);
    }

    private static boolean requiresGrad(Tensor tensor) {
        DType dtype = tensor.dtype();
        boolean wanted = tensor.is(Tensor.Flag.REQUIRES_GRAD);
        boolean possible = dtype.kind() == DType.Kind.FLOATING || dtype.kind() == DType.Kind.COMPLEX
                || dtype.equals(DType.FLOAT4_E2M1FN_X2);
        if (wanted && !possible) {
            throw new IllegalArgumentException(
                    "a tensor of " + dtype.name() + " that requires a gradient, which PyTorch"
                            + " does not have; take the flag away");
        }
        return wanted;
    }

    /// `(storage, offset, size, stride, (scheme, …), requires_grad, hooks)`
    private void quantized(Typed typed, List<String> parameters) {
        if (!(typed.value() instanceof Tensor tensor)) {
            throw new IllegalArgumentException("a quantized tensor is made of a tensor of integers");
        }
        out.op(Opcode.MARK);
        geometry(tensor, typedClass(tensor.storage(), new TypedStorage(tensor.storage(), tensor.dtype())), true);
        out.op(Opcode.MARK);
        pickler.symbol(new Symbol(typed.type()));
        values(typed.type(), typed.attributes(), parameters);
        out.op(Opcode.TUPLE);
        out.truth(requiresGrad(tensor));
        hooks();
        out.op(Opcode.TUPLE);
    }

    /// `(layout, parts)`
    private void sparse(TypedMap map, List<String> names) {
        pickler.symbol(new Symbol(map.type()));
        parts(map.type(), map, names);
        out.op(Opcode.TUPLE2);
    }

    private void parts(String type, Map<?, ?> parts, List<String> names) {
        out.op(Opcode.MARK);
        values(type, parts, names);
        out.op(Opcode.TUPLE);
    }

    private void values(String type, Map<?, ?> parts, List<String> names) {
        if (!parts.keySet().equals(Set.copyOf(names))) {
            throw new IllegalArgumentException("a node of type " + type + " has the parts " + names + " and no others");
        }
        names.forEach(name -> pickler.write(parts.get(name)));
    }
}
