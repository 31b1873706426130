package io.undercroft.interop.torch;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Tensors of which each process has a part: a `DTensor`, and the older `ShardedTensor` of FSDP. A file of `torch.save`
/// has the part of one process, and where that part is in the whole. In a state such a tensor is a [Typed] of its class
/// whose value is the local part, so that the part has the name of the tensor. Its attributes are:
///
/// | attribute | |
/// |---|---|
/// | `shape` | the sizes of the whole tensor |
/// | `placements` | how the whole is divided, or of a `ShardedTensor` where the part is: objects as the file has them |
/// | `arguments` | what the tensor is made of in Python, with [#LOCAL] in place of the local part |
final class DistributedTensor {
    /// Represents the local part.
    static final Symbol LOCAL = new Symbol("python:local_tensor");
    private static final Symbol WRAPPER = new Symbol("torch._utils._rebuild_wrapper_subclass");
    private static final String SHAPE = "shape";
    private static final String PLACEMENTS = "placements";

    private DistributedTensor() {}

    /// {@return the node of a distributed tensor, or null if a call makes no such tensor, or one of several parts}
    ///
    /// @param values the arguments of `_rebuild_from_type_v2`: `(function, class, arguments, state)`
    /// @param names counts the parts
    static @Nullable Typed of(Tuple values, ForeignNames names, Containers containers) {
        if (values.size() != 4 || !WRAPPER.equals(values.get(0)) || !(values.get(1) instanceof Symbol type)
                || !(values.get(2) instanceof Tuple made && made.size() > 2)) {
            return null;
        }
        Parts parts = parts(values.get(3), containers);
        Tensor local = parts == null ? null : TensorsByName.tensorIn(parts.local);
        if (parts == null || local == null) {
            return null;
        }
        Shape whole = new CallArguments(WRAPPER.name(), made, containers).shape(2);
        names.addLocalPart(local, whole);
        Typed node = new Typed(type.name(), parts.local);
        node.attributes().put(SHAPE, whole);
        node.attributes().put(PLACEMENTS, parts.placements);
        node.attributes().put(InertObject.ARGUMENTS,
                Tuple.of(values.get(0), type, made, parts.state));
        return node;
    }

    /// {@return the arguments of a distributed tensor, with [#LOCAL] in place of its value; null if it is none}
    ///
    /// @param typed a value of a state
    static @Nullable Tuple arguments(Typed typed) {
        return typed.attributes().get(InertObject.ARGUMENTS) instanceof Tuple arguments && arguments.size() == 4
                && WRAPPER.equals(arguments.get(0)) ? arguments : null;
    }

    /// The parts of the state of a distributed tensor.
    ///
    /// @param state the same without the local part
    private record Parts(@Nullable Object local, @Nullable Object placements, Object state) {}

    private static @Nullable Parts parts(@Nullable Object state, Containers containers) {
        if (state instanceof Map<?, ?> attributes) {
            return ofDTensor(attributes, containers);
        }
        if (!(state instanceof Tuple tuple && tuple.size() > 1)) {
            return null;
        }
        if (tuple.size() == 2 && tuple.get(1) instanceof Map<?, ?> slots) {
            Parts parts = ofDTensor(slots, containers);
            return parts == null
                    ? null
                    : new Parts(parts.local, parts.placements, Tuple.of(tuple.get(0), parts.state));
        }
        return tuple.get(0) instanceof List<?> shards && shards.size() == 1
                && shards.getFirst() instanceof TypedMap shard && PythonObjects.is(shard)
                        ? ofShard(shard, tuple, containers)
                        : null;
    }

    private static @Nullable Parts ofDTensor(Map<?, ?> attributes, Containers containers) {
        if (!attributes.containsKey("_local_tensor")) {
            return null;
        }
        Object placements = attributes.get("_spec") instanceof Map<?, ?> spec ? spec.get(PLACEMENTS) : null;
        return new Parts(attributes.get("_local_tensor"), placements,
                without(attributes, "_local_tensor", containers));
    }

    private static @Nullable Parts ofShard(TypedMap shard, Tuple state, Containers containers) {
        if (!(shard.attributes().get(InertObject.STATE) instanceof Tuple pair && pair.size() == 2
                && pair.get(1) instanceof Map<?, ?> slots && slots.containsKey("tensor"))) {
            return null;
        }
        TypedMap copy = new TypedMap(shard.type());
        copy.attributes().putAll(shard.attributes());
        copy.attributes().put(InertObject.STATE, Tuple.of(pair.get(0), without(slots, "tensor", containers)));
        containers.charge((long) shard.attributes().size() + state.size());
        List<@Nullable Object> rest = new ArrayList<>(state);
        rest.set(0, new ArrayList<>(List.of(copy)));
        return new Parts(slots.get("tensor"), slots.get("metadata"), new Tuple(rest));
    }

    private static Map<Object, @Nullable Object> without(Map<?, ?> attributes, String local, Containers containers) {
        containers.charge(attributes.size());
        Map<Object, @Nullable Object> copy = new LinkedHashMap<>(attributes);
        copy.put(local, LOCAL);
        return copy;
    }
}
