package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.StateCodec;
import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.lang.reflect.Array;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Makes the objects of the nodes of a tree; [ObjectEncoder] does the reverse.
///
/// A tree is not trusted. The name of a class is looked up among those that are registered or known here, and nowhere
/// else.
final class NodeFactories {
    private static final String OPTIONAL = "java.util.Optional";

    private final StateClasses classes;
    private final ArrayTypes arrays;
    private final HashBudget budget = new HashBudget();
    private final Map<Class<?>, ObjectType> types = new HashMap<>();

    /// Recipes for objects.
    ///
    /// @param classes the classes whose objects there may be
    NodeFactories(StateClasses classes) {
        this.classes = classes;
        this.arrays = new ArrayTypes(classes);
    }

    /// {@return the factory of the object of a node}
    ///
    /// @param node a container of a tree
    /// @throws FormatException if its class is not registered, or it is not what is saved of one
    Recipe of(Object node) {
        String name = JavaNode.className(node);
        if (name != null) {
            return object(name, node);
        }
        return switch (node) {
            case TypedMap map -> typedMap(map);
            case Typed typed -> typed(typed);
            case Map<?, ?> map -> Recipe.early(values(map), new LinkedHashMap<>(),
                    (made, values) -> putAll(keys(map), values, made));
            case Tuple tuple -> tuple(tuple);
            case List<?> list -> Recipe.early(list, new ArrayList<>(list.size()), ArrayList::addAll);
            // Elements of sets and keys of maps are plain values.
            case Set<?> set -> Recipe.late(List.of(), _ -> new LinkedHashSet<@Nullable Object>(set));
            default -> throw new IllegalArgumentException(node.getClass() + " is no container of a tree");
        };
    }

    /// {@return the name of the class that a node needs and that is not registered, or null}
    ///
    /// @param node a value of a tree
    @Nullable
    String missing(Object node) {
        String name = JavaNode.className(node);
        if (CollectionType.ENUM_MAP.equals(name) || CollectionType.ENUM_SET.equals(name)) {
            name = attributes(node).get(JavaNode.ENUM) instanceof String constants ? constants : null;
        }
        boolean isKnown = name == null || OPTIONAL.equals(name) || classes.type(name).isPresent()
                || JdkValues.named(name).isPresent() || CollectionType.named(name) != null
                || arrays.named(name).isPresent();
        return isKnown ? null : name;
    }

    private Recipe object(String name, Object node) {
        Optional<Class<?>> registered = classes.type(name).or(() -> JdkValues.named(name).filter(Class::isEnum));
        if (registered.isPresent()) {
            return registered(registered.get(), node);
        }
        CollectionType collection = CollectionType.named(name);
        if (collection != null) {
            return collection(collection, node);
        }
        Optional<Class<?>> array = arrays.named(name);
        if (array.isPresent()) {
            return array(array.get().componentType(), typedNode(node));
        }
        return switch (name) {
            case CollectionType.ENUM_MAP -> ofNames(mapNode(node), newEnumMap(constants(node)));
            case CollectionType.ENUM_SET -> enumSet(typedNode(node));
            case OPTIONAL -> optional(typedNode(node));
            default -> value(JdkValues.named(name).orElseThrow(() -> ObjectFaults.unknown(name)), typedNode(node));
        };
    }

    // ---- objects of registered classes ----

    private Recipe registered(Class<?> type, Object node) {
        if (type.isEnum()) {
            Typed named = typedNode(node);
            return Recipe.late(List.of(), _ -> constant(type, named.value()));
        }
        if (Modifier.isAbstract(type.getModifiers())) {
            throw ObjectFaults.damaged("is of type " + type.getName() + ", which has no instances");
        }
        TypedMap map = mapNode(node);
        if (map.attributes().containsKey(JavaNode.KRYO)) {
            throw ObjectFaults.unsupported();
        }
        List<String> names = map.keySet().stream().map(NodeFactories::text).toList();
        Optional<StateCodec<?>> codec = classes.codec(type);
        if (codec.isPresent()) {
            return Recipe.late(values(map), values -> decoded(codec.get(), type, upgraded(type, zip(names, values))));
        }
        ObjectType known = types.computeIfAbsent(type, ObjectType::new);
        return type.isRecord()
                ? Recipe.late(values(map), values -> known.newRecord(upgraded(type, zip(names, values)), classes))
                : Recipe.early(values(map), known.newInstance(),
                        (object, values) -> known.set(object, upgraded(type, zip(names, values)), classes));
    }

    /// Returns the components, fields or parts of an object, after the upgrader of its class.
    private SequencedMap<String, @Nullable Object> upgraded(Class<?> type,
            SequencedMap<String, @Nullable Object> parts) {
        classes.upgrader(type).ifPresent(upgrader -> {
            try {
                upgrader.upgrade(parts);
            } catch (RuntimeException e) {
                throw ObjectFaults.failed("cannot be upgraded: the upgrader of " + type.getName() + " threw", e);
            }
        });
        return parts;
    }

    private static Object decoded(StateCodec<?> codec, Class<?> type, SequencedMap<String, @Nullable Object> parts) {
        Object made;
        try {
            made = codec.decode(parts);
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw ObjectFaults.failed("cannot be made: the codec of " + type.getName() + " threw", e);
        }
        if (!type.isInstance(made)) {
            throw ObjectFaults.failed("cannot be made: the codec of " + type.getName() + " returned another class",
                    null);
        }
        return made;
    }

    private Recipe value(Class<?> type, Typed node) {
        return Recipe.late(List.of(), _ -> JdkValues.decode(type, node.value()));
    }

    private static Object constant(Class<?> type, @Nullable Object name) {
        // Any other value may hold the whole state, and must not be printed.
        String wanted = text(name);
        return Arrays.stream(type.getEnumConstants())
                .filter(constant -> ((Enum<?>) constant).name().equals(wanted)).findFirst()
                .orElseThrow(() -> ObjectFaults.changed(
                        "is the constant " + FormatException.quote(wanted) + ", which the enum "
                                + type.getName() + " does not have",
                        "Add it to the enum"));
    }

    // ---- what the tree has of itself ----

    private static Recipe typed(Typed node) {
        return Recipe.early(new ArrayList<>(StateIndex.children(node)), new Typed(node.type(), null),
                (made, values) -> {
                    made.value(values.getFirst());
                    made.attributes()
                            .putAll(zip(List.copyOf(node.attributes().keySet()), values.subList(1, values.size())));
                });
    }

    private static Recipe typedMap(TypedMap node) {
        return Recipe.early(new ArrayList<>(StateIndex.children(node)), new TypedMap(node.type()), (made, values) -> {
            int entries = node.size();
            putAll(keys(node), values.subList(0, entries), made);
            made.attributes()
                    .putAll(zip(List.copyOf(node.attributes().keySet()), values.subList(entries, values.size())));
        });
    }

    private static Recipe tuple(Tuple node) {
        Tuple.Builder builder = new Tuple.Builder();
        return Recipe.early(node, builder.tuple(), (_, values) -> values.forEach(builder::add));
    }

    // ---- collections ----

    private Recipe collection(CollectionType type, Object node) {
        Object made = type.maker().apply(order(attributes(node)));
        if (made instanceof Map<?, ?>) {
            return map(type, node, mutable((Map<?, ?>) made));
        }
        List<?> elements = elements(typedNode(node));
        Collection<@Nullable Object> collection = mutable((Collection<?>) made);
        if (!type.isSorted() && !(made instanceof Set)) {
            return Recipe.early(elements, collection, Collection::addAll);
        }
        return Recipe.ofContents(elements, collection, (filled, values) -> {
            if (filled instanceof Set) {
                take(values, elements, type);
            }
            addDistinct(filled, values);
        });
    }

    private Recipe map(CollectionType type, Object node, Map<@Nullable Object, @Nullable Object> made) {
        if (!(node instanceof TypedMap map)) {
            return pairs(type, typedNode(node), made);
        }
        if (map.attributes().containsKey(JavaNode.ENUM)) {
            return ofNames(map, made);
        }
        List<@Nullable Object> keys = keys(map);
        return type.isSorted()
                ? Recipe.ofContents(values(map), made, (filled, values) -> putAll(keys, values, filled))
                : Recipe.early(values(map), made, (filled, values) -> putAll(keys, values, filled));
    }

    private void take(List<@Nullable Object> keys, List<?> nodes, CollectionType type) {
        if (budget.isTooMuch(keys, nodes, type.isSorted(), classes)) {
            throw ObjectFaults.damaged("has " + keys.size() + " keys or elements of which one has more than "
                    + HashBudget.MAX_PARTS + " parts or holds itself, or of which too many share much or would be "
                    + "compared with each other");
        }
    }

    private Recipe pairs(CollectionType type, Typed node, Map<@Nullable Object, @Nullable Object> made) {
        List<@Nullable Object> entries = new ArrayList<>();
        for (Object pair : elements(node)) {
            if (!(pair instanceof List<?> entry) || entry.size() != 2) {
                throw ObjectFaults.damaged("has an entry that is no pair");
            }
            entries.addAll(entry);
        }
        return Recipe.ofContents(entries, made, (filled, values) -> {
            List<@Nullable Object> keys = everyOther(values, 0);
            take(keys, everyOther(entries, 0), type);
            putAll(keys, everyOther(values, 1), filled);
        });
    }

    private static List<@Nullable Object> everyOther(List<@Nullable Object> values, int first) {
        List<@Nullable Object> chosen = new ArrayList<>(values.size() / 2);
        for (int i = first; i < values.size(); i += 2) {
            chosen.add(values.get(i));
        }
        return chosen;
    }

    private Recipe ofNames(TypedMap node, Map<@Nullable Object, @Nullable Object> made) {
        Class<?> type = constants(node);
        List<@Nullable Object> keys = new ArrayList<>();
        node.keySet().forEach(name -> keys.add(constant(type, name)));
        return Recipe.early(values(node), made, (filled, values) -> putAll(keys, values, filled));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Map<@Nullable Object, @Nullable Object> newEnumMap(Class<?> type) {
        return new EnumMap(type);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Recipe enumSet(Typed node) {
        Class<?> type = constants(node);
        EnumSet set = EnumSet.noneOf((Class) type);
        elements(node).forEach(name -> set.add((Enum) constant(type, name)));
        return Recipe.late(List.of(), _ -> set);
    }

    /// Returns the enum that a node names.
    private Class<?> constants(Object node) {
        String name = text(attributes(node).get(JavaNode.ENUM));
        return classes.type(name).or(() -> JdkValues.named(name)).filter(Class::isEnum)
                .orElseThrow(() -> ObjectFaults.unknown(name));
    }

    private static @Nullable Comparator<Object> order(Map<String, @Nullable Object> attributes) {
        if (!attributes.containsKey(JavaNode.ORDER)) {
            return null;
        }
        if (!JavaNode.REVERSE.equals(attributes.get(JavaNode.ORDER))) {
            throw ObjectFaults.damaged("has an order that is not known");
        }
        return Collections.reverseOrder();
    }

    private static Recipe optional(Typed node) {
        List<?> held = elements(node);
        if (held.size() > 1) {
            throw ObjectFaults.damaged("is an Optional of " + held.size() + " values");
        }
        return Recipe.late(held, values -> values.isEmpty() ? Optional.empty() : Optional.of(values.getFirst()));
    }

    private static void addDistinct(Collection<@Nullable Object> made, List<@Nullable Object> elements) {
        for (Object element : elements) {
            if (!made.add(element)) {
                throw ObjectFaults.damaged("has an element twice");
            }
        }
    }

    private static void putAll(List<@Nullable Object> keys, List<@Nullable Object> values,
            Map<@Nullable Object, @Nullable Object> made) {
        for (int i = 0; i < keys.size(); i++) {
            putNew(made, keys.get(i), values.get(i));
        }
    }

    private static void putNew(Map<@Nullable Object, @Nullable Object> made, @Nullable Object key,
            @Nullable Object value) {
        int before = made.size();
        made.put(key, value);
        if (made.size() == before) {
            throw ObjectFaults.damaged("has a key twice");
        }
    }

    // ---- arrays ----

    private static Recipe array(Class<?> component, Typed node) {
        if (component.isPrimitive()) {
            return Recipe.late(List.of(), _ -> node.value() instanceof byte[] held
                    ? PrimitiveArrays.ofBytes(component, held)
                    : damagedArray(component));
        }
        List<?> elements = elements(node);
        return Recipe.early(elements, (@Nullable Object[]) Array.newInstance(component, elements.size()),
                (array, values) -> {
                    for (int i = 0; i < array.length; i++) {
                        array[i] = FieldConversion.fit(component, values.get(i), () -> "has elements");
                    }
                });
    }

    private static Object damagedArray(Class<?> component) {
        throw ObjectFaults.damaged("is an array of " + component.getTypeName() + " without bytes");
    }

    // ---- parts of nodes ----

    private static Map<String, @Nullable Object> attributes(Object node) {
        return node instanceof TypedMap map ? map.attributes() : typedNode(node).attributes();
    }

    private static Typed typedNode(Object node) {
        if (node instanceof Typed typed) {
            return typed;
        }
        throw ObjectFaults.damaged("is a map where there should be none");
    }

    private static TypedMap mapNode(Object node) {
        if (node instanceof TypedMap map) {
            return map;
        }
        throw ObjectFaults.damaged("is no map where there should be one");
    }

    private static List<?> elements(Typed node) {
        if (node.value() instanceof List<?> list) {
            return list;
        }
        throw ObjectFaults.damaged("has no list of what it holds");
    }

    private static String text(@Nullable Object name) {
        if (name instanceof String text) {
            return text;
        }
        throw ObjectFaults.damaged("has a name that is no text");
    }

    private static List<@Nullable Object> keys(Map<?, ?> map) {
        return new ArrayList<>(map.keySet());
    }

    private static List<@Nullable Object> values(Map<?, ?> map) {
        return new ArrayList<>(map.values());
    }

    private static SequencedMap<String, @Nullable Object> zip(List<String> names, List<@Nullable Object> values) {
        SequencedMap<String, @Nullable Object> zipped = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            zipped.put(names.get(i), values.get(i));
        }
        return zipped;
    }

    @SuppressWarnings("unchecked")
    private static Map<@Nullable Object, @Nullable Object> mutable(Map<?, ?> made) {
        return (Map<@Nullable Object, @Nullable Object>) made;
    }

    @SuppressWarnings("unchecked")
    private static Collection<@Nullable Object> mutable(Collection<?> made) {
        return (Collection<@Nullable Object>) made;
    }
}
