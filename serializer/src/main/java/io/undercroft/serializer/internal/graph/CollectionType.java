package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A collection type of the JDK that loading restores.
///
/// @param type its class, whose name is in files
/// @param isSorted whether it has a comparator
/// @param maker makes an empty one with a comparator, null for the natural order
@SuppressWarnings("JdkObsolete") // Programs use them, so they are restored.
record CollectionType(Class<?> type, boolean isSorted, Function<@Nullable Comparator<Object>, Object> maker) {
    /// The type of a saved enum map or set, which has no factory since that would need the enum.
    static final String ENUM_MAP = "java.util.EnumMap";
    static final String ENUM_SET = "java.util.EnumSet";
    /// The type of saved maps and sets whose keys are no plain values and whose class is not restored.
    static final CollectionType MAP = of(LinkedHashMap.class, LinkedHashMap::new);
    static final CollectionType SET = of(LinkedHashSet.class, LinkedHashSet::new);

    private static final CollectionType TREE_MAP = sorted(TreeMap.class, TreeMap::new);
    private static final CollectionType TREE_SET = sorted(TreeSet.class, TreeSet::new);

    private static final Map<String, CollectionType> BY_NAME = Stream.of(MAP, SET, TREE_MAP, TREE_SET,
            of(ConcurrentHashMap.class, ConcurrentHashMap::new),
            of(LinkedList.class, LinkedList::new),
            of(CopyOnWriteArrayList.class, CopyOnWriteArrayList::new),
            sorted(PriorityQueue.class, PriorityQueue::new), of(ArrayDeque.class, ArrayDeque::new))
            .collect(Collectors.toUnmodifiableMap(known -> known.type.getName(), Function.identity()));

    /// Collections that are not saved, each with what to use in its place.
    private static final Map<String, Class<?>> REPLACED = Map.of("java.util.Stack", ArrayList.class,
            "java.util.Vector", ArrayList.class, "java.util.concurrent.ConcurrentSkipListMap", TreeMap.class,
            "java.util.concurrent.ConcurrentSkipListSet", TreeSet.class,
            "java.util.concurrent.CopyOnWriteArraySet", LinkedHashSet.class,
            "java.util.concurrent.ConcurrentLinkedDeque", ArrayDeque.class,
            "java.util.concurrent.ConcurrentLinkedQueue", ArrayDeque.class,
            "java.util.concurrent.LinkedBlockingDeque", ArrayDeque.class,
            "java.util.concurrent.LinkedBlockingQueue", ArrayDeque.class,
            "java.util.concurrent.PriorityBlockingQueue", PriorityQueue.class);

    private static CollectionType of(Class<?> type, Supplier<Object> maker) {
        return new CollectionType(type, false, _ -> maker.get());
    }

    private static CollectionType sorted(Class<?> type, Function<@Nullable Comparator<Object>, Object> maker) {
        return new CollectionType(type, true, maker);
    }

    /// {@return the type of a name in a file, or null if there is none}
    static @Nullable CollectionType named(String name) {
        return BY_NAME.get(name);
    }

    /// {@return whether a collection is not saved, but another one in its place}
    ///
    /// @param type the class of a collection
    static boolean isReplaced(Class<?> type) {
        return REPLACED.containsKey(type.getName());
    }

    /// {@return the type with which a collection is loaded, or null if only its contents are restored, as for most}
    /// Sorted collections stay sorted: a view of a `TreeMap` is loaded as a `TreeMap`.
    ///
    /// @param collection a map or a collection
    /// @throws IllegalArgumentException if it is not saved
    static @Nullable CollectionType of(Object collection) {
        String name = collection.getClass().getName();
        Class<?> other = REPLACED.get(name);
        if (other != null) {
            throw new IllegalArgumentException("a value of type " + name + " is not saved; use " + other.getName()
                    + ", or register the class with a StateCodec");
        }
        CollectionType type = BY_NAME.get(name);
        if (type == null) {
            return switch (collection) {
                case SortedMap<?, ?> _ -> TREE_MAP;
                case SortedSet<?> _ -> TREE_SET;
                default -> null;
            };
        }
        return MAP.equals(type) || SET.equals(type) ? null : type;
    }

    /// Checks that a variable that holds a collection can hold what loading makes of it.
    ///
    /// @param variable the class of the variable
    /// @param value its value
    /// @param node the node that it is saved as
    /// @throws IllegalArgumentException if it cannot
    static void checkFits(Class<?> variable, @Nullable Object value, @Nullable Object node) {
        Class<?> back = madeOf(node);
        if (value != null && back != null && !variable.isAssignableFrom(back)) {
            throw new IllegalArgumentException("a value of type " + value.getClass().getTypeName()
                    + " would be opened as one of type " + back.getTypeName() + ", which a variable of type "
                    + variable.getTypeName()
                    + " cannot hold; declare the variable with a type that holds both, or register an upgrader that "
                    + "converts the one to the other");
        }
    }

    /// Returns the class of what a node becomes, or null if that is the class of what it was made of.
    private static @Nullable Class<?> madeOf(@Nullable Object node) {
        String name = JavaNode.className(node);
        CollectionType type = name == null ? null : named(name);
        if (type != null) {
            return type.type;
        }
        return switch (node) {
            case Object _ when name != null -> null;
            case Typed _ -> Typed.class;
            case TypedMap _ -> TypedMap.class;
            case Tuple _ -> Tuple.class;
            case Map<?, ?> _ -> LinkedHashMap.class;
            case List<?> _ -> ArrayList.class;
            case Set<?> _ -> LinkedHashSet.class;
            case null, default -> null;
        };
    }
}
