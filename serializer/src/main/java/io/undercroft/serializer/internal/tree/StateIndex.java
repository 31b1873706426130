package io.undercroft.serializer.internal.tree;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/// The names of the values of a state tree.
///
/// The page of the package [io.undercroft.serializer.state] says how values are named.
///
/// Every container is visited once: the tensors of a list that is referenced twice are named from its first place. Only
/// a [Typed] that has a tensor, for instance a parameter, names it at every place. So the work is bounded by the size
/// of the state in memory, also if it has shared values and cycles.
public final class StateIndex {
    /// The maximum depth of containers, which is the limit of the `.croft` format.
    public static final int MAX_DEPTH = 128;
    /// The maximum size of a path, in bytes of UTF-8, which is the limit of the `.croft` format. Without a limit, a
    /// short file could define very many long names.
    public static final int MAX_NAME = 4096;
    /// The maximum number of characters of the names of all tensors together.
    public static final long MAX_NAMES = 1L << 30;

    /// A container of so few entries that walking it again costs no more than knowing that it was walked.
    private static final int FEW = 8;
    /// A key is this long at most, in characters, if its length is not to matter for the length of a path.
    private static final int SHORT_KEY = 64;

    private final @Nullable Object root;
    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    /// The first name of each tensor, once one was queried.
    private volatile @Nullable Map<Tensor, String> firstNames;
    /// The containers that were walked: all, or all that are not plain and small.
    private final IdentityHashMap<Object, Place> containers = new IdentityHashMap<>();
    /// The places of all containers, once one was queried that is not in the map above.
    private volatile @Nullable IdentityHashMap<Object, Place> all;
    /// The last number appended to each repeated name, so that many equal names take no longer.
    private final Map<String, Integer> suffixes = new HashMap<>();
    private final Set<Storage> storages = new LinkedHashSet<>();
    private final Set<Storage> values = new HashSet<>();

    private final LongConsumer names;
    /// The places of tensors. Names are made of them when all are known to be short enough together.
    private final List<TensorPlace> places = new ArrayList<>();
    private final boolean everyPlace;
    private long namesLength;

    /// @param everyPlace whether the places of small containers are wanted too
    private StateIndex(@Nullable Object root, LongConsumer names, boolean everyPlace) {
        this.root = root;
        this.names = names;
        this.everyPlace = everyPlace;
    }

    /// Creates the index of a state.
    ///
    /// @param state the root of the tree
    /// @return the index
    /// @throws IllegalArgumentException if containers nest deeper than [#MAX_DEPTH], a path is longer than [#MAX_NAME],
    ///     or all names together are longer than [#MAX_NAMES]
    public static StateIndex of(@Nullable Object state) {
        return of(state, _ -> {});
    }

    /// Creates the index of a state that was read from a file. A short file can define very many long paths.
    ///
    /// @param state the root of the tree
    /// @param names called with the length of the name of each tensor, in characters, before the name is created; it
    ///     may throw
    /// @return the index
    /// @throws IllegalArgumentException as [#of(Object)]
    public static StateIndex of(@Nullable Object state, LongConsumer names) {
        Objects.requireNonNull(names, "names");
        return of(Place.ROOT, state, names);
    }

    /// Creates the index of a part of a state, with the names that the state gives.
    ///
    /// @param part the part
    /// @return the index
    /// @throws IllegalArgumentException as [#of(Object)]
    public static StateIndex of(StatePart part) {
        return of(new Place(Place.ROOT, part.path(), (int) Place.sizeOf(part.path()), part.path().length()),
                part.value(), _ -> {});
    }

    private static StateIndex of(Place root, @Nullable Object state, LongConsumer names) {
        StateIndex index = new StateIndex(state, names, false);
        index.visit(root, state, 0);
        for (TensorPlace place : index.places) {
            index.nameTensor(place);
        }
        index.places.clear();
        return index;
    }

    /// {@return a key as a segment of a name: `~` as `~0`, `/` as `~1`}
    ///
    /// @param key any text
    public static String escape(String key) {
        return key.indexOf('~') < 0 && key.indexOf('/') < 0 ? key : key.replace("~", "~0").replace("/", "~1");
    }

    /// {@return a key of any kind as a segment of a name}
    ///
    /// @param key a key of a map, an index, or the name of an attribute
    public static String segment(@Nullable Object key) {
        return key instanceof String text ? escape(text) : keyName(key);
    }

    /// {@return the raw name of a name, or the key of a segment}
    ///
    /// @param name a name, or a segment of one
    public static String rawName(String name) {
        return name.indexOf('~') < 0 ? name : name.replace("~1", "/").replace("~0", "~");
    }

    /// {@return the value inside nested typed values; the value itself if it is not typed} If a typed value contains
    /// itself, a [Typed] is returned.
    ///
    /// @param value any value of a state
    public static @Nullable Object held(@Nullable Object value) {
        Object held = value;
        for (int depth = 0; depth < MAX_DEPTH && held instanceof Typed typed; depth++) {
            held = typed.value();
        }
        return held;
    }

    /// {@return the children of a value of a state: the values of a map, the elements of a list or set, the value of a
    /// [Typed], and attributes; none of a [ScalarList] and of any other value}
    ///
    /// @param value any value
    public static Collection<? extends @Nullable Object> children(@Nullable Object value) {
        return switch (value) {
            case TypedMap map -> withAttributes(map.values(), map.attributes());
            case Map<?, ?> map -> map.values();
            case ScalarList _ -> List.of();
            case Collection<?> elements -> elements;
            case Typed typed -> withAttributes(Collections.singletonList(typed.value()), typed.attributes());
            case null, default -> List.of();
        };
    }

    private static Collection<? extends @Nullable Object> withAttributes(Collection<? extends @Nullable Object> held,
            Map<String, @Nullable Object> attributes) {
        if (attributes.isEmpty()) {
            return held;
        }
        List<@Nullable Object> all = new ArrayList<>(held);
        all.addAll(attributes.values());
        return all;
    }

    /// {@return all tensors by name, in the order of the state; a tensor in two places has two names}
    public SequencedMap<String, Tensor> tensors() {
        return Collections.unmodifiableSequencedMap(tensors);
    }

    /// {@return all storages, in the order of their first use}
    public List<Storage> storages() {
        return List.copyOf(storages);
    }

    /// {@return whether a storage is a value of the state, and not only used by tensors}
    ///
    /// @param storage the storage, by identity
    public boolean isValue(Storage storage) {
        return values.contains(storage);
    }

    /// {@return the first name of a tensor, or null if the state does not have it}
    ///
    /// @param tensor the tensor, by identity
    public @Nullable String nameOf(Tensor tensor) {
        Map<Tensor, String> existing = firstNames;
        if (existing == null) {
            Map<Tensor, String> first = HashMap.newHashMap(tensors.size());
            tensors.forEach((name, named) -> first.putIfAbsent(named, name));
            existing = first;
            firstNames = existing;
        }
        return existing.get(tensor);
    }

    /// {@return the path of the first place of a container, or null if the state does not have it}
    ///
    /// @param container a map, list, set or typed value, by identity
    public @Nullable String pathOf(Object container) {
        Place place = containers.get(container);
        if (place == null) {
            place = allContainers().get(container);
        }
        return place == null ? null : place.path();
    }

    /// Most states have nothing that refers to a small container, so the places of these are looked for when the first
    /// one is queried.
    private IdentityHashMap<Object, Place> allContainers() {
        IdentityHashMap<Object, Place> existing = all;
        if (existing == null) {
            StateIndex index = new StateIndex(root, _ -> {}, true);
            index.visit(Place.ROOT, root, 0);
            existing = index.containers;
            all = existing;
        }
        return existing;
    }

    /// {@return the path of an attribute of a typed value}
    ///
    /// @param typed a [Typed] or [TypedMap] of the state, by identity
    /// @param attribute the name of the attribute
    public String pathOf(Object typed, String attribute) {
        return containers.getOrDefault(typed, Place.ROOT).child(attribute).path();
    }

    /// The place of a value: a segment below the place of its container. Paths share their beginnings this way, and are
    /// written out only for tensors and where one is queried.
    ///
    /// @param parent the place of the container; null for the root
    /// @param segment the escaped segment
    /// @param nbytes the size of the path in bytes of UTF-8
    /// @param length the length of the path in characters
    private record Place(@Nullable Place parent, String segment, int nbytes, int length) {
        static final Place ROOT = new Place(null, "", 0, 0);

        /// {@return the place of a value in the container here}
        ///
        /// @param key its key in the container, not escaped
        Place child(@Nullable Object key) {
            String escaped = StateIndex.segment(key);
            // An empty path adds no slash, so a name has none in front; JSON Pointer would have one.
            int slash = length == 0 ? 0 : 1;
            long size = nbytes + slash + sizeOf(escaped);
            if (size > MAX_NAME) {
                throw new IllegalArgumentException("a path in the state is longer than " + MAX_NAME + " bytes: "
                        + FormatException.quote(path() + (slash == 0 ? "" : "/") + escaped) + "; use shorter keys");
            }
            return new Place(this, escaped, (int) size, length + slash + escaped.length());
        }

        /// {@return whether a path that ends two short keys below is not too long}
        boolean leavesSpace() {
            // A character takes three bytes at most, or two as an escaped one.
            return nbytes + 2 * (3 * SHORT_KEY + 1) <= MAX_NAME;
        }

        String path() {
            if (length == segment.length()) {
                return segment;
            }
            char[] path = new char[length];
            for (Place place = this; place.parent != null; place = place.parent) {
                int start = place.length - place.segment.length();
                place.segment.getChars(0, place.segment.length(), path, start);
                if (start > 0) {
                    path[start - 1] = '/';
                }
            }
            return new String(path);
        }

        /// A character is a byte at least, so a text that is too long by its characters needs no counting.
        private static long sizeOf(String text) {
            if (text.length() <= MAX_NAME) {
                for (int i = 0; i < text.length(); i++) {
                    if (text.charAt(i) >= 0x80) {
                        return text.getBytes(UTF_8).length;
                    }
                }
            }
            return text.length();
        }
    }

    private record TensorPlace(Place place, Tensor tensor) {}

    /// Takes note of a value, and of what is in it if it is a container seen for the first time. Recursion is safe, as
    /// the depth is limited.
    private void visit(Place place, @Nullable Object value, int depth) {
        if (value instanceof Tensor tensor) {
            addTensor(place, tensor);
        } else if (value instanceof Storage storage) {
            addStorage(storage);
        } else if (value instanceof TypedStorage typed) {
            addStorage(typed.untyped());
        } else if (value == null || !isContainer(value) || containers.putIfAbsent(value, place) != null) {
            addParameter(place, value);
        } else if (!isEmpty(value)) {
            if (depth == MAX_DEPTH) {
                throw new IllegalArgumentException("the state nests containers more than " + MAX_DEPTH + " deep, at "
                        + FormatException.quote(place.path()));
            }
            visitChildren(place, value, depth + 1);
        }
    }

    private void visitChildren(Place place, Object container, int depth) {
        if (container instanceof Map<?, ?> map) {
            visitEntries(place, map, depth);
            if (map instanceof TypedMap typed) {
                visitEntries(place, typed.attributes(), depth);
            }
        } else if (container instanceof Typed typed) {
            visit(place, typed.value(), depth);
            visitEntries(place, typed.attributes(), depth);
        } else if (!(container instanceof ScalarList)) {
            int index = 0;
            for (Object element : (Collection<?>) container) {
                if (hasPlaceHere(place, element)) {
                    visit(place.child(index), element, depth);
                }
                index++;
            }
        }
    }

    private void visitEntries(Place place, Map<?, ?> map, int depth) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            Object key = entry.getKey();
            boolean hasPlace = hasPlaceHere(place, entry.getValue());
            if (hasPlace || !isShort(key) || !place.leavesSpace()) {
                Place childPlace = place.child(key);
                if (key instanceof Tuple || key instanceof Tensor || key instanceof Storage
                        || key instanceof TypedStorage) {
                    visit(childPlace, key, depth);
                }
                if (hasPlace) {
                    visit(childPlace, entry.getValue(), depth);
                }
            }
        }
    }

    private boolean hasPlaceHere(Place place, @Nullable Object value) {
        return hasPlace(value) && (everyPlace || !isPlain(value) || !place.leavesSpace());
    }

    private static boolean isContainer(@Nullable Object value) {
        return value instanceof Map || value instanceof List || value instanceof Set || value instanceof Typed;
    }

    /// {@return whether a value is a container, a tensor or a storage}
    private static boolean hasPlace(@Nullable Object value) {
        return isContainer(value) || value instanceof Tensor || value instanceof Storage
                || value instanceof TypedStorage;
    }

    /// {@return whether nothing in a container has a place, and so little is in it that it may be looked at again
    /// wherever it is}
    private static boolean isPlain(@Nullable Object container) {
        if (container instanceof Map<?, ?> map) {
            return hasPlainEntries(map) && !(map instanceof TypedMap typed && !typed.attributes().isEmpty());
        }
        if (container instanceof Typed typed) {
            return typed.attributes().isEmpty() && !hasPlace(typed.value());
        }
        return container instanceof Collection<?> elements && isPlain(elements);
    }

    /// Without an iterator for nothing: there may be half a million empty lists.
    private static boolean isPlain(Collection<?> elements) {
        if (!elements.isEmpty() && elements.size() <= FEW) {
            for (Object element : elements) {
                if (hasPlace(element)) {
                    return false;
                }
            }
        }
        return elements.size() <= FEW;
    }

    private static boolean hasPlainEntries(Map<?, ?> map) {
        if (map.size() <= FEW) {
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                if (!isShort(entry.getKey()) || hasPlace(entry.getValue())) {
                    return false;
                }
            }
            return true;
        }
        return false;
    }

    private static boolean isShort(@Nullable Object key) {
        return key instanceof String text ? text.length() <= SHORT_KEY : key == null || key instanceof Long;
    }

    private static boolean isEmpty(Object container) {
        if (container instanceof Map<?, ?> map) {
            return map.isEmpty() && !(map instanceof TypedMap typed && !typed.attributes().isEmpty());
        }
        return container instanceof Collection<?> elements && elements.isEmpty();
    }

    private void addStorage(Storage storage) {
        storages.add(storage);
        values.add(storage);
    }

    /// A parameter that is in two places has two names, as a plain tensor would.
    private void addParameter(Place place, @Nullable Object seenBefore) {
        if (seenBefore instanceof Typed typed && typed.value() instanceof Tensor tensor) {
            addTensor(place, tensor);
        }
    }

    private void addTensor(Place place, Tensor tensor) {
        namesLength += place.length;
        if (namesLength > MAX_NAMES) {
            throw new IllegalArgumentException("the names of all tensors of the state are longer than " + MAX_NAMES
                    + " characters together, up to " + FormatException.quote(place.path())
                    + "; use shorter keys, or save the tensors of which there are so many once");
        }
        names.accept(place.length);
        places.add(new TensorPlace(place, tensor));
        storages.add(tensor.storage());
    }

    private void nameTensor(TensorPlace named) {
        Tensor tensor = named.tensor;
        String path = named.place.path();
        String name = path;
        while (tensors.containsKey(name)) {
            name = appended(path, "#" + suffixes.merge(path, 2, (last, _) -> last + 1));
        }
        tensors.put(name, tensor);
    }

    /// Names are part of the file format, so they must not depend on how Java prints a float or a tuple.
    private static String keyName(@Nullable Object key) {
        return switch (key) {
            case null -> "null";
            case Boolean truth -> truth.toString();
            case Double _,Float _ -> "float";
            case Number integer -> integer.toString();
            case byte[] _ -> "bytes";
            case Complex _ -> "complex";
            case Tuple _ -> "tuple";
            case Tensor _ -> "tensor";
            case Storage _,TypedStorage _ -> "storage";
            case DType _ -> "dtype";
            case Device _ -> "device";
            case Shape _ -> "shape";
            case Symbol _ -> "symbol";
            default -> "object";
        };
    }

    private static String appended(String path, String end) {
        if (isTooLong(path, end)) {
            throw new IllegalArgumentException("a path in the state is longer than " + MAX_NAME + " bytes: "
                    + FormatException.quote(path + end) + "; use shorter keys");
        }
        return path + end;
    }

    private static boolean isTooLong(String path, String end) {
        long characters = (long) path.length() + end.length();
        // Three bytes are the most that a character of Java takes, so short paths need no counting.
        return 3 * characters > MAX_NAME
                && path.getBytes(UTF_8).length + (long) end.getBytes(UTF_8).length > MAX_NAME;
    }
}
