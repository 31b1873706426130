package io.undercroft.properties.damage;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.TrainingObjects;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Mixes up a tree: values in places of others, cycles, entries that go or come, other classes, other bytes.
final class TreeVandal {
    private static final List<String> TYPES = List.of("java:java.util.Optional", "java:java.util.TreeMap",
            "java:java.util.TreeSet", "java:java.util.ArrayDeque", "java:java.util.EnumMap", "java:java.util.EnumSet",
            "java:java.util.LinkedHashMap", "java:java.lang.Object[]", "java:float[]", "java:int[][]",
            "java:java.time.Instant", "java:java.util.UUID", "java:java.lang.Integer",
            "java:java.util.concurrent.atomic.AtomicLong", "java:block", "java:",
            "java:" + TrainingObjects.Trainer.class.getName(), "java:" + TrainingObjects.StageKey.class.getName(),
            "java:" + TrainingObjects.StageKey.class.getName() + "[]", "java:" + TrainingObjects.Phase.class.getName(),
            "java:" + TrainingObjects.Bundle.class.getName(), "java:" + TrainingObjects.Wrapper.class.getName(),
            "java:" + TrainingObjects.Schedule.class.getName(),
            "java:" + ObjectFuzz.Tripwire.class.getName(),
            "java:" + ObjectFuzz.Tripwire.class.getName() + "[]", "java:java.lang.Runtime");

    private final Choices choices;
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final List<Object> containers = new ArrayList<>();
    private final List<@Nullable Object> values = new ArrayList<>();

    private TreeVandal(Choices choices) {
        this.choices = choices;
    }

    /// {@return the tree, changed}
    static @Nullable Object mixUp(@Nullable Object tree, byte... choices) {
        TreeVandal vandal = new TreeVandal(new Choices(choices));
        vandal.collect(tree);
        do {
            vandal.strike();
        } while (!vandal.choices.areUsedUp() && vandal.choices.below(4) > 0);
        return tree;
    }

    private void collect(@Nullable Object value) {
        values.add(value);
        if (value == null || !seen.add(value)) {
            return;
        }
        switch (value) {
            case TypedMap map -> {
                containers.add(map);
                containers.add(map.attributes());
                map.values().forEach(this::collect);
                map.attributes().values().forEach(this::collect);
            }
            case Map<?, ?> map -> {
                containers.add(map);
                map.values().forEach(this::collect);
            }
            case Typed typed -> {
                containers.add(typed);
                containers.add(typed.attributes());
                collect(typed.value());
                typed.attributes().values().forEach(this::collect);
            }
            case Tuple tuple -> tuple.forEach(this::collect);
            case List<?> list -> {
                containers.add(list);
                list.forEach(this::collect);
            }
            default -> {
            }
        }
    }

    private void strike() {
        if (containers.isEmpty()) {
            return;
        }
        switch (choices.of(containers)) {
            case Map<?, ?> map -> strike(mutable(map));
            case Typed typed -> typed.value(noMap(other(typed.value())));
            case List<?> list -> strike(mutable(list));
            default -> throw new IllegalStateException("no container");
        }
    }

    private void strike(Map<Object, @Nullable Object> map) {
        if (map.isEmpty() || choices.below(8) == 0) {
            map.put(choices.of(List.of("kryo", "enum", "order", "0", "1", "name", "weight", "calls", "first")),
                    other(null));
            return;
        }
        Object key = choices.of(new ArrayList<>(map.keySet()));
        if (choices.below(4) == 0) {
            map.remove(key);
        } else {
            map.put(key, other(map.get(key)));
        }
    }

    private void strike(List<@Nullable Object> list) {
        if (list.isEmpty() || choices.below(3) == 0) {
            list.add(other(null));
        } else if (choices.below(3) == 0) {
            list.remove(choices.below(list.size()));
        } else {
            int index = choices.below(list.size());
            list.set(index, other(list.get(index)));
        }
    }

    private @Nullable Object other(@Nullable Object value) {
        return switch (choices.below(6)) {
            case 0 -> value instanceof byte[] bytes ? Vandal.damage(bytes, choices.bytes(12)) : choices.of(values);
            case 1 -> retyped(value);
            case 2 -> choices.of(List.of("reverse", "", "TRAIN", 1L, new byte[]{(byte) choices.below(256)}));
            default -> choices.of(values);
        };
    }

    /// The same contents under another class.
    private Object retyped(@Nullable Object value) {
        String type = choices.of(TYPES);
        return switch (value) {
            case TypedMap map -> {
                TypedMap made = new TypedMap(type);
                made.putAll(map);
                made.attributes().putAll(map.attributes());
                yield made;
            }
            case Typed typed -> {
                Typed made = new Typed(type, typed.value());
                made.attributes().putAll(typed.attributes());
                yield made;
            }
            case null, default -> new Typed(type, noMap(value));
        };
    }

    private static @Nullable Object noMap(@Nullable Object value) {
        return value instanceof Map ? null : value;
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, @Nullable Object> mutable(Map<?, ?> map) {
        return (Map<Object, @Nullable Object>) map;
    }

    @SuppressWarnings("unchecked")
    private static List<@Nullable Object> mutable(List<?> list) {
        return (List<@Nullable Object>) list;
    }
}
