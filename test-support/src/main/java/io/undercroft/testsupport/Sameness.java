package io.undercroft.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.Complex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/// Whether two states are the same: the same tree, the same bytes, and the same sharing, which is to say that what is
/// one object in the one is one object in the other, and what is two is two.
public final class Sameness {
    private final IdentityHashMap<Object, Object> there = new IdentityHashMap<>();
    private final IdentityHashMap<Object, Object> back = new IdentityHashMap<>();
    private final Predicate<Object> mayPart;

    private Sameness(Predicate<Object> mayPart) {
        this.mayPart = mayPart;
    }

    /// Fails with the path to the first difference.
    public static void check(Object expected, Object actual) {
        check(expected, actual, _ -> false);
    }

    /// Fails with the path to the first difference.
    ///
    /// @param mayPart which objects may come back as several
    public static void check(Object expected, Object actual, Predicate<Object> mayPart) {
        new Sameness(mayPart).compare("state", expected, actual);
    }

    private void compare(String path, Object expected, Object actual) {
        switch (expected) {
            case Tensor tensor -> {
                if (isFirstMeeting(path, tensor, actual)) {
                    compareTensors(path, tensor, (Tensor) actual);
                }
            }
            case Storage storage -> compareStorages(path, storage, actual);
            case TypedStorage typed -> {
                assertThat(actual).as(path).isInstanceOf(TypedStorage.class);
                assertThat(((TypedStorage) actual).dtype()).as(path).isEqualTo(typed.dtype());
                compareStorages(path, typed.untyped(), ((TypedStorage) actual).untyped());
            }
            case Collection<?> elements -> {
                if (isFirstMeeting(path, elements, actual)) {
                    compareElements(path, elements, actual);
                }
            }
            case Object object when hasFields(object) -> {
                if (isFirstMeeting(path, object, actual)) {
                    compareFields(path, object, actual);
                }
            }
            case Map<?, ?> map -> {
                if (isFirstMeeting(path, map, actual)) {
                    compareMaps(path, map, actual);
                }
            }
            case byte[] bytes -> assertThat(actual).as(path).isEqualTo(bytes);
            case Optional<?> optional -> {
                assertThat(actual).as(path).isInstanceOf(Optional.class);
                compare(path, optional.orElse(null), ((Optional<?>) actual).orElse(null));
            }
            case Object array when array.getClass().isArray() -> {
                if (isFirstMeeting(path, array, actual)) {
                    compareArrays(path, array, actual);
                }
            }
            case AtomicLong _,BitSet _ -> {
                if (isFirstMeeting(path, expected, actual)) {
                    assertThat(actual).as(path).hasSameClassAs(expected).hasToString(expected.toString());
                }
            }
            case null, default -> assertThat(plain(actual)).as(path).isEqualTo(plain(expected));
        }
    }

    /// Notes that two objects stand for each other, and fails if one of them stands for another already. What may come
    /// back as several is compared with each of them once.
    private boolean isFirstMeeting(String path, Object expected, Object actual) {
        assertThat(actual).as(path).isNotNull();
        Object known = there.putIfAbsent(expected, actual);
        Object knownBack = back.putIfAbsent(actual, expected);
        assertThat(known == null || known == actual || mayPart.test(expected))
                .as("%s: what was one object came back as two", path).isTrue();
        assertThat(knownBack == null || knownBack == expected).as("%s: what were two objects came back as one", path)
                .isTrue();
        return knownBack == null;
    }

    private void compareTensors(String path, Tensor expected, Tensor actual) {
        assertThat(actual.dtype()).as(path).isEqualTo(expected.dtype());
        assertThat(actual.shape()).as(path).isEqualTo(expected.shape());
        assertThat(actual.stride()).as(path).isEqualTo(expected.stride());
        assertThat(actual.storageOffset()).as(path).isEqualTo(expected.storageOffset());
        assertThat(actual.flags()).as(path).isEqualTo(expected.flags());
        compareStorages(path, expected.storage(), actual.storage());
    }

    private void compareStorages(String path, Storage expected, Object actual) {
        assertThat(actual).as(path).isInstanceOf(Storage.class);
        if (isFirstMeeting(path, expected, actual)) {
            Storage storage = (Storage) actual;
            assertThat(storage.nbytes()).as(path).isEqualTo(expected.nbytes());
            assertThat(storage.device()).as(path).isEqualTo(expected.device());
            if (!storage.device().isMeta()) {
                assertThat(storage.contentEquals(expected)).as("%s: bytes of the storage", path).isTrue();
            }
        }
    }

    private void compareMaps(String path, Map<?, ?> expected, Object actual) {
        assertThat(actual).as(path).isInstanceOf(Map.class);
        Map<?, ?> map = (Map<?, ?>) actual;
        assertThat(kind(map)).as(path).isEqualTo(kind(expected));
        assertThat(map.size()).as(path).isEqualTo(expected.size());
        Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
        for (Map.Entry<?, ?> entry : expected.entrySet()) {
            Map.Entry<?, ?> other = entries.next();
            compare(path + " key " + entry.getKey(), entry.getKey(), other.getKey());
            compare(path + "/" + entry.getKey(), entry.getValue(), other.getValue());
        }
    }

    private void compareElements(String path, Collection<?> expected, Object actual) {
        assertThat(kind(actual)).as(path).isEqualTo(kind(expected));
        Collection<?> elements = (Collection<?>) actual;
        assertThat(elements.size()).as(path).isEqualTo(expected.size());
        Iterator<?> others = elements.iterator();
        int index = 0;
        for (Object element : expected) {
            compare(path + "/" + index++, element, others.next());
        }
    }

    private void compareArrays(String path, Object expected, Object actual) {
        assertThat(actual).as(path).hasSameClassAs(expected);
        assertThat(Array.getLength(actual)).as(path).isEqualTo(Array.getLength(expected));
        for (int i = 0; i < Array.getLength(expected); i++) {
            compare(path + "/" + i, Array.get(expected, i), Array.get(actual, i));
        }
    }

    /// Whether it is of a class of this project that is more than a value: a tuple, what has a type of another system,
    /// or an object of a test. The name of a constant is a value. Maps of files and lists that decode their elements
    /// when they are read are ordinary ones.
    private static boolean hasFields(Object object) {
        String type = object.getClass().getName();
        String parent = object.getClass().getSuperclass().getName();
        return type.startsWith("io.undercroft.") && !type.startsWith("io.undercroft.storage.")
                && !(object instanceof Enum) && !type.equals("io.undercroft.serializer.state.StateMap")
                && !type.equals("io.undercroft.serializer.state.Symbol")
                && !parent.equals("io.undercroft.serializer.internal.tree.ScalarList");
    }

    private void compareFields(String path, Object expected, Object actual) {
        assertThat(actual).as(path).hasSameClassAs(expected);
        for (Class<?> type = expected.getClass(); type != Object.class && type != Record.class; type = type
                .getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
                    compare(path + "/" + field.getName(), get(field, expected), get(field, actual));
                }
            }
        }
    }

    private static Object get(Field field, Object object) {
        try {
            field.setAccessible(true);
            return field.get(object);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    /// What a container has to come back as. Of hashed, linked and immutable collections that is a map, list or set of
    /// the same order.
    private static String kind(Object value) {
        return switch (value) {
            case EnumMap<?, ?> _,TreeMap<?, ?> _ -> value.getClass().getName();
            case Object object when hasFields(object) -> object.getClass().getName();
            case Map<?, ?> _ -> "map";
            case ArrayDeque<?> _,CopyOnWriteArrayList<?> _,TreeSet<?> _ -> value.getClass().getName();
            case EnumSet<?> _ -> "set of constants";
            case List<?> _ -> "list";
            case Set<?> _ -> "set";
            case null, default -> "no collection";
        };
    }

    /// What tells a plain value from others: floating-point numbers keep their bits.
    private static Object plain(Object value) {
        return switch (value) {
            case Double real -> "bits " + Long.toHexString(Double.doubleToRawLongBits(real));
            case Float real -> "bits of a float " + Integer.toHexString(Float.floatToRawIntBits(real));
            case Complex complex -> List.of(plain(complex.real()), plain(complex.imaginary()));
            case null, default -> value;
        };
    }
}
