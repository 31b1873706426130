package io.undercroft.serializer.state;

import java.util.AbstractMap;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A map with the name of a type of another system, and attributes: for instance Python's `OrderedDict` or `Counter`,
/// or the components of a sparse tensor. It keeps the order of its entries, finds integers as a [StateMap] does, and is
/// equal to any map of equal entries. The type and the attributes (a PyTorch state_dict has `_metadata`) are kept and
/// saved.
public final class TypedMap extends AbstractMap<@Nullable Object, @Nullable Object> {
    private final String type;
    private final StateMap entries = new StateMap();
    private final SequencedMap<String, @Nullable Object> attributes = new LinkedHashMap<>();

    /// Creates an empty map.
    ///
    /// @param type the name of the original type, for instance `collections.OrderedDict`
    public TypedMap(String type) {
        this.type = Objects.requireNonNull(type, "type");
    }

    /// {@return the name of the original type}
    public String type() {
        return type;
    }

    /// {@return the attributes of the map, which may be changed}
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
