package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.Field;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// What a reader made by Kaitai has found at some place. Paths are names of the description, joined by full stops.
///
/// @param value an object of a class made by Kaitai, a number, a text, a truth value, bytes, or a list of them
record Parsed(@Nullable Object value) {
    private static final Pattern WORD = Pattern.compile("_(.)");

    /// A field of the description and where it was read.
    ///
    /// @param name its name
    /// @param offset where it starts, counted from the first field next to it
    /// @param size its size in bytes
    record Place(String name, int offset, int size) {}

    /// {@return what is there}
    ///
    /// @throws IllegalArgumentException if the file does not have what the description wants there
    Parsed get(String path) {
        Parsed found = this;
        for (String name : path.split("\\.", -1)) {
            found = found.one(name);
        }
        return found;
    }

    private Parsed one(String name) {
        if (value == null) {
            throw new IllegalArgumentException("the file does not have what would have " + name);
        }
        try {
            return new Parsed(value.getClass().getMethod(camelCase(name)).invoke(value));
        } catch (InvocationTargetException e) {
            throw new IllegalArgumentException("nothing can be read as " + name, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("the description has no " + name + " in " + value.getClass(), e);
        }
    }

    /// {@return a name of the description as Java code has it}
    static String camelCase(String name) {
        return WORD.matcher(name).replaceAll(word -> word.group(1).toUpperCase(Locale.ROOT));
    }

    /// {@return all that is in a list; nothing if the list is not there}
    Stream<Parsed> all(String path) {
        return get(path).value instanceof List<?> list ? list.stream().map(Parsed::new) : Stream.of();
    }

    boolean is(String path) {
        return (Boolean) get(path).value;
    }

    long number(String path) {
        return ((Number) get(path).value).longValue();
    }

    int integer(String path) {
        return Math.toIntExact(number(path));
    }

    /// {@return the bits of a checksum}
    int bits(String path) {
        return (int) number(path);
    }

    /// {@return a text, or the name of an enumerated value}
    String text(String path) {
        return get(path).value.toString();
    }

    byte[] bytes(String path) {
        return (byte[]) get(path).value;
    }

    UUID uuid(String path) {
        return new Field(path, 0, 16).uuid(MemorySegment.ofArray(bytes(path)), 0);
    }

    Digest128 digest(String path) {
        return new Digest128(number(path + ".high"), number(path + ".low"));
    }

    /// {@return the fields of this object, in their order} Those of one object cannot have one name: the second
    /// reserved field is `reserved_2`, here it is `reserved` too.
    List<Place> places() {
        try {
            Class<?> type = value.getClass();
            Map<?, ?> starts = (Map<?, ?>) type.getField("_attrStart").get(value);
            Map<?, ?> ends = (Map<?, ?>) type.getField("_attrEnd").get(value);
            String[] names = (String[]) type.getField("_seqFields").get(null);
            List<Place> places = new ArrayList<>();
            for (String name : names) {
                int start = (Integer) starts.get(name);
                places.add(new Place(name.equals("reserved2") ? "reserved" : name,
                        start - (Integer) starts.get(names[0]), (Integer) ends.get(name) - start));
            }
            return places;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("positions are not kept", e);
        }
    }
}
