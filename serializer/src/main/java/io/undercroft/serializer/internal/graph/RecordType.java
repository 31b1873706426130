package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A record class, taken apart and put together.
///
/// Components are read from the fields behind them: an accessor that copies would lose which list was shared with whom.
final class RecordType {
    private final Class<?> type;
    private final List<Field> fields;
    private final Constructor<?> constructor;

    /// Looks a record class up.
    ///
    /// @param type the class
    /// @throws IllegalArgumentException if its module does not let others look into it
    RecordType(Class<?> type) {
        this.type = type;
        RecordComponent[] components = type.getRecordComponents();
        try {
            this.constructor = type.getDeclaredConstructor(
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            constructor.setAccessible(true);
            Field[] found = new Field[components.length];
            for (int i = 0; i < found.length; i++) {
                found[i] = type.getDeclaredField(components[i].getName());
                found[i].setAccessible(true);
            }
            this.fields = List.of(found);
        } catch (InaccessibleObjectException e) {
            throw new IllegalArgumentException(type.getModule() + " has to open " + type.getPackageName()
                    + " to this library, so that " + type.getName() + " can be taken apart", e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(type + " is a record", e);
        }
    }

    /// {@return the components of a record by name}
    ///
    /// @param record of this class
    SequencedMap<String, @Nullable Object> components(Object record) {
        SequencedMap<String, @Nullable Object> components = new LinkedHashMap<>();
        try {
            for (Field field : fields) {
                components.put(field.getName(), field.get(record));
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(type + " was made accessible", e);
        }
        return components;
    }

    /// {@return the class of a component}
    ///
    /// @param name one of those of [#components]
    Class<?> typeOf(String name) {
        return fields.stream().filter(field -> field.getName().equals(name)).findFirst().orElseThrow().getType();
    }

    /// {@return the record of given components}
    ///
    /// @param components by name, as saved
    /// @param classes what is declared of components that are new or gone
    /// @throws FormatException if they are not those of the class, or its constructor refuses them
    Object make(Map<String, ? extends @Nullable Object> components, StateClasses classes) {
        SequencedMap<String, @Nullable Object> complete = new LinkedHashMap<>(components);
        addDefaults(complete, classes.defaults(type));
        if (classes.ignoresUnknown(type)) {
            complete.keySet().removeIf(name -> fields.stream().noneMatch(field -> field.getName().equals(name)));
        }
        return make(complete);
    }

    private void addDefaults(Map<String, @Nullable Object> components, Map<String, @Nullable Object> defaults) {
        for (RecordComponent component : type.getRecordComponents()) {
            String name = component.getName();
            if (!components.containsKey(name)) {
                if (defaults.containsKey(name)) {
                    components.put(name, defaults.get(name));
                } else if (component.getType() == Optional.class) {
                    components.put(name, Optional.empty());
                } else if (isNullable(component)) {
                    components.put(name, null);
                }
            }
        }
    }

    /// Whatever library the annotation is from.
    private static boolean isNullable(RecordComponent component) {
        return Stream.of(component.getAnnotations(), component.getAnnotatedType().getAnnotations())
                .flatMap(Arrays::stream)
                .anyMatch(annotation -> annotation.annotationType().getSimpleName().equals("Nullable"));
    }

    private Object make(Map<String, @Nullable Object> components) {
        checkNames(components);
        @Nullable
        Object[] arguments = new Object[fields.size()];
        for (int i = 0; i < arguments.length; i++) {
            Field field = fields.get(i);
            arguments[i] = Fitting.fit(field.getType(), components.get(field.getName()),
                    () -> "has a component " + field.getName());
        }
        try {
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException e) {
            throw ObjectFaults.failed("cannot be made: the constructor of " + type.getName() + " threw", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(type + " was made accessible", e);
        }
    }

    private void checkNames(Map<String, ? extends @Nullable Object> components) {
        List<String> names = fields.stream().map(Field::getName).toList();
        String missing = quoted(names.stream().filter(name -> !components.containsKey(name)).toList());
        if (!missing.isEmpty()) {
            throw ObjectFaults.changed("was saved without " + missing + " of the record " + type.getName(),
                    "Register an upgrader that adds it: StateClasses.upgrading(" + type.getSimpleName()
                            + ".class, …), or declare a default: StateClasses.defaulting(" + type.getSimpleName()
                            + ".class, …)");
        }
        String gone = quoted(components.keySet().stream().filter(name -> !names.contains(name)).toList());
        if (!gone.isEmpty()) {
            throw ObjectFaults
                    .changed("was saved with " + gone + ", which the record " + type.getName() + " does not have",
                            "Register an upgrader that renames or removes it: StateClasses.upgrading("
                                    + type.getSimpleName()
                                    + ".class, …), or StateClasses.ignoringUnknown");
        }
    }

    private static String quoted(List<String> names) {
        return names.stream().limit(8).map(FormatException::quote).collect(Collectors.joining(", "));
    }
}
