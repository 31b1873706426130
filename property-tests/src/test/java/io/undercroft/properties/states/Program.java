package io.undercroft.properties.states;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The Java statements that make objects, written down while the objects are made.
public final class Program {
    private final StringBuilder lines = new StringBuilder();
    private final IdentityHashMap<Object, String> names = new IdentityHashMap<>();
    private final Map<String, Integer> counts = new HashMap<>();

    /// Declares a variable.
    ///
    /// @param prefix what its name starts with, before a number
    /// @param value what it holds
    /// @param expression the Java expression of it
    /// @return the value
    public <T> T declare(String prefix, T value, String expression) {
        return name(declare(prefix, expression), value);
    }

    /// Says which variable holds an object.
    ///
    /// @param name the variable
    /// @param value the object
    /// @return the object
    public <T> T name(String name, T value) {
        names.put(value, name);
        return value;
    }

    /// Declares a variable before it is known what it holds.
    ///
    /// @param prefix what its name starts with, before a number
    /// @param expression the Java expression of what it holds
    /// @return its name
    public String declare(String prefix, String expression) {
        String name = prefix + (counts.merge(prefix, 1, Integer::sum) - 1);
        line("var " + name + " = " + expression);
        return name;
    }

    /// Adds a statement.
    ///
    /// @param statement the statement without its semicolon
    public void line(String statement) {
        lines.append(statement).append(";\n");
    }

    /// Adds lines that are no statement.
    ///
    /// @param text a comment, or the declaration of a method
    public void note(String text) {
        lines.append(text).append('\n');
    }

    /// {@return the variable that holds an object, or the expression of a value that none holds}
    public String use(@Nullable Object value) {
        String name = names.get(value);
        return name == null ? JavaSource.of(value) : name;
    }

    /// {@return values as arguments of a call}
    String useAll(List<? extends @Nullable Object> values) {
        return values.size() == 1 && values.contains(null)
                ? "(Object) null"
                : values.stream().map(this::use).collect(Collectors.joining(", "));
    }

    /// {@return how many characters it has}
    public int length() {
        return lines.length();
    }

    /// {@return the statements, one a line}
    @Override
    public String toString() {
        return lines.toString();
    }
}
