package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.StateKeys;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A table while it is read.
final class LuaTable extends LuaValue {
    /// Below this size a table cannot be made to be slow.
    private static final int SMALL = 512;
    /// Space for so many entries is taken before they are read.
    private static final int FEW = 8;
    /// How many keys of a large table may have the same hash.
    private static final int MOST_COLLISIONS = 256;
    /// The end of the numbers that a `Long` can be.
    private static final double LONG_END = 0x1p63;

    private final long offset;
    private final boolean isBody;
    private final List<Object> keys;
    private final List<@Nullable Object> values;
    private int missing;
    private boolean hasObjectKeys;
    private @Nullable Object made;

    /// @param count how many entries it is said to have
    /// @param isBody whether it holds the fields of an object, and is no value by itself
    /// @param offset where it begins in the file
    LuaTable(int count, boolean isBody, long offset) {
        this.missing = count;
        this.keys = new ArrayList<>(Math.min(count, FEW));
        this.values = new ArrayList<>(Math.min(count, FEW));
        this.isBody = isBody;
        this.offset = offset;
    }

    @Override
    void take(@Nullable Object part, long at) {
        if (keys.size() == values.size()) {
            keys.add(key(part, at));
        } else {
            values.add(part);
            missing--;
        }
    }

    private Object key(@Nullable Object part, long at) {
        Object key = part instanceof Double number ? key(number) : part;
        if (key == null || key.equals(Double.NaN)) {
            throw refused("a key of a table is " + (key == null ? "nil" : "no number"), at);
        }
        hasObjectKeys |= key instanceof LuaValue || !StateKeys.isKey(key);
        return key;
    }

    private static Object key(double number) {
        boolean isLong = number == Math.rint(number) && number >= -LONG_END && number < LONG_END;
        // The cast takes the sign off -0, which is the same key as 0.
        return isLong ? (Object) (long) number : (Object) number;
    }

    private static FormatException refused(String what, long offset) {
        return Torch7Faults.of("KEY", what, offset);
    }

    @Override
    boolean isWhole() {
        return missing == 0;
    }

    /// {@return whether it holds the fields of an object, and is no value by itself}
    boolean isBody() {
        return isBody;
    }

    /// {@return whether a map can hold the entries}
    boolean isMap() {
        return !hasObjectKeys;
    }

    @Override
    Object made() {
        if (made == null) {
            made = isMap()
                    ? LinkedHashMap.newLinkedHashMap(Math.min(keys.size(), FEW))
                    : new Typed(Nodes.TABLE, new ArrayList<>());
        }
        return made;
    }

    @Override
    @SuppressWarnings("unchecked")
    void fill() {
        if (isBody && isMap()) {
            // The object has them.
            return;
        }
        if (made() instanceof Map<?, ?> map) {
            fill((Map<@Nullable Object, @Nullable Object>) map);
        } else if (made() instanceof Typed typed && typed.value() instanceof List<?> pairs) {
            fill((List<@Nullable Object>) pairs);
        }
    }

    /// A table has no entries of nil: Torch7 sets them too, which does nothing.
    private void fill(List<@Nullable Object> pairs) {
        checkKeys();
        for (int i = 0; i < keys.size(); i++) {
            if (values.get(i) != null) {
                pairs.add(Tuple.of(made(keys.get(i)), made(values.get(i))));
            }
        }
    }

    /// Puts the entries into a map, but those of nil.
    ///
    /// @param map an empty map
    void fill(Map<@Nullable Object, @Nullable Object> map) {
        checkKeys();
        for (int i = 0; i < keys.size(); i++) {
            if (values.get(i) != null) {
                map.put(keys.get(i), made(values.get(i)));
            }
        }
    }

    /// Java's hash of a string can be forged, and keys of several classes and one hash are searched one by one.
    private void checkKeys() {
        if (keys.size() < 2) {
            return;
        }
        Set<Object> seen = new HashSet<>();
        Map<Integer, Integer> hashes = new HashMap<>();
        for (Object key : keys) {
            // Arrays of equal bytes are one key to Lua.
            Object identity = key instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : key;
            if (keys.size() > SMALL && hashes.merge(identity.hashCode(), 1, Integer::sum) > MOST_COLLISIONS) {
                throw refused("the keys of a table are made to be slow", offset);
            }
            if (!seen.add(identity)) {
                throw refused("a table has a key twice", offset);
            }
        }
    }
}
