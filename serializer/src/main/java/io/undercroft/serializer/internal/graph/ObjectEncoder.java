package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.StateCodec;
import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.internal.tree.StatePath;
import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.TensorNodes;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Layout;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseTensor;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.SequencedSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Converts a state to the tree that represents it: the same containers, in which each Java object is a node of
/// [io.undercroft.serializer.state], whose type is `java:` and the name of its class.
///
/// [The package][io.undercroft.serializer.state] lists the node of each kind of object.
///
/// What has an identity is encoded once. The tree shares no container with the state, so that what is done to the state
/// does not change it. Recursion is as deep as containers nest, which is limited.
public final class ObjectEncoder {
    /// The number of objects of unregistered classes that are inspected for the message.
    private static final int MAX_MISSING = 10_000;

    private final StateClasses classes;
    private final ArrayTypes arrays;
    private final HashBudget budget = new HashBudget();
    private final IdentityHashMap<Object, Object> nodes = new IdentityHashMap<>();
    private final Map<Class<?>, ObjectType> types = new HashMap<>();
    private final Function<Object, @Nullable Object> leaves;
    private final StatePath path = new StatePath();
    /// The objects that this is in.
    private final List<Object> open = new ArrayList<>();
    /// The first container whose elements must exist before it is made.
    private int lateFrom;
    /// The classes that are not registered, in the order in which they are met, and where the first one was.
    private final SequencedSet<Class<?>> missing = new LinkedHashSet<>();
    private String firstMissing = "";
    private int objectsMissing;

    private ObjectEncoder(StateClasses classes, Function<Object, @Nullable Object> leaves) {
        this.classes = classes;
        this.leaves = leaves;
        this.arrays = new ArrayTypes(classes);
    }

    /// Encodes a state.
    ///
    /// @param state the state to save
    /// @param classes the classes whose objects may be in it
    /// @return the tree
    /// @throws IllegalArgumentException if it holds something that cannot be saved; the message has its path
    public static @Nullable Object of(@Nullable Object state, StateClasses classes) {
        return of(state, classes, "save");
    }

    /// Encodes a state for another end than saving it.
    ///
    /// @param state the state, as for [#of(Object, StateClasses)]
    /// @param classes the classes whose objects may be in it
    /// @param end the operation, for messages: `load into`
    /// @return the tree
    /// @throws IllegalArgumentException if it holds something that cannot be saved; the message has its path
    public static @Nullable Object of(@Nullable Object state, StateClasses classes, String end) {
        ObjectEncoder encoder = new ObjectEncoder(classes, leaf -> leaf);
        try {
            Object tree = encoder.encode(state);
            if (encoder.missing.isEmpty()) {
                return tree;
            }
        } catch (IllegalArgumentException e) {
            if (encoder.missing.isEmpty()) {
                throw new IllegalArgumentException("cannot " + end + " " + encoder.path + ": " + e.getMessage(), e);
            }
        }
        throw new IllegalArgumentException("cannot " + end + " " + encoder.firstMissing + ": "
                + ObjectFaults.unregistered(encoder.missing).getMessage());
    }

    /// {@return a copy of a tree, perhaps without some of its leaves} What is left out has no entry in the map that it
    /// was in, and null is in its place in a list. A [Typed] around it and a sparse tensor of it are left out with it.
    ///
    /// @param tree a tree that this made
    /// @param leaves the function from a tensor, a storage or an array of bytes to its copy, or to null to leave it out
    public static @Nullable Object copyOf(@Nullable Object tree, Function<Object, @Nullable Object> leaves) {
        return new ObjectEncoder(StateClasses.of(), leaves).encode(tree);
    }

    private @Nullable Object encode(@Nullable Object value) {
        return switch (value) {
            case null -> null;
            case Tensor _,Storage _,TypedStorage _,byte[] _ -> leaves.apply(value);
            case Boolean _,String _ -> value;
            case Long _,Integer _,Double _,Float _,Short _,Byte _ -> value;
            case BigInteger big when big.bitLength() >= Long.SIZE -> value;
            case Complex _,DType _,Device _,Shape _,Symbol _ -> value;
            default -> {
                Object known = nodes.get(value);
                yield known != null ? met(value, known) : encodeObject(value);
            }
        };
    }

    private @Nullable Object encodeObject(Object object) {
        if (open.size() == StateIndex.MAX_DEPTH) {
            throw new IllegalArgumentException(
                    "the state nests containers more than " + StateIndex.MAX_DEPTH + " deep");
        }
        int before = lateFrom;
        open.add(object);
        lateFrom = isLate(object) ? before : open.size();
        String name = nameOf(object);
        Object node = name == null ? unregistered(object) : registered(object, name);
        open.removeLast();
        lateFrom = before;
        return node;
    }

    /// {@return whether an object cannot be made again before what it holds}
    private boolean isLate(Object object) {
        return object instanceof Record || object instanceof Optional
                || classes.codec(object.getClass()).isPresent();
    }

    /// Refuses an object that holds itself, and nothing on the way could be there before the others.
    private Object met(Object object, Object node) {
        for (Object holder : open.subList(lateFrom, open.size())) {
            if (holder == object) {
                throw new IllegalArgumentException("a value of type " + object.getClass().getName()
                        + " holds itself, and could not be made "
                        + "again, as it needs what it holds; put a list between, or save it by its fields");
            }
        }
        return node;
    }

    private @Nullable Object unregistered(Object object) {
        return switch (object) {
            case Typed typed -> typed(typed);
            case TypedMap map -> isSparse(map) && lacksLeaf(map.values()) ? null : typedMap(map);
            case Tuple tuple -> tuple(tuple);
            case Slice slice -> typedOf(slice, slice.node());
            case QuantizedTensor tensor -> noted(tensor, TensorNodes.of(tensor));
            case SparseTensor tensor -> noted(tensor, TensorNodes.of(tensor));
            case Map<?, ?> map -> map(map);
            case Collection<?> collection -> collection(collection);
            case Optional<?> optional -> optional(optional);
            case Object array when array.getClass().isArray() -> array(array);
            default -> {
                Class<?> type = JdkValues.typeOf(object.getClass()).orElse(null);
                yield type == null
                        ? missing(object)
                        : noted(object, new Typed(JavaNode.PREFIX + type.getName(), JdkValues.encode(type, object)));
            }
        };
    }

    private static boolean isSparse(TypedMap map) {
        return Layout.find(map.type()).filter(layout -> layout != Layout.STRIDED).isPresent();
    }

    /// Goes on with what an object of a class that is not registered holds, so that the message has all such classes.
    private Object missing(Object object) {
        Class<?> type = object instanceof Enum<?> constant ? constant.getDeclaringClass() : object.getClass();
        addMissing(type);
        TypedMap node = noted(object, new TypedMap(JavaNode.PREFIX + type.getName()));
        if (!type.isEnum() && ObjectFaults.isRegistrable(type) && objectsMissing++ < MAX_MISSING) {
            new ObjectType(type).valuesOf(object).forEach(this::encodeAt);
        }
        return node;
    }

    private void addMissing(Class<?> type) {
        if (missing.isEmpty()) {
            firstMissing = path.toString();
        }
        if (missing.isEmpty() && !ObjectFaults.isRegistrable(type)) {
            throw ObjectFaults.unregistered(type);
        }
        missing.add(type);
    }

    /// {@return the node of an object, known from now on}
    private <T> T noted(Object object, T node) {
        nodes.put(object, node);
        return node;
    }

    private @Nullable Object encodeAt(@Nullable Object key, @Nullable Object value) {
        path.push(key);
        Object encoded = encode(value);
        path.pop();
        return encoded;
    }

    // ---- objects of registered classes ----

    /// {@return the name of an object's class in files, or null if it is not registered} A constant of an enum may have
    /// a class body.
    private @Nullable String nameOf(Object object) {
        return object instanceof Enum<?> constant
                ? enumName(constant.getDeclaringClass())
                : classes.name(object.getClass()).orElse(null);
    }

    private Object registered(Object object, String name) {
        String type = JavaNode.PREFIX + name;
        if (object instanceof Enum<?> constant) {
            return noted(constant, new Typed(type, constant.name()));
        }
        TypedMap node = noted(object, new TypedMap(type));
        Optional<StateCodec<?>> codec = classes.codec(object.getClass());
        if (codec.isPresent()) {
            encoded(codec.get(), object).forEach((part, value) -> node.put(part, encodeAt(part, value)));
        } else {
            ObjectType known = types.computeIfAbsent(object.getClass(), ObjectType::new);
            known.valuesOf(object)
                    .forEach((part, value) -> node.put(part, held(object, known.typeOf(part), part, value)));
        }
        return node;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, ? extends @Nullable Object> encoded(StateCodec<?> codec, Object object) {
        try {
            return ((StateCodec<Object>) codec).encode(object);
        } catch (RuntimeException | StackOverflowError e) {
            throw new IllegalArgumentException("the codec of " + object.getClass().getName() + " threw "
                    + FormatException.quote(String.valueOf(e)), e);
        }
    }

    /// Encodes a component or field, whose type must accept the loaded value. An upgrader may convert it.
    private @Nullable Object held(Object holder, Class<?> type, String name, @Nullable Object value) {
        path.push(name);
        Object node = encode(value);
        if (classes.upgrader(holder.getClass()).isEmpty()) {
            CollectionType.checkFits(type, value, node);
        }
        path.pop();
        return node;
    }

    // ---- what the tree has of itself ----

    private @Nullable Typed typed(Typed typed) {
        if (lacksLeaf(Collections.singleton(typed.value())) || lacksLeaf(typed.attributes().values())) {
            return null;
        }
        Typed node = noted(typed, new Typed(typed.type(), null));
        node.value(encode(typed.value()));
        typed.attributes().forEach((name, value) -> node.attributes().put(name, encodeAt(name, value)));
        return node;
    }

    /// {@return the node of an object that holds a tensor, or null if that is left out}
    private @Nullable Typed typedOf(Object object, Typed node) {
        Typed encoded = typed(node);
        return encoded == null ? null : noted(object, encoded);
    }

    private TypedMap typedMap(TypedMap map) {
        TypedMap node = noted(map, new TypedMap(map.type()));
        putAll(map, node);
        putAll(map.attributes(), node.attributes());
        return node;
    }

    /// {@return whether one of some values is a tensor that is left out}
    private boolean lacksLeaf(Collection<? extends @Nullable Object> values) {
        for (Object value : values) {
            if (value instanceof Tensor && leaves.apply(value) == null) {
                return true;
            }
        }
        return false;
    }

    private Tuple tuple(Tuple tuple) {
        Tuple.Builder node = new Tuple.Builder();
        noted(tuple, node.tuple());
        int index = 0;
        for (Object element : tuple) {
            node.add(encodeAt(index++, element));
        }
        return node.tuple();
    }

    private <K extends @Nullable Object> void putAll(Map<? extends K, ?> map, Map<K, @Nullable Object> node) {
        map.forEach((key, value) -> {
            Object encoded = encodeAt(key, value);
            if (encoded != null || value == null) {
                node.put(key, encoded);
            }
        });
    }

    private List<@Nullable Object> addAll(Collection<?> elements, List<@Nullable Object> node) {
        for (Object element : elements) {
            node.add(encodeAt(node.size(), element));
        }
        return node;
    }

    // ---- collections ----

    private Object map(Map<?, ?> map) {
        if (map instanceof IdentityHashMap) {
            throw new IllegalArgumentException(
                    "an IdentityHashMap cannot be saved, since its keys are found by identity; "
                            + "use a list of pairs");
        }
        if (map instanceof EnumMap<?, ?> enums) {
            return mapOfNames(enums, CollectionType.ENUM_MAP, enumOfKeys(enums));
        }
        CollectionType type = CollectionType.of(map);
        CollectionType saved = type == null ? CollectionType.MAP : type;
        if (!map.keySet().stream().allMatch(ObjectEncoder::isPlainKey)) {
            String constants = enumOf(map.keySet());
            return constants == null ? pairs(map, saved) : mapOfNames(map, saved.type().getName(), constants);
        }
        if (type != null) {
            return mapOfNames(map, type.type().getName(), null);
        }
        Map<@Nullable Object, @Nullable Object> node = noted(map, new LinkedHashMap<>());
        putAll(map, node);
        return node;
    }

    private Object mapOfNames(Map<?, ?> map, String type, @Nullable String constants) {
        TypedMap node = noted(map, new TypedMap(JavaNode.PREFIX + type));
        putOrder(map, node.attributes());
        if (constants != null) {
            node.attributes().put(JavaNode.ENUM, constants);
        }
        map.forEach((key, value) -> {
            Object name = key instanceof Enum<?> constant ? constant.name() : key;
            node.put(name, encodeAt(name, value));
        });
        return node;
    }

    private Object pairs(Map<?, ?> map, CollectionType type) {
        Typed node = noted(map, new Typed(JavaNode.PREFIX + type.type().getName(), null));
        putOrder(map, node.attributes());
        List<@Nullable Object> pairs = new ArrayList<>();
        List<@Nullable Object> keys = new ArrayList<>();
        node.value(pairs);
        map.forEach((key, value) -> {
            path.push(pairs.size());
            Object encoded = encodeAt(0, key);
            keys.add(encoded);
            pairs.add(Tuple.of(encoded, encodeAt(1, value)));
            path.pop();
        });
        take(map.keySet(), keys, type);
        return node;
    }

    private Object collection(Collection<?> collection) {
        CollectionType type = CollectionType.of(collection);
        return switch (collection) {
            case EnumSet<?> set -> enumSet(set);
            case Collection<?> known when type != null -> elements(known, type);
            case Set<?> set when set.stream().allMatch(ObjectEncoder::isPlainKey) ->
                noted(set, new LinkedHashSet<@Nullable Object>(set));
            case Set<?> set -> elements(set, CollectionType.SET);
            case List<?> list -> {
                List<@Nullable Object> node = new ArrayList<>(list.size());
                yield addAll(list, noted(list, node));
            }
            default -> throw new IllegalArgumentException("a value of type " + collection.getClass().getName()
                    + " is neither a list nor a set; copy it into one of them");
        };
    }

    private Typed elements(Collection<?> elements, CollectionType type) {
        Typed node = noted(elements, new Typed(JavaNode.PREFIX + type.type().getName(), null));
        putOrder(elements, node.attributes());
        List<@Nullable Object> list = new ArrayList<>();
        node.value(list);
        addAll(elements, list);
        if (elements instanceof Set) {
            take(elements, list, type);
        }
        return node;
    }

    /// Refuses to save keys that would take too long to hash when they are opened.
    private void take(Collection<?> keys, List<@Nullable Object> nodes, CollectionType type) {
        if (budget.isTooMuch(new ArrayList<>(keys), nodes, type.isSorted(), classes)) {
            throw new IllegalArgumentException("the " + keys.size() + " keys or elements of a "
                    + type.type().getSimpleName() + " take too long to compare: one has more than "
                    + HashBudget.MAX_PARTS + " parts or holds itself, or too many share much or have equal hashes; "
                    + "use another collection or smaller keys");
        }
    }

    private Typed enumSet(EnumSet<?> set) {
        List<@Nullable Object> names = new ArrayList<>();
        set.forEach(constant -> names.add(constant.name()));
        Typed node = noted(set, new Typed(JavaNode.PREFIX + CollectionType.ENUM_SET, names));
        String constants = enumOf(set.isEmpty() ? EnumSet.complementOf(set) : set);
        if (constants == null) {
            constants = missingEnum(set.isEmpty() ? EnumSet.complementOf(set) : set, set);
        }
        node.attributes().put(JavaNode.ENUM, constants);
        return node;
    }

    private Typed optional(Optional<?> optional) {
        Typed node = noted(optional, new Typed(JavaNode.PREFIX + Optional.class.getName(), null));
        List<@Nullable Object> held = new ArrayList<>();
        node.value(held);
        optional.ifPresent(value -> held.add(encode(value)));
        return node;
    }

    /// Values that can be keys in the tree, and are read unchanged.
    private static boolean isPlainKey(@Nullable Object key) {
        return switch (key) {
            case null -> true;
            case String _,Boolean _,Long _,Integer _,Double _,Float _,Short _,Byte _,byte[] _ -> true;
            case BigInteger big -> big.bitLength() >= Long.SIZE;
            case Complex _,Tensor _,Storage _,TypedStorage _,DType _,Device _,Shape _,Symbol _ -> true;
            case Tuple tuple -> StateKeys.isKey(tuple) && tuple.stream().allMatch(ObjectEncoder::isPlainKey);
            default -> false;
        };
    }

    /// {@return the name of the enum whose constants some objects are; null if they are not all of one that is known}
    private @Nullable String enumOf(Collection<?> constants) {
        Class<?> type = null;
        for (Object constant : constants) {
            if (!(constant instanceof Enum<?> known) || (type != null && type != known.getDeclaringClass())) {
                return null;
            }
            type = known.getDeclaringClass();
        }
        return type == null ? null : enumName(type);
    }

    private @Nullable String enumName(Class<?> type) {
        return classes.name(type).or(() -> JdkValues.named(type.getName()).map(Class::getName)).orElse(null);
    }

    /// {@return the name of the enum of a map} An empty map does not contain it, but accepts no constant of another
    /// enum.
    private String enumOfKeys(EnumMap<?, ?> map) {
        if (map.isEmpty()) {
            return Stream.concat(classes.classes().stream(), JdkValues.enums().stream())
                    .filter(type -> type.isEnum() && takesKeysOf(map, type)).findFirst().map(this::enumName)
                    .orElseThrow(() -> unregisteredEnum(map));
        }
        String constants = enumOf(map.keySet());
        return constants == null ? missingEnum(map.keySet(), map) : constants;
    }

    /// Goes on without an enum that is not registered, so that the message has all such classes.
    private String missingEnum(Collection<?> constants, Object collection) {
        if (constants.stream().findFirst().orElse(null) instanceof Enum<?> constant) {
            addMissing(constant.getDeclaringClass());
            return constant.getDeclaringClass().getName();
        }
        throw unregisteredEnum(collection);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static boolean takesKeysOf(EnumMap<?, ?> map, Class<?> type) {
        EnumMap<?, ?> probe = map.clone();
        try {
            for (Object constant : type.getEnumConstants()) {
                ((EnumMap) probe).put((Enum) constant, null);
            }
            return type.getEnumConstants().length > 0;
        } catch (ClassCastException _) {
            return false;
        }
    }

    private static IllegalArgumentException unregisteredEnum(Object collection) {
        return new IllegalArgumentException("the enum of a " + collection.getClass().getSimpleName()
                + " is not registered: pass StateClasses.of(…) with it to the options");
    }

    private static void putOrder(Object collection, Map<String, @Nullable Object> attributes) {
        Comparator<?> order = switch (collection) {
            case SortedMap<?, ?> map -> map.comparator();
            case SortedSet<?> set -> set.comparator();
            case PriorityQueue<?> queue -> queue.comparator();
            default -> null;
        };
        if (Collections.reverseOrder().equals(order)) {
            attributes.put(JavaNode.ORDER, JavaNode.REVERSE);
        } else if (order != null && !Comparator.naturalOrder().equals(order)) {
            throw new IllegalArgumentException(
                    "a value of type " + collection.getClass().getName() + " with a custom comparator ("
                            + order.getClass().getName() + ") cannot be saved; use the natural order or its reverse, "
                            + "or copy it into a list");
        }
    }

    // ---- arrays ----

    private Typed array(Object array) {
        Class<?> type = array.getClass();
        Optional<String> known = arrays.name(type);
        if (known.isEmpty()) {
            addMissing(type);
        }
        String name = JavaNode.PREFIX + known.orElse(type.getTypeName());
        if (type.componentType().isPrimitive()) {
            return noted(array, new Typed(name, PrimitiveArrays.toBytes(array)));
        }
        Typed node = noted(array, new Typed(name, null));
        List<@Nullable Object> elements = new ArrayList<>();
        node.value(elements);
        addAll(Arrays.asList((@Nullable Object[]) array), elements);
        return node;
    }
}
