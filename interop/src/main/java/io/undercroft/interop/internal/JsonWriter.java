package io.undercroft.interop.internal;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/// Writes JSON: objects, strings and whole numbers. For use by one thread.
public final class JsonWriter {
    /// The characters with short escapes, and these escapes.
    private static final String ESCAPED = "\b\f\n\r\t";
    private static final String ESCAPES = "bfnrt";

    private final StringBuilder text = new StringBuilder();
    private final boolean isForPeople;
    private int depth;

    /// @param isForPeople whether each member is on a separate line, and all text is ASCII, which Python reads in any
    ///     encoding
    public JsonWriter(boolean isForPeople) {
        this.isForPeople = isForPeople;
    }

    /// Begins an object.
    ///
    /// @return this
    public JsonWriter open() {
        text.append('{');
        depth++;
        return this;
    }

    /// Ends an object that has members, or is for programs.
    ///
    /// @return this
    public JsonWriter close() {
        depth--;
        newLine();
        text.append('}');
        return this;
    }

    /// Begins a member.
    ///
    /// @param name its name
    /// @return this
    public JsonWriter member(String name) {
        if (text.charAt(text.length() - 1) != '{') {
            text.append(',');
        }
        newLine();
        string(name);
        text.append(isForPeople ? ": " : ":");
        return this;
    }

    /// Writes a string.
    ///
    /// @param string the string
    /// @return this
    /// @throws IllegalArgumentException if it has half a surrogate pair
    public JsonWriter string(String string) {
        if (Utf8.encode(string).isEmpty()) {
            throw new IllegalArgumentException("half a surrogate pair in a name or in the metadata is no text");
        }
        text.append('"');
        string.chars().forEach(this::character);
        text.append('"');
        return this;
    }

    private void character(int unit) {
        int escape = isForPeople ? -1 : ESCAPED.indexOf(unit);
        if (unit == '"' || unit == '\\') {
            text.append('\\').append((char) unit);
        } else if (escape >= 0) {
            text.append('\\').append(ESCAPES.charAt(escape));
        } else if (unit < ' ' || (isForPeople && unit > '~')) {
            text.append(String.format(Locale.ROOT, "\\u%04x", unit));
        } else {
            text.append((char) unit);
        }
    }

    /// Writes a number.
    ///
    /// @param number the number
    /// @return this
    public JsonWriter number(long number) {
        text.append(number);
        return this;
    }

    /// Writes an array of numbers.
    ///
    /// @param numbers the numbers
    /// @return this
    public JsonWriter numbers(long... numbers) {
        text.append(Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(",", "[", "]")));
        return this;
    }

    private void newLine() {
        if (isForPeople) {
            text.append('\n').repeat("  ", depth);
        }
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
