package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.objenesis.ObjenesisStd;

/// The fields of a class and of those above it, by name, but for static and transient ones.
///
/// A field that another one of its name hides has the name of its class in front, and a dot. Names are in alphabetical
/// order, whatever the order in the class, which Java does not promise.
final class ClassFields {
    private final Class<?> type;
    private final SequencedMap<String, Field> fields = new TreeMap<>();

    /// Finds them.
    ///
    /// @param type a class, not an interface
    /// @throws IllegalArgumentException if its module does not let others see them
    ClassFields(Class<?> type) {
        this.type = type;
        for (Class<?> at = type; at != Object.class && at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
                    add(field);
                }
            }
        }
    }

    private void add(Field field) {
        try {
            field.setAccessible(true);
        } catch (InaccessibleObjectException e) {
            Class<?> owner = field.getDeclaringClass();
            throw new IllegalArgumentException("the fields of " + owner.getName() + " are closed to this library; let "
                    + owner.getModule() + " open the package " + owner.getPackageName() + " to "
                    + moduleName() + ", or register " + type.getName() + " with a StateCodec", e);
        }
        if (fields.putIfAbsent(field.getName(), field) != null) {
            fields.put(field.getDeclaringClass().getName() + "." + field.getName(), field);
        }
    }

    /// {@return an object made by the constructor without parameters, so that a field that is not in the file has the
    /// value that the class gives it; or by none if there is no such constructor}
    ///
    /// @throws FormatException if the constructor fails
    Object newInstance() {
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (NoSuchMethodException _) {
            return new ObjenesisStd().newInstance(type);
        } catch (InvocationTargetException e) {
            throw ObjectFaults.failed("cannot be made: the constructor of " + type.getName() + " threw", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw ObjectFaults.failed("is a " + type.getName() + ", of which none can be made", e);
        }
    }

    private static String moduleName() {
        Module module = ClassFields.class.getModule();
        return module.isNamed() ? module.getName() : "the unnamed module";
    }

    /// {@return what the fields of an object hold, by name}
    ///
    /// @param object of the class
    SequencedMap<String, @Nullable Object> of(Object object) {
        SequencedMap<String, @Nullable Object> values = new TreeMap<>();
        fields.forEach((name, field) -> values.put(name, get(field, object)));
        return values;
    }

    /// {@return the class of a field}
    ///
    /// @param name one of those of [#of]
    Class<?> typeOf(String name) {
        return Objects.requireNonNull(fields.get(name)).getType();
    }

    private static @Nullable Object get(Field field, Object object) {
        try {
            return field.get(object);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(field + " was made accessible", e);
        }
    }

    /// Sets fields. Those that are not mentioned stay as they are.
    ///
    /// @param object of the class
    /// @param values what to set, by name
    /// @param ignoresUnknown whether values of fields that the class does not have are ignored
    /// @throws FormatException if the class has no such field, or it holds another type
    void set(Object object, Map<String, ? extends @Nullable Object> values, boolean ignoresUnknown) {
        values.forEach((name, value) -> {
            Field field = fields.get(name);
            if (field == null && ignoresUnknown) {
                return;
            }
            if (field == null) {
                throw ObjectFaults.changed(
                        "was saved with the field " + FormatException.quote(name) + ", which " + type.getName()
                                + " does not have",
                        "Register an upgrader that renames or removes it: StateClasses.upgrading("
                                + type.getSimpleName() + ".class, …), or StateClasses.ignoringUnknown");
            }
            set(field, object, Fitting.fit(field.getType(), value, () -> "has a field " + name));
        });
    }

    private void set(Field field, Object object, @Nullable Object value) {
        try {
            field.set(object, value);
        } catch (IllegalAccessException e) {
            throw new IllegalArgumentException("cannot set " + field + "; register " + type.getName()
                    + " with a StateCodec", e);
        }
    }
}
