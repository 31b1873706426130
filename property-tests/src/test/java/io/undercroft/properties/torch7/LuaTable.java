package io.undercroft.properties.torch7;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// A table: values under keys, those of an array under 1, 2, 3 …
final class LuaTable implements LuaObject {
    private final Map<Object, Object> entries = new LinkedHashMap<>();

    static LuaTable array(List<?> elements) {
        LuaTable table = new LuaTable();
        double index = 1;
        for (Object element : elements) {
            table.set(index++, element);
        }
        return table;
    }

    LuaTable with(String name, Object value) {
        set(name, value);
        return this;
    }

    Map<Object, Object> entries() {
        return entries;
    }

    /// The values under 1, 2, 3 … up to the highest such key; those between that are missing are nil.
    List<Object> elements() {
        double last = entries.keySet().stream().mapToDouble(key -> key instanceof Double number ? number : 0).max()
                .orElse(0);
        List<Object> elements = new ArrayList<>();
        for (double index = 1; index <= last; index++) {
            elements.add(get(index));
        }
        return elements;
    }

    @Override
    public String type() {
        return "table";
    }

    @Override
    public Object get(Object key) {
        return entries.get(key);
    }

    @Override
    public void set(Object key, Object value) {
        if (value == null) {
            entries.remove(key);
        } else {
            entries.put(key, value);
        }
    }

    @Override
    public double length() {
        return elements().size();
    }

    @Override
    public List<Object> references() {
        return List.copyOf(entries.values());
    }
}
