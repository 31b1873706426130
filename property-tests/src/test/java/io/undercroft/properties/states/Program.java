package io.undercroft.properties.states;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
    public String useAll(List<? extends @Nullable Object> values) {
        return values.size() == 1 && values.getFirst() == null
                ? "(Object) null"
                : values.stream().map(this::use).collect(Collectors.joining(", "));
    }

    // ---- what states are made of ----

    /// {@return an empty map}
    public Map<Object, @Nullable Object> map() {
        return declare("m", new LinkedHashMap<>(), "new LinkedHashMap<Object, Object>()");
    }

    /// {@return an empty map of a type}
    public TypedMap typedMap(String type) {
        TypedMap map = declare("m", new TypedMap(type), "new TypedMap(" + JavaSource.of(type) + ")");
        name(use(map) + ".attributes()", map.attributes());
        return map;
    }

    /// {@return a value of a type}
    public Typed typed(String type, @Nullable Object value) {
        Typed typed = declare("o", new Typed(type, value),
                "new Typed(" + JavaSource.of(type) + ", " + use(value) + ")");
        name(use(typed) + ".attributes()", typed.attributes());
        return typed;
    }

    /// {@return an empty list}
    public List<@Nullable Object> list() {
        return declare("l", new ArrayList<>(), "new ArrayList<Object>()");
    }

    /// {@return an empty set}
    public Set<@Nullable Object> set() {
        return declare("k", new LinkedHashSet<>(), "new LinkedHashSet<Object>()");
    }

    /// {@return a tuple}
    public Tuple tuple(List<? extends @Nullable Object> elements) {
        return declare("p", new Tuple(elements), "Tuple.of(" + useAll(elements) + ")");
    }

    /// Puts something into a map.
    @SuppressWarnings("unchecked")
    public void put(Map<?, ?> map, @Nullable Object key, @Nullable Object value) {
        ((Map<Object, Object>) map).put(key, value);
        line(use(map) + ".put(" + use(key) + ", " + use(value) + ")");
    }

    /// Adds something to a list or a set.
    @SuppressWarnings("unchecked")
    public void add(Collection<?> collection, @Nullable Object value) {
        ((Collection<Object>) collection).add(value);
        line(use(collection) + ".add(" + use(value) + ")");
    }

    /// {@return a view of a tensor} It is a variable unless it is the tensor itself.
    ///
    /// @param of the tensor
    /// @param view the view
    /// @param call the call that made it
    public Tensor view(Tensor of, Tensor view, String call) {
        return view == of ? of : declare("t", view, use(of) + "." + call);
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
