package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/// Whether two states are the same: the same tree, the same bytes, and the same sharing, which is to say that what is
/// one object in the one is one object in the other, and what is two is two.
final class SameState {
    private final IdentityHashMap<Object, Object> there = new IdentityHashMap<>();
    private final IdentityHashMap<Object, Object> back = new IdentityHashMap<>();

    private SameState() {}

    /// Fails with the path to the first difference.
    static void check(Object expected, Object actual) {
        new SameState().compare("state", expected, actual);
    }

    private void compare(String path, Object expected, Object actual) {
        switch (expected) {
            case Storage storage -> compareStorages(path, storage, actual);
            case TypedStorage typed -> {
                assertThat(((TypedStorage) actual).dtype()).as(path).isEqualTo(typed.dtype());
                compareStorages(path, typed.untyped(), ((TypedStorage) actual).untyped());
            }
            case byte[] bytes -> assertThat((byte[]) actual).as(path).isEqualTo(bytes);
            case Tensor _,Map<?, ?> _,Collection<?> _,Typed _ -> {
                if (isFirstMeeting(path, expected, actual)) {
                    compareParts(path, expected, actual);
                }
            }
            case null, default -> assertThat(actual).as(path).isEqualTo(expected);
        }
    }

    private void compareParts(String path, Object expected, Object actual) {
        switch (expected) {
            case Tensor tensor -> compareTensors(path, tensor, (Tensor) actual);
            case Map<?, ?> map -> compareMaps(path, map, (Map<?, ?>) actual);
            case Collection<?> elements -> compareElements(path, elements, (Collection<?>) actual);
            case Typed typed -> {
                assertThat(((Typed) actual).type()).as(path).isEqualTo(typed.type());
                compare(path, typed.value(), ((Typed) actual).value());
                compareMaps(path, typed.attributes(), ((Typed) actual).attributes());
            }
            default -> throw new AssertionError(expected);
        }
    }

    /// Notes that two objects stand for each other, and fails if one of them stands for another already.
    private boolean isFirstMeeting(String path, Object expected, Object actual) {
        assertThat(actual).as(path).isNotNull();
        Object known = there.putIfAbsent(expected, actual);
        Object knownBack = back.putIfAbsent(actual, expected);
        assertThat(known == null || known == actual).as("%s: what was one object came back as two", path).isTrue();
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
        if (isFirstMeeting(path, expected, actual)) {
            Storage storage = (Storage) actual;
            assertThat(storage.nbytes()).as(path).isEqualTo(expected.nbytes());
            assertThat(storage.device()).as(path).isEqualTo(expected.device());
            if (!storage.isMeta()) {
                assertThat(storage.contentEquals(expected)).as("%s: bytes of the storage", path).isTrue();
            }
        }
    }

    private void compareMaps(String path, Map<?, ?> expected, Map<?, ?> actual) {
        assertThat(actual.size()).as(path).isEqualTo(expected.size());
        Iterator<? extends Map.Entry<?, ?>> entries = actual.entrySet().iterator();
        for (Map.Entry<?, ?> entry : expected.entrySet()) {
            Map.Entry<?, ?> other = entries.next();
            compareKeys(path + " key " + entry.getKey(), entry.getKey(), other.getKey());
            compare(path + "/" + entry.getKey(), entry.getValue(), other.getValue());
        }
        assertThat(actual instanceof TypedMap).as(path).isEqualTo(expected instanceof TypedMap);
        if (expected instanceof TypedMap typed) {
            assertThat(((TypedMap) actual).type()).as(path).isEqualTo(typed.type());
            compareMaps(path + " attributes", typed.attributes(), ((TypedMap) actual).attributes());
        }
    }

    /// A tuple that is a key is found by its value, so which object it is does not matter.
    private void compareKeys(String path, Object expected, Object actual) {
        if (expected instanceof Tuple) {
            assertThat(actual).as(path).isInstanceOf(Tuple.class).isEqualTo(expected);
        } else {
            compare(path, expected, actual);
        }
    }

    private void compareElements(String path, Collection<?> expected, Collection<?> actual) {
        assertThat(actual.size()).as(path).isEqualTo(expected.size());
        assertThat(kind(actual)).as(path).isEqualTo(kind(expected));
        Iterator<?> others = actual.iterator();
        int index = 0;
        for (Object element : expected) {
            compare(path + "/" + index++, element, others.next());
        }
    }

    private static String kind(Collection<?> elements) {
        return elements instanceof Tuple ? "tuple" : elements instanceof List ? "list" : "set";
    }
}
