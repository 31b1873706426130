package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The bytes of Java objects, made and read by Kryo.
///
/// The bytes of an object are what is in it without identity: numbers, texts, constants of enums and immutable
/// values of the JDK. All else are its children, which the caller keeps. Equal values give equal bytes.
///
/// The bytes that are read are not trusted: they name registered classes only, take no more memory than some times
/// their own length, and whatever goes wrong in them is a [FormatException] of the code `CROFT-OBJECT`. What a
/// serializer of the user does with them is its own.
///
/// Not thread-safe: make one for each save and each open.
final class ObjectBytes {
    /// The bytes of an object all of whose fields are children, as those of a record are.
    static final byte[] NO_FIELDS = {0};

    private static final int FIRST_SIZE = 64;

    /// What an object holds.
    ///
    /// @param bytes of what has no identity
    /// @param children all else, as the object holds it: by the names of fields, or numbered from "0" by a serializer
    // Handed from one place to the next, never compared.
    @SuppressWarnings("ArrayRecordComponent")
    record Fields(byte[] bytes, SequencedMap<String, @Nullable Object> children) {}

    private final StateClasses classes;
    /// Made when it is first needed: most states need none, and its classes take longer to load than a small state to
    /// save.
    private @Nullable NodeKryo kryo;
    private final Map<Class<?>, ClassFields> fields = new HashMap<>();

    /// Bytes of objects of registered classes, and of values of the JDK.
    ///
    /// @param classes the registered classes
    ObjectBytes(StateClasses classes) {
        this.classes = classes;
    }

    /// {@return whether objects of a class are values of the JDK, all of which is in their bytes}
    ///
    /// @param type the class of an object
    static boolean isValue(Class<?> type) {
        return JdkValues.typeOf(type).isPresent();
    }

    /// {@return the name in files of a class of values: of `Path` for the class of this system's paths}
    ///
    /// @param type the class of an object for which [#isValue] holds
    static String valueName(Class<?> type) {
        return JdkValues.typeOf(type).orElseThrow().getName();
    }

    /// {@return the class of values of a name in a file, or nothing if there is none}
    ///
    /// @param name what [#valueName] said
    static Optional<Class<?>> valueClass(String name) {
        return JdkValues.named(name);
    }

    /// {@return all classes of values}
    static Stream<Class<?>> valueClasses() {
        return JdkValues.types();
    }

    /// {@return the bytes of a value}
    ///
    /// @param value an object for whose class [#isValue] holds
    /// @throws IllegalArgumentException if it cannot be had again, for instance a path of another file system
    byte[] ofValue(Object value) {
        Class<?> type = JdkValues.typeOf(value.getClass()).orElseThrow();
        return write(type, out -> JdkValues.serializer(type).write(kryo(), out, value));
    }

    /// {@return the value of given bytes}
    ///
    /// @param type a class that [#valueClass] found
    /// @param bytes what [#ofValue] made
    /// @throws FormatException if they are something else
    Object value(Class<?> type, byte[] bytes) {
        return instance(type, read(type, bytes, in -> JdkValues.serializer(type).read(kryo(), in, type)));
    }

    /// {@return what an object holds}
    ///
    /// @param object of a registered class, neither a record nor an enum
    /// @throws IllegalArgumentException if its fields cannot be seen, or its serializer fails
    Fields of(Object object) {
        return isEarly(object.getClass()) ? byFields(object) : bySerializer(object);
    }

    /// {@return the class of what a child may be} A serializer may have children of any.
    ///
    /// @param type a registered class, neither a record nor an enum
    /// @param child the name of a child of one of its objects
    Class<?> typeOf(Class<?> type, String child) {
        return isEarly(type) ? fieldsOf(type).typeOf(child) : Object.class;
    }

    /// {@return whether objects of a class are written field by field, so that one may exist before it is read}
    ///
    /// @param type a registered class
    boolean isEarly(Class<?> type) {
        return classes.serializer(type).isEmpty();
    }

    /// {@return an object without contents, to be filled}
    ///
    /// @param type a registered class for which [#isEarly] holds
    /// @throws FormatException if its constructor fails, or it is abstract
    Object allocate(Class<?> type) {
        fieldsOf(type);
        return guarded("is a " + type.getName() + ", of which none can be made", () -> kryo().newInstance(type));
    }

    /// Sets the fields of an object. Those that were not saved stay as they are.
    ///
    /// @param instance what [#allocate] made
    /// @param bytes the bytes of what was saved
    /// @param children its children
    /// @throws FormatException if they do not fit the class
    void fill(Object instance, byte[] bytes, Map<String, ? extends @Nullable Object> children) {
        Class<?> type = instance.getClass();
        SequencedMap<String, @Nullable Object> values = fields(type, bytes, children);
        classes.upgrader(type)
                .ifPresent(upgrader -> guarded("is a " + type.getName() + ", whose upgrader failed", () -> {
                    upgrader.upgrade(values);
                    return values;
                }));
        fieldsOf(type).set(instance, values, classes.ignoresUnknown(type));
    }

    /// {@return what was saved of the fields of an object, by name}
    ///
    /// @param type a registered class
    /// @param bytes the bytes of what was saved
    /// @param children its children
    /// @throws FormatException if the bytes are not those of fields, or a field comes twice
    SequencedMap<String, @Nullable Object> fields(Class<?> type, byte[] bytes,
            Map<String, ? extends @Nullable Object> children) {
        SequencedMap<String, @Nullable Object> values = read(type, bytes, this::readValues);
        children.forEach((name, child) -> put(values, name, child));
        return values;
    }

    /// {@return an object that its serializer makes}
    ///
    /// @param type a registered class for which [#isEarly] does not hold
    /// @param bytes the bytes of what was saved
    /// @param children its children
    /// @throws FormatException if they are not what the serializer expects
    Object read(Class<?> type, byte[] bytes, Map<String, ? extends @Nullable Object> children) {
        Serializer<Object> serializer = custom(type);
        kryo().readChildren(children);
        Object object = instance(type, read(type, bytes, in -> serializer.read(kryo(), in, type)));
        if (kryo().childrenRead() < children.size()) {
            throw ObjectFaults
                    .changed("has the child " + kryo().childrenRead() + ", which the serializer of " + type.getName()
                            + " does not read", "Open the file with the serializer that saved it");
        }
        return object;
    }

    private Fields byFields(Object object) {
        SequencedMap<String, @Nullable Object> values = new LinkedHashMap<>();
        SequencedMap<String, @Nullable Object> children = new LinkedHashMap<>();
        fieldsOf(object.getClass()).of(object).forEach((name, value) -> {
            boolean inPlace = value == null || kryo().isInPlace(value);
            (inPlace ? values : children).put(name, value);
        });
        byte[] bytes = write(object.getClass(), out -> {
            out.writeVarInt(values.size(), true);
            values.forEach((name, value) -> {
                out.writeString(name);
                kryo().writeClassAndObject(out, value);
            });
        });
        return new Fields(bytes, Collections.unmodifiableSequencedMap(children));
    }

    private Fields bySerializer(Object object) {
        SequencedMap<String, @Nullable Object> children = new LinkedHashMap<>();
        kryo().writeChildren(children);
        byte[] bytes = write(object.getClass(), out -> custom(object.getClass()).write(kryo(), out, object));
        return new Fields(bytes, Collections.unmodifiableSequencedMap(children));
    }

    private SequencedMap<String, @Nullable Object> readValues(BoundedInput in) {
        kryo().readChildren(Map.of());
        SequencedMap<String, @Nullable Object> values = new LinkedHashMap<>();
        for (int left = in.readVarInt(true); left != 0; left--) {
            put(values, String.valueOf(in.readString()), kryo().readClassAndObject(in));
        }
        return values;
    }

    private static void put(Map<String, @Nullable Object> values, String name, @Nullable Object value) {
        if (values.containsKey(name)) {
            throw ObjectFaults.damaged("has the field " + FormatException.quote(name) + " twice");
        }
        values.put(name, value);
    }

    private byte[] write(Class<?> type, Consumer<Output> body) {
        try (Output out = new Output(FIRST_SIZE, -1)) {
            body.accept(out);
            return out.toBytes();
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (RuntimeException | StackOverflowError e) {
            throw new IllegalArgumentException(
                    "a " + type.getName() + " cannot be written: " + FormatException.quote(String.valueOf(e)), e);
        } finally {
            kryo().reset();
        }
    }

    private <T extends @Nullable Object> T read(Class<?> type, byte[] bytes, Function<BoundedInput, T> body) {
        try (BoundedInput in = new BoundedInput(bytes)) {
            T read = guarded("cannot be read as a " + type.getName(), () -> body.apply(in));
            if (in.left() > 0) {
                throw ObjectFaults.damaged("has bytes after the end of a " + type.getName());
            }
            return read;
        } finally {
            kryo().reset();
        }
    }

    private static Object instance(Class<?> type, @Nullable Object object) {
        if (!type.isInstance(object)) {
            throw ObjectFaults.damaged("has bytes that are of no " + type.getName());
        }
        return Objects.requireNonNull(object);
    }

    /// Calls what may fail in any way.
    private static <T extends @Nullable Object> T guarded(String failure, Supplier<T> body) {
        try {
            return body.get();
        } catch (FormatException e) {
            throw e;
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
            boolean isWrapped = e instanceof KryoException && e.getCause() != null;
            throw ObjectFaults.failed(failure, isWrapped ? e.getCause() : e);
        }
    }

    @SuppressWarnings("unchecked")
    private Serializer<Object> custom(Class<?> type) {
        return (Serializer<Object>) classes.serializer(type).orElseThrow();
    }

    private NodeKryo kryo() {
        if (kryo == null) {
            kryo = new NodeKryo(classes);
        }
        return kryo;
    }

    private ClassFields fieldsOf(Class<?> type) {
        return fields.computeIfAbsent(type, ClassFields::new);
    }
}
