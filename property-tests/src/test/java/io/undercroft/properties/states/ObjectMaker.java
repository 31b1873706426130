package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
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
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/// Makes states of Java objects: records, constants, objects with fields, arrays, collections of many classes and
/// values of the JDK, around tensors that share storages; each of them perhaps again in another place or, where Java
/// allows it, in itself.
public final class ObjectMaker {
    private static final int MAX_DEPTH = 25;
    private static final int LEAVES = 14;
    private static final int CONTAINERS = 22;
    private static final List<String> NAMES = List.of("", "layer", "a/b", "~", "0", "kryo", "java:x", "é", "weight");
    private static final List<Object> VALUES = List.of(Instant.EPOCH, LocalDate.of(2026, 11, 21), Duration.ofNanos(-1),
            LocalDate.of(2026, 10, 25).atTime(2, 30).atZone(ZoneId.of("Europe/Paris")).withLaterOffsetAtOverlap(),
            new UUID(1, 2), new BigDecimal("1.50"), URI.create("a:b"), Path.of("/tmp/x"), Locale.CANADA_FRENCH,
            OptionalInt.of(3), 'c', ZoneId.of("Asia/Tokyo"));
    private static final List<Object> NUMBERS = List.of((byte) -1, (short) 300, 70_000, 1L << 40, 1.5f, -0.0f, 0.1,
            Float.NaN, Double.NaN, BigInteger.ONE.shiftLeft(80));

    private final Choices choices;
    private final TensorMaker tensors;
    private final List<Object> known = new ArrayList<>();

    private ObjectMaker(Choices choices) {
        this.choices = choices;
        this.tensors = new TensorMaker(choices);
    }

    /// {@return a state; equal choices make equal ones}
    public static Object make(byte... bytes) {
        return new ObjectMaker(new Choices(bytes)).root();
    }

    private Object root() {
        List<Object> root = remember(new ArrayList<>());
        while (!choices.areUsedUp()) {
            root.add(value(0));
        }
        return root;
    }

    private Object value(int depth) {
        return switch (choices.below(8)) {
            case 0 -> leaf();
            case 1, 2 -> tensors.tensor();
            case 3 -> choices.of(known);
            default -> depth < MAX_DEPTH ? container(depth + 1) : leaf();
        };
    }

    private Object something(int depth) {
        return Objects.requireNonNullElse(value(depth), "nothing");
    }

    private <T> T remember(T made) {
        known.add(made);
        return made;
    }

    private int count() {
        return choices.areUsedUp() ? 0 : choices.below(5);
    }

    private Object leaf() {
        return switch (choices.below(LEAVES)) {
            case 0 -> null;
            case 1 -> choices.yes();
            case 2, 3 -> choices.of(NUMBERS);
            case 4, 5 -> name();
            case 6 -> phase();
            case 7 -> remember(new AtomicLong(choices.bits()));
            case 8 -> remember(BitSet.valueOf(new long[]{choices.bits()}));
            case 9 -> new byte[choices.below(4)];
            case 10 -> tensors.storage();
            default -> choices.of(VALUES);
        };
    }

    private String name() {
        return choices.of(NAMES);
    }

    private Phase phase() {
        return choices.of(List.of(Phase.values()));
    }

    private StageKey key() {
        return new StageKey(name(), choices.below(3), phase());
    }

    private Object container(int depth) {
        return switch (choices.below(CONTAINERS)) {
            case 0 -> map(depth, remember(new LinkedHashMap<>()), this::name);
            case 1 -> map(depth, remember(new LinkedHashMap<>()), () -> choices.below(9) - 4);
            case 2 -> map(depth, remember(new LinkedHashMap<>()), this::key);
            case 3 -> map(depth, remember(new LinkedHashMap<>()), this::phase);
            case 4 -> map(depth, remember(new EnumMap<>(Phase.class)), this::phase);
            case 5 -> map(depth, remember(new TreeMap<>(order())), this::name);
            case 6 -> list(depth, remember(new ArrayList<>()));
            case 7 -> list(depth, remember(new ArrayDeque<>()));
            case 8 -> remember(List.copyOf(list(depth, new ArrayList<>())));
            case 9 -> list(depth, remember(new CopyOnWriteArrayList<>()));
            case 10 -> remember(new LinkedHashSet<>(keys()));
            case 11 -> remember(new TreeSet<>(names()));
            case 12 -> remember(choices.yes() ? EnumSet.of(phase(), phase()) : EnumSet.noneOf(Phase.class));
            case 13 -> array(depth);
            case 14 -> primitives();
            case 15 ->
                remember(new Trainer(name(), value(depth), value(depth), choices.bits(), 0.5f, phase(), array(depth)));
            case 16 -> remember(schedule(depth));
            case 17 -> module(depth);
            case 18 -> wrapper(depth);
            case 19 -> block(depth);
            case 20 -> remember(new Bundle(name(), value(depth), value(depth)));
            default -> Optional.of(something(depth));
        };
    }

    private interface Maker<K> {
        K make();
    }

    private <K> Map<K, Object> map(int depth, Map<K, Object> map, Maker<K> key) {
        for (int left = count(); left > 0; left--) {
            map.put(key.make(), value(depth));
        }
        return map;
    }

    private Comparator<String> order() {
        return choices.yes() ? Comparator.reverseOrder() : null;
    }

    private <C extends Collection<Object>> C list(int depth, C list) {
        for (int left = count(); left > 0; left--) {
            list.add(something(depth));
        }
        return list;
    }

    private List<StageKey> keys() {
        List<StageKey> keys = new ArrayList<>();
        for (int left = count(); left > 0; left--) {
            keys.add(key());
        }
        return keys;
    }

    private List<String> names() {
        return keys().stream().map(StageKey::name).toList();
    }

    private Object[] array(int depth) {
        Object[] array = switch (choices.below(5)) {
            case 0 -> new StageKey[count()];
            case 1 -> new String[count()];
            case 2 -> new float[count()][2];
            case 3 -> new Schedule[count()];
            default -> new Object[count()];
        };
        remember(array);
        switch (array) {
            case StageKey[] keys -> Arrays.setAll(keys, _ -> key());
            case String[] names -> Arrays.setAll(names, _ -> name());
            case float[][] _ -> known.addAll(List.of(array));
            case Schedule[] schedules -> Arrays.setAll(schedules, _ -> schedule(depth));
            default -> Arrays.setAll(array, _ -> value(depth));
        }
        return array;
    }

    private Object primitives() {
        int length = count();
        return remember(switch (choices.below(7)) {
            case 0 -> new float[]{1.5f, Float.intBitsToFloat(0x7fc0_beef)};
            case 1 -> new double[length];
            case 2 -> new int[]{1, -length};
            case 3 -> new long[]{choices.bits()};
            case 4 -> new short[length];
            case 5 -> new boolean[]{true, choices.yes()};
            default -> new char[]{'a', '\uD800'};
        });
    }

    private Schedule schedule(int depth) {
        return choices.yes()
                ? new Constant(0.1)
                : new Cosine(1, -0.0, Duration.ofSeconds(choices.below(100)), value(depth));
    }

    private Module module(int depth) {
        Module module = remember(new Module(name()));
        fill(depth, module);
        return module;
    }

    private void fill(int depth, Module module) {
        module.calls = choices.below(100);
        module.weight(value(depth));
        module.parent = value(depth);
        module.bias = Optional.ofNullable(value(depth));
        list(depth, module.children);
    }

    private Wrapper wrapper(int depth) {
        Wrapper wrapper = remember(new Wrapper(name(), null));
        fill(depth, wrapper);
        wrapper.outerWeight(value(depth));
        wrapper.phase = phase();
        wrapper.anything = value(depth);
        return wrapper;
    }

    private Block block(int depth) {
        Block block = remember(new Block());
        block.first = value(depth);
        block.second = value(depth);
        block.open = choices.yes();
        return block;
    }
}
