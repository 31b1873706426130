package io.undercroft.properties.torch7;

import java.util.List;

/// The arguments of an operation. They count from 1, as in Torch7's messages; those beyond the end are null.
///
/// What does not compile in Java, an argument of the wrong type, is a [ClassCastException] here.
record Arguments(List<Object> values) {
    Object get(int number) {
        return number <= values.size() ? values.get(number - 1) : null;
    }

    boolean has(int number) {
        return get(number) != null;
    }

    /// An object of one class.
    <T> T get(int number, Class<T> type) {
        return cast(get(number), type);
    }

    /// A number as an integer: its fraction is dropped.
    long integer(int number) {
        return get(number, Number.class).longValue();
    }

    /// {@return whether an argument is given and is true}
    boolean isTrue(int number) {
        return has(number) && get(number, Boolean.class);
    }

    static double[] numbers(List<?> elements) {
        return elements.stream().mapToDouble(element -> cast(element, Number.class).doubleValue()).toArray();
    }

    private static <T> T cast(Object value, Class<T> type) {
        if (!type.isInstance(value)) {
            throw new ClassCastException(type.getSimpleName() + " expected, got " + value);
        }
        return type.cast(value);
    }
}
