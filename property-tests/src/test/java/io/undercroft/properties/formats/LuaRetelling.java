package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// What comes out of a file of Torch7 for a state: Lua has one type of numbers, one of containers, and strings that are
/// bytes.
final class LuaRetelling {
    private final IdentityHashMap<Object, Object> known = new IdentityHashMap<>();
    private final Map<Storage, Integer> uses = new HashMap<>();

    private LuaRetelling(Object state) {
        StateIndex index = StateIndex.of(state);
        Set<Tensor> tensors = Collections.newSetFromMap(new IdentityHashMap<>());
        tensors.addAll(index.tensors().values());
        tensors.forEach(tensor -> uses.merge(tensor.storage(), 1, Integer::sum));
        index.storages().stream().filter(index::isValue).forEach(storage -> uses.merge(storage, 1, Integer::sum));
    }

    /// {@return the state that is read where this one was written}
    static Object of(Object state) {
        return new LuaRetelling(state).retold(state);
    }

    private Object retold(Object value) {
        if (known.containsKey(value)) {
            return known.get(value);
        }
        return switch (value) {
            case null -> null;
            case Number number -> number.doubleValue();
            case byte[] bytes -> text(bytes);
            case Storage storage -> new TypedStorage(storage, DType.UINT8);
            case Tensor tensor -> remember(tensor, plain(tensor));
            case TypedMap map -> object(map);
            case Map<?, ?> map -> fill(remember(map, new LinkedHashMap<>()), map);
            case List<?> list -> fill(remember(list, new LinkedHashMap<>()), list);
            case Typed typed -> typed(typed);
            default -> value;
        };
    }

    private <T> T remember(Object value, T made) {
        known.put(value, made);
        return made;
    }

    private Tensor plain(Tensor tensor) {
        return tensor.numel() == 0
                ? Tensor.of(tensor.storage(), tensor.dtype(), tensor.storageOffset(), Shape.of(0),
                        keepsEmptyStorage(tensor) ? 0 : 1)
                : tensor.withFlags(Set.of());
    }

    /// A storage without bytes is kept where something else is on it too, or where the stride is 0, as it is read.
    private boolean keepsEmptyStorage(Tensor tensor) {
        return tensor.storage().nbytes() == 0
                && (uses.getOrDefault(tensor.storage(), 0) > 1 || (tensor.dim() == 1 && tensor.stride(0) == 0));
    }

    private Map<Object, Object> object(TypedMap map) {
        TypedMap made = remember(map, new TypedMap(map.type()));
        // Version 1 is the one that is not said.
        map.attributes().forEach((name, value) -> {
            if (!value.equals(1L)) {
                made.attributes().put(name, value);
            }
        });
        return fill(made, map);
    }

    private Map<Object, Object> fill(Map<Object, Object> made, Map<?, ?> map) {
        map.forEach((key, value) -> made.put(key(key), retold(value)));
        return made;
    }

    private Map<Object, Object> fill(Map<Object, Object> made, List<?> list) {
        for (int i = 0; i < list.size(); i++) {
            made.put(i + 1L, retold(list.get(i)));
        }
        return made;
    }

    private Typed typed(Typed typed) {
        Typed made = remember(typed, new Typed(typed.type(), null));
        made.value(switch (typed.type()) {
            case "torch7:table" -> ((List<?>) typed.value()).stream().map(Tuple.class::cast)
                    .map(pair -> Tuple.of(retold(pair.get(0)), retold(pair.get(1)))).toList();
            case "torch7:function", "torch7:torch.Generator" -> typed.value();
            default -> retold(typed.value());
        });
        typed.attributes().forEach((name, value) -> made.attributes().put(name,
                name.equals("upvalues") ? retold(value) : value));
        return made;
    }

    private static Object key(Object key) {
        return switch (key) {
            case Number number when isLong(number.doubleValue()) -> (long) number.doubleValue();
            case Number number -> number.doubleValue();
            case byte[] bytes -> text(bytes);
            default -> key;
        };
    }

    private static boolean isLong(double number) {
        return number == Math.rint(number) && number >= -0x1p63 && number < 0x1p63;
    }

    private static Object text(byte[] bytes) {
        String text = new String(bytes, UTF_8);
        return Arrays.equals(text.getBytes(UTF_8), bytes) ? text : bytes;
    }
}
