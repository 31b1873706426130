package io.undercroft.serializer.state;

import java.util.LinkedHashMap;
import org.jspecify.annotations.Nullable;

/// A map of a state that was read from a file, for instance Python's `dict`. An integer key is found by equal integers
/// of any class: `get(2)` finds the entry of `2L`.
///
/// [#get], [#getOrDefault], [#containsKey] and [#remove(Object)] find keys in this way; otherwise it is a
/// [LinkedHashMap]. `put(2, …)` adds a second key if the map has `2L`. A state with both cannot be saved, since they
/// are one key in a file.
public final class StateMap extends LinkedHashMap<@Nullable Object, @Nullable Object> {
    private static final long serialVersionUID = 1L;
    private static final double LOAD = 0.75;

    /// Creates an empty map.
    public StateMap() {}

    /// Creates an empty map.
    ///
    /// @param size the expected number of entries
    public StateMap(int size) {
        super((int) Math.min(Math.ceil(size / LOAD), 1 << 30));
    }

    /// {@return the key of this map that is the same integer; the same key if there is none}
    private @Nullable Object present(@Nullable Object key) {
        boolean isInteger = key instanceof Long || key instanceof Integer || key instanceof Short
                || key instanceof Byte;
        if (isInteger && key instanceof Number integer && !super.containsKey(key)) {
            long value = integer.longValue();
            for (Number same : new Number[]{value, (int) value, (short) value, (byte) value}) {
                if (same.longValue() == value && super.containsKey(same)) {
                    return same;
                }
            }
        }
        return key;
    }

    @Override
    public @Nullable Object get(@Nullable Object key) {
        return super.get(present(key));
    }

    @Override
    public @Nullable Object getOrDefault(@Nullable Object key, @Nullable Object byDefault) {
        return super.getOrDefault(present(key), byDefault);
    }

    @Override
    public boolean containsKey(@Nullable Object key) {
        return super.containsKey(present(key));
    }

    @Override
    public @Nullable Object remove(@Nullable Object key) {
        return super.remove(present(key));
    }
}
