package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// A few words for a value of a state.
public final class StateOutline {
    private static final int LONGEST_TEXT = 60;
    private static final int MOST_ENTRIES = 4;

    private StateOutline() {}

    /// {@return one line about a value: scalars as they are, containers by kind and size}
    ///
    /// @param value any value of a state
    public static String of(@Nullable Object value) {
        // No pattern switch: docs/decisions/0065.
        if (value == null) {
            return "none";
        }
        if (value instanceof Map<?, ?> map) {
            return map instanceof TypedMap typed ? of(typed) : "map of " + map.size() + entries(map);
        }
        if (value instanceof String text) {
            return Text.shortened(FormatException.printable("\"" + text + "\""), LONGEST_TEXT);
        }
        if (value instanceof byte[] bytes) {
            return Text.count(bytes.length, "byte");
        }
        if (value instanceof Tensor tensor) {
            return "tensor " + tensor.dtype().name() + " " + tensor.shape();
        }
        if (value instanceof Storage storage) {
            return "storage of " + Text.bytes(storage.nbytes());
        }
        if (value instanceof TypedStorage typed) {
            return "storage of " + Text.count(typed.size(), typed.dtype().name());
        }
        if (value instanceof Collection<?> elements) {
            return "list of " + elements.size() + (isTold(elements) ? ": " + values(elements) : "");
        }
        if (value instanceof Typed typed) {
            return shortType(typed.type()) + unit(typed) + shape(typed.attributes()) + " of " + held(typed);
        }
        return Text.shortened(FormatException.printable(value.toString()), LONGEST_TEXT);
    }

    private static String held(Typed typed) {
        if (StateIndex.held(typed) instanceof Typed) {
            return "itself";
        }
        return typed.value() instanceof List<?> values && isTold(values) ? values(values) : of(typed.value());
    }

    private static String of(TypedMap map) {
        String made = made(map);
        return made.isEmpty()
                ? shortType(map.type()) + shape(map.attributes()) + " of " + map.size() + fields(map)
                : shortType(map.type()) + made;
    }

    /// What shows an object of Python without entries: its text, or the few scalars that it was made of.
    private static String made(TypedMap map) {
        if (!map.type().startsWith("python:")) {
            return "";
        }
        Map<String, ?> attributes = map.attributes();
        Object arguments = attributes.containsKey("arguments")
                ? attributes.get("arguments")
                : attributes.get("new_arguments");
        if (attributes.get("text") instanceof String text) {
            return " " + Text.shortened(FormatException.printable(text), LONGEST_TEXT);
        }
        if (map.isEmpty() && arguments instanceof List<?> list && list.size() <= MOST_ENTRIES
                && list.stream().allMatch(StateOutline::isScalar)) {
            return list.stream().map(StateOutline::of).collect(Collectors.joining(", ", "(", ")"));
        }
        return "";
    }

    /// Small maps of scalars, such as configurations, are printed whole.
    private static String entries(Map<?, ?> map) {
        boolean told = map.size() <= MOST_ENTRIES && !map.isEmpty()
                && map.values().stream().allMatch(StateOutline::isScalar);
        return told ? map.entrySet().stream().map(StateOutline::entry).collect(Collectors.joining(", ", ": ", "")) : "";
    }

    /// The sizes of an array of NumPy whose value does not show them.
    private static String shape(Map<String, ?> attributes) {
        return attributes.get("shape") instanceof Shape shape
                ? " " + Text.shortened(shape.toString(), LONGEST_TEXT)
                : "";
    }

    /// The unit of dates of NumPy.
    private static String unit(Typed typed) {
        return typed.attributes().get("unit") instanceof String unit
                ? "[" + Text.shortened(FormatException.printable(unit), LONGEST_TEXT) + "]"
                : "";
    }

    /// The names of a few fields, of records of NumPy for instance.
    private static String fields(TypedMap map) {
        boolean told = !map.isEmpty() && map.attributes().containsKey("dtype")
                && map.keySet().stream().allMatch(String.class::isInstance);
        return told
                ? map.keySet().stream().limit(MOST_ENTRIES)
                        .map(name -> Text.shortened(FormatException.printable(String.valueOf(name)), LONGEST_TEXT))
                        .collect(Collectors.joining(", ", ": ", map.size() > MOST_ENTRIES ? ", …" : ""))
                : "";
    }

    /// The first few values of a list.
    private static String values(Collection<?> values) {
        return values.stream().limit(MOST_ENTRIES).map(StateOutline::of)
                .collect(Collectors.joining(", ", "", values.size() > MOST_ENTRIES ? ", …" : ""));
    }

    /// {@return whether the line about a value has the values in it, the first few at least}
    static boolean isTold(@Nullable Object value) {
        // No pattern switch: docs/decisions/0065.
        Object held = StateIndex.held(value);
        if (held instanceof Map<?, ?> map) {
            return map.isEmpty() || (!(map instanceof TypedMap) && !entries(map).isEmpty());
        }
        if (held instanceof Collection<?> elements) {
            return !elements.isEmpty() && elements.stream().limit(MOST_ENTRIES).allMatch(StateOutline::isScalar);
        }
        return true;
    }

    private static String entry(Map.Entry<?, ?> entry) {
        return Text.shortened(FormatException.printable(String.valueOf(entry.getKey())), LONGEST_TEXT) + " "
                + of(entry.getValue());
    }

    private static boolean isScalar(@Nullable Object value) {
        return value instanceof Number || value instanceof Boolean || value instanceof String;
    }

    private static String shortType(String type) {
        return Text.shortened(FormatException.printable(type.substring(type.lastIndexOf('.') + 1)), LONGEST_TEXT);
    }
}
