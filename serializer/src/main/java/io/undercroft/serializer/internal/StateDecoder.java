package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.serializer.internal.graph.HashBudget;
import io.undercroft.serializer.state.StateMap;
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
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Makes the values of a state from its tree.
///
/// A container is created at its start, so that its elements may refer to it, and added to its parent when it is
/// complete, so that a tuple can be a key. The reader limits how deep containers nest.
final class StateDecoder {
    /// The values that the numbers in a tree refer to; each method throws [FormatException] for a number that the file
    /// does not have.
    interface Tables {
        Tensor tensor(int number);

        Storage storage(int number);

        DType dtype(int number);
    }

    /// A power of two.
    private static final int TEXTS = 1 << 10;

    private final StateTreeReader in;
    private final Tables tables;
    private final TreeCost cost;
    private final HashBudget budget = new HashBudget();
    /// The texts that were read last, by their hashes: a repeated text is one string in memory.
    private final @Nullable String[] texts = new @Nullable String[TEXTS];
    private final List<@Nullable Object> containers = new ArrayList<>();

    private StateDecoder(StateTreeReader in, Tables tables, TreeCost cost) {
        this.in = in;
        this.tables = tables;
        this.cost = cost;
    }

    /// Decodes a tree.
    ///
    /// @param in at its start
    /// @param tables the tables that its numbers refer to
    /// @param cost the cost to charge
    /// @return the state
    /// @throws FormatException if the tree breaks a rule, or takes more memory than its size justifies
    static @Nullable Object decode(StateTreeReader in, Tables tables, TreeCost cost) {
        return new StateDecoder(in, tables, cost).decode();
    }

    private @Nullable Object decode() {
        Object state = value(next());
        // Refuses bytes after the state.
        in.next();
        return state;
    }

    private StateToken next() {
        StateToken token = in.next();
        cost.take(in, token);
        return token;
    }

    private @Nullable Object value(StateToken token) {
        return switch (token) {
            case NULL -> null;
            case BOOLEAN -> in.booleanValue();
            case INTEGER -> in.longValue();
            case INT32 -> (int) in.longValue();
            case INT16 -> (short) in.longValue();
            case INT8 -> (byte) in.longValue();
            case BIG_INTEGER -> in.bigIntegerValue();
            case FLOAT -> in.doubleValue();
            case FLOAT32 -> in.floatValue();
            case COMPLEX -> new Complex(in.doubleValue(), in.imaginaryValue());
            case STRING -> text();
            case BYTES -> bytes();
            case TENSOR -> tables.tensor(in.index());
            case STORAGE -> storage();
            case DTYPE -> tables.dtype(in.index());
            case DEVICE -> device();
            case SHAPE -> shape();
            case SYMBOL -> new Symbol(in.text());
            case REFERENCE -> containers.get(in.index());
            case LIST -> list();
            case TUPLE -> tuple();
            case SET -> set();
            case MAP -> readMap(new StateMap(in.count()), false);
            case OBJECT -> object();
            case END, DONE -> throw new IllegalStateException(token + " is no value");
        };
    }

    /// Not by toArray, which makes five objects: a tree may have half a million of them.
    private byte[] bytes() {
        byte[] copy = new byte[Math.toIntExact(in.length())];
        MemorySegment.copy(in.bytes(), ValueLayout.JAVA_BYTE, 0, copy, 0, copy.length);
        return copy;
    }

    private String text() {
        if (in.length() == 0) {
            return "";
        }
        String text = in.text();
        int slot = text.hashCode() & (TEXTS - 1);
        String known = texts[slot];
        if (text.equals(known)) {
            return known;
        }
        texts[slot] = text;
        return text;
    }

    private Object storage() {
        Storage storage = tables.storage(in.index());
        if (in.storageDType() < 0) {
            return storage;
        }
        DType dtype = tables.dtype(in.storageDType());
        try {
            return new TypedStorage(storage, dtype);
        } catch (IllegalArgumentException e) {
            throw malformed("has a typed storage of which " + e.getMessage());
        }
    }

    private Device device() {
        try {
            return Device.parse(in.text());
        } catch (IllegalArgumentException _) {
            throw malformed("has the device '" + FormatException.quote(in.text()) + "'");
        }
    }

    private Shape shape() {
        try {
            return Shape.of(in.shape());
        } catch (IllegalArgumentException e) {
            throw malformed("has a shape of which " + e.getMessage());
        }
    }

    private FormatException malformed(String what) {
        return Rule.V16_TREE.broken("the state tree " + what, in.offset());
    }

    private List<@Nullable Object> list() {
        List<@Nullable Object> list = new ArrayList<>(in.count());
        containers.add(list);
        return readElements(list);
    }

    /// Reads the elements of a container, and its end.
    private List<@Nullable Object> readElements(List<@Nullable Object> elements) {
        for (int left = in.count(); left > 0; left--) {
            elements.add(value(next()));
        }
        next();
        return elements;
    }

    private Tuple tuple() {
        int count = in.count();
        Tuple.Builder builder = new Tuple.Builder(count);
        containers.add(builder.tuple());
        for (int left = count; left > 0; left--) {
            builder.add(value(next()));
        }
        next();
        return builder.tuple();
    }

    private Set<@Nullable Object> set() {
        String what = "a set with an element";
        Set<@Nullable Object> set = LinkedHashSet.newLinkedHashSet(in.count());
        containers.add(set);
        List<@Nullable Object> elements = readElements(new ArrayList<>(in.count()));
        checkKeys(elements, what);
        set.addAll(elements);
        if (set.size() < elements.size()) {
            throw twice(what);
        }
        return set;
    }

    /// Reads the entries of a map, and its end.
    ///
    /// @param areAttributes whether the keys have to be strings
    private Map<@Nullable Object, @Nullable Object> readMap(Map<@Nullable Object, @Nullable Object> map,
            boolean areAttributes) {
        String what = "a map with a key";
        int count = in.count();
        containers.add(map);
        List<@Nullable Object> keys = new ArrayList<>(count);
        List<@Nullable Object> values = new ArrayList<>(count);
        for (int left = count; left > 0; left--) {
            keys.add(value(next()));
            values.add(value(next()));
        }
        next();
        if (areAttributes && !keys.stream().allMatch(String.class::isInstance)) {
            throw malformed("has an attribute whose name is no string");
        }
        checkKeys(keys, what);
        for (int i = 0; i < count; i++) {
            map.put(keys.get(i), values.get(i));
        }
        if (map.size() < count) {
            throw twice(what);
        }
        return map;
    }

    /// Reads an object: first its value, then its attributes. If the value is a map, the object is a [TypedMap] and
    /// both are one; else it is a [Typed]. It is created before its value, which may refer to it.
    private Object object() {
        String type = in.text();
        int number = containers.size();
        containers.add(null);
        StateToken token = next();
        if (token == StateToken.MAP) {
            TypedMap map = new TypedMap(type);
            containers.set(number, map);
            var _ = readMap(map, false);
            readAttributes(map.attributes());
            return map;
        }
        Typed typed = new Typed(type, null);
        containers.set(number, typed);
        Object value = value(token);
        if (value instanceof Map) {
            throw malformed("has an object whose value is a map of another object");
        }
        typed.value(value);
        readAttributes(typed.attributes());
        return typed;
    }

    /// Reads attributes, a map or null as the reader has checked, and the end of the object.
    @SuppressWarnings("unchecked")
    private void readAttributes(Map<String, @Nullable Object> attributes) {
        if (next() == StateToken.MAP) {
            var _ = readMap((Map<@Nullable Object, @Nullable Object>) (Map<?, ?>) attributes, true);
        }
        next();
    }

    /// Checks keys, or elements of a set, before they are put into it. Duplicates of plain keys of one class
    /// are found when they are put.
    private void checkKeys(List<@Nullable Object> keys, String what) {
        if (keys.isEmpty()) {
            return;
        }
        Optional<HashBudget.Wrong> wrong = budget.check(keys);
        if (wrong.isPresent()) {
            throw wrongKeys(wrong.get(), keys.size(), what);
        }
    }

    private FormatException wrongKeys(HashBudget.Wrong wrong, int count, String what) {
        return switch (wrong) {
            case NO_KEY -> malformed("has " + what + " that cannot be one");
            case TWICE -> twice(what);
            case TOO_MUCH -> new FormatException("CROFT-KEYS", "the state tree has a map or set of " + count
                    + " keys, of which too many would be compared with each other", in.offset(),
                    "The file was made to be slow; its tensors can be read by name all the same");
        };
    }

    private FormatException twice(String what) {
        return malformed("has " + what + " twice");
    }
}
