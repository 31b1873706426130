package io.undercroft.properties.torch7;

import java.util.Arrays;
import java.util.List;

/// The arguments of a call, converted as Lua converts them. They count from 1, as in Lua's messages; those beyond the
/// end are nil.
record LuaArguments(List<Object> values) {
    static LuaArguments of(Object... values) {
        return new LuaArguments(Arrays.asList(values));
    }

    int count() {
        return values.size();
    }

    Object get(int number) {
        return number <= values.size() ? values.get(number - 1) : null;
    }

    LuaArguments from(int number) {
        return new LuaArguments(values.subList(Math.min(number - 1, values.size()), values.size()));
    }

    /// A number, or a text that means one.
    double number(int number) {
        return LuaValues.toNumber(get(number)).orElseThrow(() -> bad(number, "number expected"));
    }

    /// A number as an integer: its fraction is dropped.
    long integer(int number) {
        return (long) number(number);
    }

    /// An object of one class.
    <T> T object(int number, Class<T> type, String name) {
        Object value = get(number);
        if (!type.isInstance(value)) {
            throw bad(number, name + " expected");
        }
        return type.cast(value);
    }

    LuaError bad(int number, String expected) {
        String got = number <= values.size() ? LuaValues.type(get(number)) : "no value";
        return new LuaError("bad argument #" + number + " to '?' (" + expected + ", got " + got + ")");
    }
}
