package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
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

/// Whether two states are the same: the same tree, the same bytes, and the same sharing, which is to say that what is
/// one object in the one is one object in the other, and what is two is two.
final class Sameness {
    private final IdentityHashMap<Object, Object> there = new IdentityHashMap<>();
    private final IdentityHashMap<Object, Object> back = new IdentityHashMap<>();
    private final boolean emptyStoragesMayPart;

    private Sameness(boolean emptyStoragesMayPart) {
        this.emptyStoragesMayPart = emptyStoragesMayPart;
    }

    /// Fails with the path to the first difference.
    static void check(Object expected, Object actual) {
        new Sameness(false).compare("state", expected, actual);
    }

    /// Fails with the path to the first difference, where a storage without bytes may come back as several: PyTorch
    /// gives a storage one class, so one that is used with several is written as several.
    static void checkButEmptyStorages(Object expected, Object actual) {
        new Sameness(true).compare("state", expected, actual);
    }

    private void compare(String path, Object expected, Object actual) {
        switch (expected) {
            case Tensor tensor -> {
                if (firstMeeting(path, tensor, actual)) {
                    compareTensors(path, tensor, (Tensor) actual);
                }
            }
            case Storage storage -> compareStorages(path, storage, actual);
            case TypedStorage typed -> {
                assertThat(actual).as(path).isInstanceOf(TypedStorage.class);
                assertThat(((TypedStorage) actual).dtype()).as(path).isEqualTo(typed.dtype());
                compareStorages(path, typed.untyped(), ((TypedStorage) actual).untyped());
            }
            case Map<?, ?> map -> {
                if (firstMeeting(path, map, actual)) {
                    compareMaps(path, map, actual);
                }
            }
            case Collection<?> elements -> {
                if (firstMeeting(path, elements, actual)) {
                    compareElements(path, elements, actual);
                }
            }
            case Typed typed -> {
                if (firstMeeting(path, typed, actual)) {
                    compareTyped(path, typed, actual);
                }
            }
            case byte[] bytes -> assertThat(actual).as(path).isEqualTo(bytes);
            case Optional<?> optional -> {
                assertThat(actual).as(path).isInstanceOf(Optional.class);
                compare(path, optional.orElse(null), ((Optional<?>) actual).orElse(null));
            }
            case Object object when hasFields(object) -> {
                if (firstMeeting(path, object, actual)) {
                    compareFields(path, object, actual);
                }
            }
            case Object array when array.getClass().isArray() -> {
                if (firstMeeting(path, array, actual)) {
                    compareArrays(path, array, actual);
                }
            }
            case AtomicLong _,BitSet _ -> {
                if (firstMeeting(path, expected, actual)) {
                    assertThat(actual).as(path).hasSameClassAs(expected).hasToString(expected.toString());
                }
            }
            case null, default -> assertThat(plain(actual)).as(path).isEqualTo(plain(expected));
        }
    }

    /// Notes that two objects stand for each other, and fails if one of them stands for another already.
    private boolean firstMeeting(String path, Object expected, Object actual) {
        assertThat(actual).as(path).isNotNull();
        Object known = there.putIfAbsent(expected, actual);
        Object knownBack = back.putIfAbsent(actual, expected);
        boolean mayPart = emptyStoragesMayPart && expected instanceof Storage storage && storage.nbytes() == 0;
        assertThat(known == null || known == actual || mayPart).as("%s: what was one object came back as two", path)
                .isTrue();
        assertThat(knownBack == null || knownBack == expected).as("%s: what were two objects came back as one", path)
                .isTrue();
        return known == null;
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
        if (firstMeeting(path, expected, actual)) {
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
        if (expected instanceof TypedMap typed) {
            assertThat(((TypedMap) map).type()).as(path).isEqualTo(typed.type());
            compareMaps(path + " attributes", typed.attributes(), ((TypedMap) map).attributes());
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

    private void compareTyped(String path, Typed expected, Object actual) {
        assertThat(actual).as(path).isInstanceOf(Typed.class);
        Typed typed = (Typed) actual;
        assertThat(typed.type()).as(path).isEqualTo(expected.type());
        compare(path, expected.value(), typed.value());
        compareMaps(path + " attributes", expected.attributes(), typed.attributes());
    }

    private void compareArrays(String path, Object expected, Object actual) {
        assertThat(actual).as(path).hasSameClassAs(expected);
        assertThat(Array.getLength(actual)).as(path).isEqualTo(Array.getLength(expected));
        for (int i = 0; i < Array.getLength(expected); i++) {
            compare(path + "/" + i, Array.get(expected, i), Array.get(actual, i));
        }
    }

    /// Whether it is of a class of these tests.
    private static boolean hasFields(Object object) {
        Class<?> type = object.getClass();
        return type.getPackageName().equals(Sameness.class.getPackageName()) && !type.isArray()
                && !(object instanceof Enum);
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
            case TypedMap _,EnumMap<?, ?> _,TreeMap<?, ?> _ -> value.getClass().getName();
            case Map<?, ?> _ -> "map";
            case Tuple _,ArrayDeque<?> _,CopyOnWriteArrayList<?> _,TreeSet<?> _ -> value.getClass().getName();
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
