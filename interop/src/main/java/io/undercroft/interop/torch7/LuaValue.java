package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.StateMap;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A table, a vector, an object or a function, while the file is read. What it becomes in the state depends on all that
/// it holds; but that may refer back to it. So its parts are collected first, and when all of the file has been read it
/// is made and then filled.
abstract sealed class LuaValue {
    /// Takes the next part.
    ///
    /// @param part another one of these, or what is in the state for the part
    /// @param offset where the part begins in the file
    /// @throws io.undercroft.format.FormatException if it cannot be there
    abstract void take(@Nullable Object part, long offset);

    /// {@return whether all parts have been taken}
    abstract boolean isWhole();

    /// {@return what stands for it in the state: always the same object}
    abstract Object made();

    /// Puts the parts into what was made.
    abstract void fill();

    /// {@return what is in the state for a part}
    static @Nullable Object made(@Nullable Object part) {
        return part instanceof LuaValue value ? value.made() : part;
    }

    /// A table while it is read.
    static final class Table extends LuaValue {
        /// Below this size a table cannot be made to be slow.
        private static final int SMALL = 512;
        /// The number of entries for which space is allocated before they are read.
        private static final int FEW = 8;
        /// The maximum number of keys of a large table with the same hash.
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

        /// @param count the recorded number of entries
        /// @param isBody whether it holds the fields of an object, and is no value by itself
        /// @param offset where it begins in the file
        Table(int count, boolean isBody, long offset) {
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
                        ? new StateMap(Math.min(keys.size(), FEW))
                        : new Typed(NodeNames.TABLE, new ArrayList<>());
            }
            return made;
        }

        @Override
        @SuppressWarnings("unchecked")
        void fill() {
            if (isBody && isMap()) {
                // They belong to the object.
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

    /// The elements of a `tds.Vec` while it is read.
    static final class Vector extends LuaValue {
        private final List<@Nullable Object> parts = new ArrayList<>();
        private final List<@Nullable Object> made = new ArrayList<>();
        private final int count;

        /// @param count the recorded number of elements
        Vector(int count) {
            this.count = count;
        }

        @Override
        void take(@Nullable Object part, long offset) {
            parts.add(part);
        }

        @Override
        boolean isWhole() {
            return parts.size() == count;
        }

        @Override
        Object made() {
            return made;
        }

        @Override
        void fill() {
            parts.forEach(part -> made.add(made(part)));
        }
    }

    /// An object of a class that is written in Lua, while it is read.
    static final class Instance extends LuaValue {
        private final String className;
        private final Number version;
        private @Nullable Object body;
        private boolean isWhole;
        private @Nullable Object made;

        /// @param className the name of its class
        /// @param version that of its class
        Instance(String className, Number version) {
            this.className = className;
            this.version = version;
        }

        String className() {
            return className;
        }

        /// Sets the contents of the object: a table of its fields, or those that [TdsClass] defines.
        @Override
        void take(@Nullable Object part, long offset) {
            body = part;
            isWhole = true;
        }

        @Override
        boolean isWhole() {
            return isWhole;
        }

        @Override
        Object made() {
            if (made == null) {
                String type = NodeNames.PREFIX + className;
                made = fields() != null ? new TypedMap(type) : new Typed(type, null);
            }
            return made;
        }

        /// {@return the fields, if a map can hold them}
        private @Nullable Table fields() {
            return body instanceof Table table && table.isMap() ? table : null;
        }

        @Override
        void fill() {
            Table fields = fields();
            if (made() instanceof TypedMap map && fields != null) {
                fields.fill(map);
                setVersion(map.attributes());
            } else if (made() instanceof Typed typed) {
                typed.value(made(body));
                setVersion(typed.attributes());
            }
        }

        private void setVersion(SequencedMap<String, @Nullable Object> attributes) {
            if (!version.equals(NodeNames.usualVersion(className))) {
                attributes.put(NodeNames.VERSION, version);
            }
        }
    }

    /// A function while it is read. It is carried as uninterpreted bytes.
    static final class Function extends LuaValue {
        private final Typed made;
        private @Nullable Object upvalues;
        private boolean isWhole;

        /// @param tag what it begins with
        /// @param bytecode its bytes
        Function(int tag, byte[] bytecode) {
            this.made = new Typed(NodeNames.FUNCTION, bytecode);
            made.attributes().put(NodeNames.TAG, (long) tag);
        }

        @Override
        void take(@Nullable Object part, long offset) {
            upvalues = part;
            isWhole = true;
        }

        @Override
        boolean isWhole() {
            return isWhole;
        }

        @Override
        Object made() {
            return made;
        }

        @Override
        void fill() {
            made.attributes().put(NodeNames.UPVALUES, made(upvalues));
        }
    }
}
