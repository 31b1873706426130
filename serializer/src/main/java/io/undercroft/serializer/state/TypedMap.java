package io.undercroft.serializer.state;

import java.util.AbstractMap;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A map that is more than a plain one elsewhere: Python's `OrderedDict` or `Counter`, a sparse tensor as the map of
/// its parts. It is used as any map, finds integers as a [StateMap] does, and is equal to any map of equal entries,
/// which it keeps in order. The type, and the attributes set on it (a PyTorch state_dict carries `_metadata`), only
/// travel along.
public final class TypedMap extends AbstractMap<@Nullable Object, @Nullable Object> {
    private final String type;
    private final StateMap entries = new StateMap();
    private final SequencedMap<String, @Nullable Object> attributes = new LinkedHashMap<>();

    /// An empty map.
    ///
    /// @param type the name of its original type, for instance `collections.OrderedDict`
    public TypedMap(String type) {
        this.type = Objects.requireNonNull(type, "type");
    }

    /// {@return the name of its original type}
    public String type() {
        return type;
    }

    /// {@return the attributes set on the map itself; may be changed}
    public SequencedMap<String, @Nullable Object> attributes() {
        return attributes;
    }

    @Override
    public Set<Entry<@Nullable Object, @Nullable Object>> entrySet() {
        return entries.entrySet();
    }

    @Override
    public @Nullable Object put(@Nullable Object key, @Nullable Object value) {
        return entries.put(key, value);
    }

    /// {@return the type and the entries, for instance `java:app.Run{weights=…}`, and the names of the attributes}
    @Override
    public String toString() {
        return type + super.toString() + (attributes.isEmpty() ? "" : " with " + attributes.keySet());
    }

    // The inherited methods for one key would search all entries.

    @Override
    public @Nullable Object get(@Nullable Object key) {
        return entries.get(key);
    }

    @Override
    public boolean containsKey(@Nullable Object key) {
        return entries.containsKey(key);
    }

    @Override
    public @Nullable Object remove(@Nullable Object key) {
        return entries.remove(key);
    }
}
