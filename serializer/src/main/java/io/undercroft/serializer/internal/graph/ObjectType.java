package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The components of a record class, or the fields of another class and of those above it, but for static and transient
/// ones.
///
/// Components are read from their fields, since an accessor that copies would lose which lists are shared. Fields of
/// other classes are in alphabetical order, since Java does not specify their order in the class. A field that is
/// hidden by one of the same name has the name of its class and a dot as prefix.
final class ObjectType {
    private final Class<?> type;
    private final SequencedMap<String, Field> fields;
    /// In the order of the canonical constructor; none of another class.
    private final List<RecordComponent> components;
    /// The canonical one of a record, of another class the one without parameters, or one that calls only that of
    /// [Object].
    private final Constructor<?> constructor;

    /// Looks a class up.
    ///
    /// @param type a class, not an interface
    /// @throws IllegalArgumentException if its module does not let others see its fields
    ObjectType(Class<?> type) {
        this.type = type;
        this.fields = type.isRecord() ? new LinkedHashMap<>() : new TreeMap<>();
        this.components = type.isRecord() ? List.of(type.getRecordComponents()) : List.of();
        List<Class<?>> parameters = components.stream().<Class<?>>map(RecordComponent::getType).toList();
        this.constructor = Arrays.stream(type.getDeclaredConstructors())
                .filter(known -> List.of(known.getParameterTypes()).equals(parameters)).findFirst()
                .orElseGet(() -> constructorOfObject(type));
        for (Class<?> at = type; at != Object.class && at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
                    add(field);
                }
            }
        }
    }

    /// Returns a constructor that runs no code of the class, as deserialization by the JDK does. It is made by
    /// reflection, since javac warns of the class that makes it, whatever its options.
    private static Constructor<?> constructorOfObject(Class<?> type) {
        return reflect(() -> {
            Class<?> factory = Class.forName("sun.reflect.ReflectionFactory");
            return (Constructor<?>) factory
                    .getMethod("newConstructorForSerialization", Class.class, Constructor.class)
                    .invoke(factory.getMethod("getReflectionFactory").invoke(null), type,
                            Object.class.getConstructor());
        });
    }

    private void add(Field field) {
        try {
            field.setAccessible(true);
        } catch (InaccessibleObjectException e) {
            Class<?> owner = field.getDeclaringClass();
            Module reader = ObjectType.class.getModule();
            throw new IllegalArgumentException("the fields of " + owner.getName() + " are closed to this library; let "
                    + owner.getModule() + " open the package " + owner.getPackageName() + " to "
                    + (reader.isNamed() ? reader.getName() : "the unnamed module") + ", or register " + type.getName()
                    + " with a StateCodec", e);
        }
        if (fields.putIfAbsent(field.getName(), field) != null) {
            fields.put(field.getDeclaringClass().getName() + "." + field.getName(), field);
        }
    }

    /// {@return the values of the components or fields of an object, by name}
    ///
    /// @param object of the class
    SequencedMap<String, @Nullable Object> valuesOf(Object object) {
        SequencedMap<String, @Nullable Object> values = new LinkedHashMap<>();
        fields.forEach((name, field) -> values.put(name, reflect(() -> field.get(object))));
        return values;
    }

    /// {@return the class of a component or field}
    ///
    /// @param name one of those of [#valuesOf]
    Class<?> typeOf(String name) {
        return Objects.requireNonNull(fields.get(name)).getType();
    }

    /// {@return an object made by the constructor without parameters, so that a field that is not in the file has the
    /// value that the class gives it; or by none if there is no such constructor}
    ///
    /// @throws FormatException if the constructor fails
    Object newInstance() {
        return call(constructor);
    }

    /// Sets the fields of an object. Other fields are not changed.
    ///
    /// @param object of the class
    /// @param values the values to set, by name
    /// @param classes the declared removed fields
    /// @throws FormatException if the class has no such field, or it holds another type
    void set(Object object, SequencedMap<String, @Nullable Object> values, StateClasses classes) {
        checkKnown(values, classes);
        values.forEach((name, value) -> {
            Field field = Objects.requireNonNull(fields.get(name));
            Object fitting = FieldConversion.fit(field.getType(), value, () -> "has a field " + name);
            reflect(() -> {
                field.set(object, fitting);
                return object;
            });
        });
    }

    /// {@return the record of given components}
    ///
    /// @param values the components by name, as saved
    /// @param classes the declared new and removed components
    /// @throws FormatException if they are not those of the class, or its constructor refuses them
    Object newRecord(SequencedMap<String, @Nullable Object> values, StateClasses classes) {
        addDefaults(values, classes.defaults(type));
        String missing = quoted(fields.keySet(), name -> !values.containsKey(name));
        if (!missing.isEmpty()) {
            String other = quoted(values.keySet(), name -> !fields.containsKey(name));
            throw ObjectFaults.changed("was saved without " + missing + " of the record " + type.getName()
                    + (other.isEmpty() ? "" : ", and with " + other + ", which it does not have"),
                    "Register an upgrader that adds it: StateClasses.upgrading(" + type.getSimpleName()
                            + ".class, …), or declare a default: StateClasses.defaulting(" + type.getSimpleName()
                            + ".class, …)");
        }
        checkKnown(values, classes);
        @Nullable
        Object[] arguments = new Object[components.size()];
        for (int i = 0; i < arguments.length; i++) {
            String name = components.get(i).getName();
            arguments[i] = FieldConversion.fit(components.get(i).getType(), values.get(name),
                    () -> "has a component " + name);
        }
        return call(constructor, arguments);
    }

    private void addDefaults(Map<String, @Nullable Object> values, Map<String, @Nullable Object> defaults) {
        for (RecordComponent component : components) {
            String name = component.getName();
            if (!values.containsKey(name)) {
                if (defaults.containsKey(name)) {
                    values.put(name, defaults.get(name));
                } else if (component.getType() == Optional.class) {
                    values.put(name, Optional.empty());
                } else if (isNullable(component)) {
                    values.put(name, null);
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

    private void checkKnown(SequencedMap<String, @Nullable Object> values, StateClasses classes) {
        if (classes.ignoresUnknown(type)) {
            values.keySet().retainAll(fields.keySet());
        }
        String gone = quoted(values.keySet(), name -> !fields.containsKey(name));
        if (!gone.isEmpty()) {
            throw ObjectFaults.changed("was saved with " + gone + ", which "
                    + (type.isRecord() ? "the record " : "the class ") + type.getName() + " does not have",
                    "Register an upgrader that renames or removes it: StateClasses.upgrading(" + type.getSimpleName()
                            + ".class, …), or StateClasses.ignoringUnknown");
        }
    }

    private static String quoted(Collection<String> names, Predicate<String> which) {
        return names.stream().filter(which).limit(8).map(FormatException::quote).collect(Collectors.joining(", "));
    }

    private Object call(Constructor<?> constructor, @Nullable Object... arguments) {
        try {
            constructor.setAccessible(true);
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException e) {
            throw ObjectFaults.failed("cannot be made: the constructor of " + type.getName() + " threw", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw ObjectFaults.failed("is of type " + type.getName() + ", of which no object can be made", e);
        }
    }

    @FunctionalInterface
    private interface Reflection<T extends @Nullable Object> {
        T run() throws ReflectiveOperationException;
    }

    private static <T extends @Nullable Object> T reflect(Reflection<T> reflection) {
        try {
            return reflection.run();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e + "; register the class with a StateCodec", e);
        }
    }
}
