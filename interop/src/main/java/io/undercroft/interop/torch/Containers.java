package io.undercroft.interop.torch;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Fills maps and sets as Python does, for one pickle, and sees to it that this costs no more than the pickle's size
/// justifies.
///
/// Two things could cost more. A function can be called with one big value again and again, and copy it each time; what
/// real pickles copy is written out before, so all copies together may not exceed the pickle. And keys can be made to
/// have equal hashes, so that each insertion visits all the others; that work is charged to the budget, as are the
/// entries.
final class Containers {
    private static final int STRING_PIECE = 64;
    /// The number of visits to the parts of a key: it is checked, counted, searched for and inserted.
    private static final int HASHES = 4;
    /// Apart from tuples. Tensors and storages are hashed by identity, as in Python; a parameter or a frozenset cannot
    /// be a key here, since a state cannot hold one.
    private static final List<Class<?>> HASHABLE = List.of(String.class, Number.class, Boolean.class, byte[].class,
            Complex.class, Shape.class, DType.class, Device.class, Symbol.class, Tensor.class, Storage.class,
            TypedStorage.class);

    private final IdentityHashMap<Object, Map<Integer, Integer>> hashes = new IdentityHashMap<>();
    private final ReadBudget budget;
    private final String file;
    private final boolean keepsObjects;
    private final PickledArrays arrays;
    private long copiesLeft;

    /// @param pickleSize bytes in the pickle
    /// @param budget what running the pickle may cost
    /// @param file the name of the file, for messages that come when it was opened long ago
    /// @param keepsObjects whether objects of any class may be keys of dicts
    /// @param arrays makes arrays of NumPy
    Containers(long pickleSize, ReadBudget budget, String file, boolean keepsObjects, PickledArrays arrays) {
        this.copiesLeft = pickleSize;
        this.budget = budget;
        this.file = file;
        this.keepsObjects = keepsObjects;
        this.arrays = arrays;
    }

    /// {@return whether objects of any class may be keys of dicts}
    boolean keepsObjects() {
        return keepsObjects;
    }

    /// {@return what makes arrays of NumPy}
    PickledArrays arrays() {
        return arrays;
    }

    /// {@return the name of the file that the pickle is in}
    String file() {
        return file;
    }

    /// {@return what running the pickle may cost}
    ReadBudget budget() {
        return budget;
    }

    /// Charges the budget for a copy of elements or bytes.
    void charge(long count) {
        budget.takeMemory(count * ReadBudget.SLOT);
        budget.takeSteps(count);
        copiesLeft -= count;
        if (copiesLeft < 0) {
            throw PickleFault.malformed("values are copied more often than the pickle is long");
        }
    }

    /// Puts a value under a key that Python can hash.
    void put(Map<@Nullable Object, @Nullable Object> map, @Nullable Object key, @Nullable Object value) {
        if (keepsObjects && isObject(key)) {
            putUnderObject(map, key, value);
            return;
        }
        checkKey(map, map.keySet(), key);
        // Python distinguishes NaNs as keys, Java does not: the first entry would be lost.
        if (key instanceof Double real && real.isNaN() && map.containsKey(key)) {
            throw PickleFault.because("TORCH-KEY", "a dict has NaN as a key twice", "Use other keys");
        }
        map.put(key, value);
    }

    /// A state has no objects as keys. Such items are a list of pairs under one key.
    private void putUnderObject(Map<@Nullable Object, @Nullable Object> map, @Nullable Object key,
            @Nullable Object value) {
        budget.takeMemory(ReadBudget.CONTAINER);
        pairs(map).add(Tuple.of(key, value));
    }

    private List<@Nullable Object> pairs(Map<@Nullable Object, @Nullable Object> map) {
        Object value = map.get(InertObject.OBJECT_KEYS);
        if (value == null) {
            budget.takeMemory(ReadBudget.CONTAINER);
            checkKey(map, map.keySet(), InertObject.OBJECT_KEYS);
            List<@Nullable Object> pairs = new ArrayList<>();
            map.put(InertObject.OBJECT_KEYS, pairs);
            return pairs;
        }
        @SuppressWarnings("unchecked")
        List<@Nullable Object> pairs = (List<@Nullable Object>) value;
        return pairs;
    }

    /// {@return whether an element of a set is an object, or a tuple with one in it}
    ///
    /// @param elements of the set
    boolean hasObject(Collection<? extends @Nullable Object> elements) {
        budget.takeSteps(elements.size());
        return keepsObjects && elements.stream().anyMatch(Containers::isObject);
    }

    /// {@return whether a key is an object, or a tuple with one in it}
    private static boolean isObject(@Nullable Object key) {
        if (key instanceof Tuple tuple && tuple.size() <= StateKeys.MAX_PARTS) {
            for (int i = 0; i < tuple.size(); i++) {
                if (tuple.get(i) instanceof Typed || PythonObjects.is(tuple.get(i))) {
                    return true;
                }
            }
        }
        return key instanceof Typed || PythonObjects.is(key);
    }

    /// Adds an element that Python can hash.
    void add(Set<@Nullable Object> set, @Nullable Object element) {
        checkKey(set, set, element);
        set.add(element);
    }

    /// {@return a new set that keeps its order}
    ///
    /// @param elements in order
    Set<@Nullable Object> set(Collection<? extends @Nullable Object> elements) {
        charge(elements.size());
        Set<@Nullable Object> set = new LinkedHashSet<>();
        elements.forEach(element -> add(set, element));
        return set;
    }

    /// Sets attributes as Python's `__setstate__` does: from a dict, or from a pair of dicts of which either may be
    /// None.
    ///
    /// @param attributes where to
    /// @param state the dict or pair
    void setAttributes(Map<String, @Nullable Object> attributes, @Nullable Object state) {
        if (state instanceof Tuple pair && pair.size() == 2) {
            pair.forEach(part -> putAll(attributes, part));
        } else {
            putAll(attributes, state);
        }
    }

    private void putAll(Map<String, @Nullable Object> attributes, @Nullable Object state) {
        if (state == null) {
            return;
        }
        if (!(state instanceof Map<?, ?> map)) {
            throw PickleFault.malformed("attributes are in a dict, not in " + CallArguments.describe(state));
        }
        charge(map.size());
        map.forEach((name, value) -> {
            if (!(name instanceof String text)) {
                throw PickleFault
                        .malformed("the name of an attribute is a string, not " + CallArguments.describe(name));
            }
            budget.takeMemory(ReadBudget.ENTRY);
            attributes.put(text, value);
        });
    }

    private void checkKey(Object container, Set<?> keys, @Nullable Object key) {
        budget.takeMemory(ReadBudget.ENTRY);
        int parts = 1;
        if (key instanceof String text) {
            parts += text.length() / STRING_PIECE;
        } else if (key instanceof Tuple tuple) {
            parts = StateKeys.MAX_PARTS - checkTuple(tuple, StateKeys.MAX_PARTS - 1);
        } else {
            checkHashable(key);
        }
        budget.takeSteps((long) HASHES * parts);
        countHash(container, keys, key, parts);
    }

    /// Looks into a tuple before its hash is computed. A level of the recursion takes a part at least, so there are
    /// few.
    ///
    /// @param parts how many parts it may have
    /// @return how many are left
    private static int checkTuple(Tuple tuple, int parts) {
        if (tuple.size() > parts) {
            throw PickleFault.because("TORCH-KEY",
                    "a dict key is a tuple of more than " + StateKeys.MAX_PARTS + " parts",
                    "Use shorter keys, or strings");
        }
        int left = parts - tuple.size();
        for (int i = 0; i < tuple.size(); i++) {
            if (tuple.get(i) instanceof Tuple inner) {
                left = checkTuple(inner, left);
            } else {
                checkHashable(tuple.get(i));
            }
        }
        return left;
    }

    /// Makes no garbage: one long tuple may be part of very many keys.
    private static void checkHashable(@Nullable Object key) {
        boolean isHashable = key == null;
        for (int i = 0; i < HASHABLE.size() && !isHashable; i++) {
            isHashable = HASHABLE.get(i).isInstance(key);
        }
        if (!isHashable) {
            throw PickleFault.malformed("a dict key cannot be " + CallArguments.describe(key));
        }
    }

    /// Hashes can be forged. Keys of equal ones are searched one by one, unless all are of one class that compares.
    private void countHash(Object container, Set<?> keys, @Nullable Object key, int parts) {
        Map<Integer, Integer> equal = hashes.get(container);
        if (equal == null) {
            if (compares(key) && (keys.isEmpty() || isOfSameClass(keys.iterator().next(), key))) {
                return;
            }
            equal = new HashMap<>();
            budget.takeSteps(keys.size());
            budget.takeMemory(ReadBudget.CONTAINER + keys.size() * ReadBudget.ENTRY);
            for (Object other : keys) {
                equal.merge(Objects.hashCode(other), 1, Integer::sum);
            }
            hashes.put(container, equal);
        }
        budget.takeMemory(ReadBudget.ENTRY);
        budget.takeSteps((long) parts * equal.merge(Objects.hashCode(key), 1, Integer::sum));
    }

    private static boolean compares(@Nullable Object key) {
        return key instanceof String || key instanceof Number;
    }

    private static boolean isOfSameClass(@Nullable Object one, @Nullable Object other) {
        return one != null && other != null && one.getClass() == other.getClass();
    }
}
