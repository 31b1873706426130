package io.undercroft.serializer.state;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The names of everything in a state tree.
///
/// A name is the path to a value: the keys and indices on the way, each escaped as a JSON Pointer segment (`~` as `~0`, `/`
/// as `~1`), joined by `/`. A state that is itself a tensor gives it the empty name. Integers, truth
/// values and null are keys as they print; any other key is named by its kind, for instance `float` or `tuple`. Should two values come to the same name (the keys `1` and `"1"` in one map), the later one gets `#2`
/// appended. The value of a [Typed] has the path of the [Typed] itself; its attributes lie below.
///
/// The *raw name* is the same path with its keys as they are, for instance `params/Dense_0/kernel` for a flat map with that key,
/// whose name is `params~1Dense_0~1kernel`. Other programs know the tensors of a file by their raw names. Two names may have one
/// raw name.
///
/// Every container is walked once: a list that is referenced twice names its tensors from its first place. Only a [Typed]
/// that holds a tensor, a parameter for instance, names it at every place. So the work is bounded by the size of the state
/// in memory, whatever shares what, and cycles end.
public final class StateIndex {
    /// How deep containers may nest, as the `.croft` format limits it.
    public static final int MAX_DEPTH = 128;
    /// How long a path may be, in bytes of UTF-8, as the `.croft` format limits it. Without a limit a short file could ask for
    /// very many long names.
    public static final int MAX_NAME = 4096;

    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    private final Map<Tensor, String> firstNames = new HashMap<>();
    private final IdentityHashMap<Object, String> containers = new IdentityHashMap<>();
    /// For each name that was asked for again, the last number appended, so that many equal names take no longer.
    private final Map<String, Integer> suffixes = new HashMap<>();
    private final Set<Storage> storages = new LinkedHashSet<>();
    private final Set<Storage> values = new HashSet<>();

    private StateIndex() {}

    /// Walks a state.
    ///
    /// @param state the root of the tree
    /// @return its names
    /// @throws IllegalArgumentException if containers nest deeper than [#MAX_DEPTH] or a path is longer than [#MAX_NAME]
    public static StateIndex of(@Nullable Object state) {
        StateIndex index = new StateIndex();
        index.walk(state);
        return index;
    }

    /// {@return a key as a segment of a name: `~` as `~0`, `/` as `~1`}
    ///
    /// @param key any text
    public static String escape(String key) {
        return key.indexOf('~') < 0 && key.indexOf('/') < 0 ? key : key.replace("~", "~0").replace("/", "~1");
    }

    /// {@return the raw name: the keys and indices on the way as they are, joined by `/`} Of a single segment it is the key.
    ///
    /// @param name a name, or a segment of one
    public static String rawName(String name) {
        return name.indexOf('~') < 0 ? name : name.replace("~1", "/").replace("~0", "~");
    }

    /// {@return every tensor by name, in the order of the state; a tensor that stands in two places has two names}
    public SequencedMap<String, Tensor> tensors() {
        return Collections.unmodifiableSequencedMap(tensors);
    }

    /// {@return every storage once, in order of first use}
    public List<Storage> storages() {
        return List.copyOf(storages);
    }

    /// {@return whether a storage is itself a value of the state, and not only what tensors stand on}
    ///
    /// @param storage the storage, by identity
    public boolean isValue(Storage storage) {
        return values.contains(storage);
    }

    /// {@return the first name of a tensor, or null if the state does not hold it}
    ///
    /// @param tensor the tensor, by identity
    public @Nullable String nameOf(Tensor tensor) {
        return firstNames.get(tensor);
    }

    /// {@return the path of the first place of a container, or null if the state does not hold it}
    ///
    /// @param container a map, list, set or typed value, by identity
    public @Nullable String pathOf(Object container) {
        return containers.get(container);
    }

    /// {@return the path of an attribute of a typed value}
    ///
    /// @param typed a [Typed] or [TypedMap] that the state holds, by identity
    /// @param attribute the name of the attribute
    public String pathOf(Object typed, String attribute) {
        return join(containers.getOrDefault(typed, ""), attribute);
    }

    private record Child(String path, @Nullable Object value) {}

    private void walk(@Nullable Object root) {
        Deque<Iterator<Child>> open = new ArrayDeque<>();
        open.push(List.of(new Child("", root)).iterator());
        while (!open.isEmpty()) {
            if (!open.element().hasNext()) {
                open.pop();
                continue;
            }
            Child child = open.element().next();
            Iterator<Child> children = visit(child);
            if (children != null) {
                if (open.size() > MAX_DEPTH) {
                    throw new IllegalArgumentException("the state nests containers more than " + MAX_DEPTH
                            + " deep, at " + FormatException.quote(child.path));
                }
                open.push(children);
            }
        }
    }

    /// Takes note of a value and returns its children if it is a container seen for the first time.
    private @Nullable Iterator<Child> visit(Child child) {
        switch (child.value) {
            case Tensor tensor -> addTensor(child.path, tensor);
            case Storage storage -> addStorage(storage);
            case TypedStorage typed -> addStorage(typed.untyped());
            case null, default -> {
                Iterator<Child> children = children(child);
                if (children != null && containers.putIfAbsent(child.value, child.path) == null) {
                    return children;
                }
                addParameter(child);
            }
        }
        return null;
    }

    private void addStorage(Storage storage) {
        storages.add(storage);
        values.add(storage);
    }

    /// A parameter that stands in two places has two names, as a plain tensor would.
    private void addParameter(Child seenBefore) {
        if (seenBefore.value instanceof Typed typed && typed.value() instanceof Tensor tensor) {
            addTensor(seenBefore.path, tensor);
        }
    }

    private static @Nullable Iterator<Child> children(Child parent) {
        return switch (parent.value) {
            case TypedMap map -> chain(entries(parent.path, map), entries(parent.path, map.attributes()));
            case Map<?, ?> map -> entries(parent.path, map);
            case List<?> list -> elements(parent.path, list);
            case Set<?> set -> elements(parent.path, new ArrayList<>(set));
            case Typed typed -> chain(List.of(new Child(parent.path, typed.value())).iterator(),
                    entries(parent.path, typed.attributes()));
            case null, default -> null;
        };
    }

    private static Iterator<Child> entries(String path, Map<?, ?> map) {
        return map.entrySet().stream().flatMap(entry -> children(path, entry)).iterator();
    }

    /// The value of an entry and, before it, a key that is or may hold a tensor.
    private static Stream<Child> children(String path, Map.Entry<?, ?> entry) {
        String place = join(path, segment(entry.getKey()));
        Child value = new Child(place, entry.getValue());
        return switch (entry.getKey()) {
            case Tensor _,Storage _,TypedStorage _,Tuple _ -> Stream.of(new Child(place, entry.getKey()), value);
            case null, default -> Stream.of(value);
        };
    }

    private static Iterator<Child> elements(String path, List<?> list) {
        return IntStream.range(0, list.size()).mapToObj(i -> new Child(join(path, Integer.toString(i)), list.get(i)))
                .iterator();
    }

    private static Iterator<Child> chain(Iterator<Child> first, Iterator<Child> second) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return first.hasNext() || second.hasNext();
            }

            @Override
            public Child next() {
                return first.hasNext() ? first.next() : second.next();
            }
        };
    }

    private void addTensor(String path, Tensor tensor) {
        String name = path;
        while (tensors.containsKey(name)) {
            name = appended(path, "#" + suffixes.merge(path, 2, (last, _) -> last + 1));
        }
        tensors.put(name, tensor);
        firstNames.putIfAbsent(tensor, name);
        storages.add(tensor.storage());
    }

    /// Names are part of the file format, so they must not hang on how Java prints a float or a tuple.
    private static String segment(@Nullable Object key) {
        return switch (key) {
            case null -> "null";
            case String text -> text;
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

    /// The root adds no segment, so a name has no slash in front; JSON Pointer would have one.
    private static String join(String path, String segment) {
        String escaped = escape(segment);
        return appended(path, path.isEmpty() ? escaped : "/" + escaped);
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
