package io.undercroft.properties.states;

import io.undercroft.properties.states.StateSketch.Item;
import io.undercroft.properties.states.StateSketch.Item.Again;
import io.undercroft.properties.states.StateSketch.Item.Nest;
import io.undercroft.properties.states.StateSketch.Item.OfStorage;
import io.undercroft.properties.states.StateSketch.Item.OfTensor;
import io.undercroft.properties.states.StateSketch.Item.Value;
import io.undercroft.properties.states.StateSketch.Kind;
import io.undercroft.properties.states.StateSketch.Put;
import io.undercroft.properties.states.TrainingObjects.Block;
import io.undercroft.properties.states.TrainingObjects.Bundle;
import io.undercroft.properties.states.TrainingObjects.Constant;
import io.undercroft.properties.states.TrainingObjects.Cosine;
import io.undercroft.properties.states.TrainingObjects.Module;
import io.undercroft.properties.states.TrainingObjects.Phase;
import io.undercroft.properties.states.TrainingObjects.Schedule;
import io.undercroft.properties.states.TrainingObjects.StageKey;
import io.undercroft.properties.states.TrainingObjects.Trainer;
import io.undercroft.properties.states.TrainingObjects.Wrapper;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/// Makes the state of a sketch, and writes the program that makes it.
final class StateMaker {
    private final Program program = new Program();
    private final TensorMaker tensors = new TensorMaker(program);
    private final List<Object> known = new ArrayList<>();
    private final List<Open> open = new ArrayList<>();

    /// A container into which something can be put.
    private record Open(Kind kind, Object container) {}

    /// {@return the state}
    Object make(StateSketch sketch) {
        List<Put> puts = sketch.puts();
        Object state;
        if (sketch.root() == Kind.BARE) {
            state = puts.isEmpty() ? "" : item(puts.getFirst().item());
            puts = puts.isEmpty() ? puts : puts.subList(1, puts.size());
        } else {
            state = nest(new Nest(sketch.root(), "", 0, List.of()));
        }
        for (Put put : puts) {
            if (!open.isEmpty()) {
                put(open.get(open.size() - 1 - put.into() % open.size()), put);
            }
        }
        program.line("Object state = " + program.use(state));
        return state;
    }

    String program() {
        return program.toString();
    }

    private @Nullable Object item(Item item) {
        return switch (item) {
            case Value(Object value) -> value instanceof byte[] bytes ? bytes.clone() : value;
            case OfTensor(TensorSketch sketch) -> tensors.tensor(sketch);
            case OfStorage(StorageSketch sketch, boolean isTyped) -> {
                Storage storage = tensors.storage(sketch);
                yield isTyped
                        ? program.declare("u", new TypedStorage(storage, DType.UINT8),
                                "new TypedStorage(" + program.use(storage) + ", DType.UINT8)")
                        : storage;
            }
            case Again(int which) -> known.isEmpty() ? "" : known.get(which % known.size());
            case Nest nest -> nest(nest);
        };
    }

    // ---- what is put into what is there ----

    private void put(Open into, Put put) {
        Object container = into.container;
        String name = program.use(container);
        switch (into.kind) {
            case SET, KEY_SET -> program.add((Collection<?>) container, put.key());
            case TREE_SET -> program.add((Collection<?>) container, ((StageKey) put.key()).name());
            case KEYS -> set(name, (Object[]) container, put.slot(), put.key());
            case TEXTS -> set(name, (Object[]) container, put.slot(), ((StageKey) put.key()).name());
            default -> putItem(into, name, put, item(put.item()));
        }
    }

    private void putItem(Open into, String name, Put put, @Nullable Object value) {
        switch (into.container) {
            case TypedMap map when put.slot() % 4 == 3 -> attribute(map.attributes(), put.key(), value);
            case Typed typed when put.slot() % 2 == 1 || value instanceof Map ->
                attribute(typed.attributes(), put.key(), value);
            case Typed typed -> {
                typed.value(value);
                program.line(name + ".value(" + program.use(value) + ")");
            }
            case Map<?, ?> map -> program.put(map, key(into.kind, put.key()), value);
            case ArrayList<?> list when into.kind == Kind.LIST -> program.add(list, value);
            case Collection<?> collection -> program.add(collection, something(value));
            case Schedule[] schedules -> {
                Object schedule = value instanceof Schedule ? value : nest(new Nest(Kind.CONSTANT, "", 0, List.of()));
                set(name, schedules, put.slot(), schedule);
            }
            case Object[] array -> set(name, array, put.slot(), value);
            case Block block -> {
                boolean isFirst = put.slot() % 2 == 0;
                block.first = isFirst ? value : block.first;
                block.second = isFirst ? block.second : value;
                program.line(name + (isFirst ? ".first = " : ".second = ") + program.use(value));
            }
            case Wrapper wrapper when put.slot() > 5 -> {
                wrapper.anything = value;
                program.line(name + ".anything = " + program.use(value));
            }
            case Wrapper wrapper when put.slot() > 3 -> {
                wrapper.outerWeight(value);
                program.line(name + ".outerWeight(" + program.use(value) + ")");
            }
            case Module module -> putField(name, module, put.slot() % 4, value);
            default -> throw new IllegalArgumentException(into.kind.toString());
        }
    }

    private void putField(String name, Module module, int slot, @Nullable Object value) {
        String shown = program.use(slot == 3 ? something(value) : value);
        switch (slot) {
            case 0 -> module.weight(value);
            case 1 -> module.parent = value;
            case 2 -> module.bias = Optional.ofNullable(value);
            default -> module.children.add(something(value));
        }
        program.line(name + switch (slot) {
            case 0 -> ".weight(" + shown + ")";
            case 1 -> ".parent = " + shown;
            case 2 -> ".bias = Optional.ofNullable(" + shown + ")";
            default -> ".children.add(" + shown + ")";
        });
    }

    private static @Nullable Object key(Kind kind, @Nullable Object key) {
        return switch (kind) {
            case TEXT_MAP, TREE_MAP -> ((StageKey) key).name();
            case NUMBER_MAP -> ((StageKey) key).id();
            case PHASE_MAP, ENUM_MAP -> ((StageKey) key).phase();
            default -> key;
        };
    }

    private void attribute(Map<String, Object> attributes, @Nullable Object key, @Nullable Object value) {
        program.put(attributes, key instanceof String ? key : "note", value);
    }

    private void set(String name, Object[] array, int slot, @Nullable Object value) {
        if (array.length > 0) {
            array[slot % array.length] = value;
            program.line(name + "[" + slot % array.length + "] = " + program.use(value));
        }
    }

    private static Object something(@Nullable Object value) {
        return Objects.requireNonNullElse(value, "nothing");
    }

    // ---- new containers ----

    private Object nest(Nest nest) {
        List<@Nullable Object> parts = new ArrayList<>();
        nest.parts().forEach(part -> parts.add(item(part)));
        Kind kind = nest.kind();
        int number = nest.number();
        int length = number % 5;
        String name = JavaSource.of(nest.name());
        List<Phase> phases = List.of(Phase.values());
        Phase phase = phases.get(number % phases.size());
        return switch (kind) {
            case MAP, TEXT_MAP, NUMBER_MAP, KEY_MAP, PHASE_MAP ->
                open(kind, program.map());
            case ENUM_MAP -> open(kind, "m", new EnumMap<>(Phase.class), "new EnumMap<Phase, Object>(Phase.class)");
            case TREE_MAP -> number % 2 == 0
                    ? open(kind, "m", new TreeMap<>(), "new TreeMap<String, Object>()")
                    : open(kind, "m", new TreeMap<>(Collections.reverseOrder()),
                            "new TreeMap<String, Object>(Collections.reverseOrder())");
            case LIST -> open(kind, program.list());
            case DEQUE -> open(kind, "l", new ArrayDeque<>(), "new ArrayDeque<Object>()");
            case SAFE_LIST -> open(kind, "l", new CopyOnWriteArrayList<>(), "new CopyOnWriteArrayList<Object>()");
            case LIST_COPY -> {
                parts.replaceAll(StateMaker::something);
                yield known("l", List.copyOf(parts), "List.<Object>of(" + program.useAll(parts) + ")");
            }
            case TUPLE -> known(program.tuple(parts));
            case SET, KEY_SET -> open(kind, program.set());
            case TREE_SET -> open(kind, "k", new TreeSet<>(), "new TreeSet<String>()");
            case ENUM_SET -> number % 2 == 0
                    ? known("k", EnumSet.noneOf(Phase.class), "EnumSet.noneOf(Phase.class)")
                    : known("k", EnumSet.of(Phase.DONE, phase), "EnumSet.of(Phase.DONE, Phase." + phase.name() + ")");
            case TYPED_MAP -> open(kind, program.typedMap("collections." + nest.name()));
            case TYPED -> open(kind, program.typed("torch.nn." + nest.name(), null));
            case KEYS -> open(kind, "a", new StageKey[length], "new StageKey[" + length + "]");
            case TEXTS -> open(kind, "a", new String[length], "new String[" + length + "]");
            case SCHEDULES -> open(kind, "a", new Schedule[length], "new Schedule[" + length + "]");
            case OBJECTS -> open(kind, "a", new Object[length], "new Object[" + length + "]");
            case ROWS -> rows(length);
            case PRIMITIVES -> primitives(number / 7, number % 7);
            case TRAINER -> known("o",
                    new Trainer(nest.name(), part(parts, 0), part(parts, 1), number, 0.5f, phase, parts.toArray()),
                    "new Trainer(" + name + ", " + program.use(part(parts, 0)) + ", " + program.use(part(parts, 1))
                            + ", " + number + ", 0.5f, Phase." + phase.name() + ", new Object[]{"
                            + program.useAll(parts) + "})");
            case CONSTANT -> known("o", new Constant(0.1), "new Constant(0.1)");
            case COSINE -> known("o", new Cosine(1, -0.0, Duration.ofSeconds(number), part(parts, 0)),
                    "new Cosine(1, -0.0, Duration.ofSeconds(" + number + "), " + program.use(part(parts, 0)) + ")");
            case BUNDLE -> known("o", new Bundle(nest.name(), part(parts, 0), part(parts, 1)), "new Bundle(" + name
                    + ", " + program.use(part(parts, 0)) + ", " + program.use(part(parts, 1)) + ")");
            case MODULE -> counted(open(kind, "o", new Module(nest.name()), "new Module(" + name + ")"), number);
            case WRAPPER -> {
                Wrapper wrapper = open(kind, "o", new Wrapper(nest.name(), null), "new Wrapper(" + name + ", null)");
                wrapper.phase = phase;
                program.line(program.use(wrapper) + ".phase = Phase." + phase.name());
                yield counted(wrapper, number);
            }
            case BLOCK -> {
                Block block = open(kind, "o", new Block(), "new Block()");
                block.open = number % 2 == 0;
                program.line(program.use(block) + ".open = " + block.open);
                yield block;
            }
            // Not known: an optional has no identity.
            case OPTIONAL -> program.declare("o", Optional.of(something(part(parts, 0))),
                    "Optional.of(" + program.use(something(part(parts, 0))) + ")");
            case COUNTER -> known("o", new AtomicLong(mixed(number)), "new AtomicLong(" + mixed(number) + "L)");
            case BITS -> known("o", BitSet.valueOf(new long[]{mixed(number)}),
                    "BitSet.valueOf(new long[]{" + mixed(number) + "L})");
            case BARE -> throw new IllegalArgumentException("no container");
        };
    }

    private Module counted(Module module, int calls) {
        module.calls = calls;
        program.line(program.use(module) + ".calls = " + calls);
        return module;
    }

    /// Each row can be in other places, too.
    private Object rows(int length) {
        float[][] rows = known("a", new float[length][2], "new float[" + length + "][2]");
        for (int i = 0; i < length; i++) {
            known("a", rows[i], program.use(rows) + "[" + i + "]");
        }
        return rows;
    }

    private Object primitives(int number, int way) {
        return switch (way) {
            case 0 -> known("a", new float[]{1.5f, Float.intBitsToFloat(0x7fc0_beef)},
                    "new float[]{1.5f, Float.intBitsToFloat(0x7fc0_beef)}");
            case 1 -> known("a", new double[number % 5], "new double[" + number % 5 + "]");
            case 2 -> known("a", new int[]{1, -number}, "new int[]{1, " + -number + "}");
            case 3 -> known("a", new long[]{mixed(number)}, "new long[]{" + mixed(number) + "L}");
            case 4 -> known("a", new short[number % 5], "new short[" + number % 5 + "]");
            case 5 -> known("a", new boolean[]{true, number % 2 == 0},
                    "new boolean[]{true, " + (number % 2 == 0) + "}");
            default -> known("a", new char[]{'a', '\uD800'}, "new char[]{'a', '\\uD800'}");
        };
    }

    /// 64 bits of a small number.
    private static long mixed(int number) {
        return number * 0x9E37_79B9_7F4A_7C15L;
    }

    private static @Nullable Object part(List<@Nullable Object> parts, int index) {
        return index < parts.size() ? parts.get(index) : null;
    }

    private <T> T known(String prefix, T made, String expression) {
        return known(program.declare(prefix, made, expression));
    }

    private <T> T known(T made) {
        known.add(made);
        return made;
    }

    private <T> T open(Kind kind, String prefix, T made, String expression) {
        return open(kind, program.declare(prefix, made, expression));
    }

    private <T> T open(Kind kind, T made) {
        open.add(new Open(kind, made));
        return known(made);
    }
}
