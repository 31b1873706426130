package io.undercroft.serializer.internal.planning;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.serializer.internal.TreeCost;
import io.undercroft.serializer.internal.graph.HashBudget;
import io.undercroft.serializer.internal.tree.RepeatedTexts;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.internal.tree.StatePath;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Writes a state as the tree that the format defines.
///
/// It recurses on containers; their depth was checked before, by [io.undercroft.serializer.internal.tree.StateIndex].
final class StateEncoder {
    /// The numbers in the tables of the file of the values that the tree refers to.
    interface Numbers {
        int of(Tensor tensor);

        int of(Storage storage);

        int of(DType dtype);
    }

    /// The identity of a map that no later reference can refer to.
    private static final class Nameless {}

    /// The largest tree, in bytes.
    private static final long MOST = 1L << 30;

    private final StateTreeWriter out = new StateTreeWriter();
    private final HashBudget budget = new HashBudget();
    private final IdentityHashMap<Object, Integer> containers = new IdentityHashMap<>();
    private final StatePath path = new StatePath();
    private final Numbers numbers;
    private final Function<Object, @Nullable String> paths;

    private StateEncoder(Numbers numbers, Function<Object, @Nullable String> paths) {
        this.numbers = numbers;
        this.paths = paths;
    }

    /// Encodes a state.
    ///
    /// @param state the root of the tree
    /// @param numbers the numbers of its tensors, storages and dtypes
    /// @param paths finds the paths of containers, for messages
    /// @return the bytes of the tree
    /// @throws IllegalArgumentException if it holds something that cannot be saved; the message has its path
    static byte[] encode(@Nullable Object state, Numbers numbers, Function<Object, @Nullable String> paths) {
        RepeatedTexts.check(state);
        StateEncoder encoder = new StateEncoder(numbers, paths);
        try {
            encoder.write(state);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("cannot save " + encoder.path + ": " + e.getMessage(), e);
        }
        byte[] tree = encoder.out.toByteArray();
        encoder.checkCost(tree);
        return tree;
    }

    /// Refuses a tree that no reader would accept: one that is too deep, or takes too much memory for its size.
    private void checkCost(byte[] tree) {
        StateTreeReader in = new StateTreeReader(MemorySegment.ofArray(tree), Limits.DEFAULT, 0);
        TreeCost cost = new TreeCost(tree.length);
        try {
            for (StateToken token = in.next(); token != StateToken.DONE; token = in.next()) {
                cost.take(in, token);
            }
        } catch (FormatException e) {
            throw new IllegalArgumentException("cannot save " + where(in.container()) + ": no reader would accept it: "
                    + e.what() + "; keep many small values in tensors, or as text or bytes", e);
        }
    }

    /// {@return the path of the container of a number, or of the last one before it that has a path}
    private String where(int container) {
        Object last = null;
        int number = -1;
        for (Map.Entry<Object, Integer> entry : containers.entrySet()) {
            if (entry.getValue() <= container && entry.getValue() > number && !(entry.getKey() instanceof Nameless)) {
                last = entry.getKey();
                number = entry.getValue();
            }
        }
        String found = last == null ? null : paths.apply(last);
        return StatePath.describe(found == null ? "" : found);
    }

    private void write(@Nullable Object value) {
        Integer known = value == null ? null : containers.get(value);
        if (known != null) {
            out.writeReference(known);
            return;
        }
        switch (value) {
            case null -> out.writeNull();
            case Boolean truth -> out.writeBoolean(truth);
            case Number number -> writeNumber(number);
            case String text -> {
                checkSize(text.length());
                out.writeString(text);
            }
            case byte[] bytes -> {
                checkSize(bytes.length);
                out.writeBytes(MemorySegment.ofArray(bytes));
            }
            case Complex complex -> out.writeComplex(complex.real(), complex.imaginary());
            case Tensor tensor -> out.writeTensor(numbers.of(tensor));
            case Storage storage -> out.writeStorage(numbers.of(storage));
            case TypedStorage typed -> out.writeTypedStorage(numbers.of(typed.untyped()), numbers.of(typed.dtype()));
            case DType dtype -> out.writeDType(numbers.of(dtype));
            case Device device -> out.writeDevice(device.toString());
            case Shape shape -> out.writeShape(shape.toArray());
            case Symbol symbol -> out.writeSymbol(symbol.name());
            case Typed typed -> writeTyped(typed);
            case TypedMap map -> writeTypedMap(map);
            case Map<?, ?> map -> writeMap(map, map);
            case Tuple tuple -> writeElements(tuple, tuple, out.openTuple(tuple.size()));
            case List<?> list -> writeElements(list, list, out.openList(list.size()));
            case Set<?> set -> {
                set.forEach(StateEncoder::checkKey);
                checkDistinct(set);
                writeElements(set, set, out.openSet(set.size()));
            }
            default -> throw new IllegalArgumentException("a value of type " + value.getClass().getName()
                    + " is not part of a state; use maps, lists, plain values and tensors");
        }
    }

    private void checkSize(long more) {
        if (more > MOST - out.size()) {
            throw new IllegalArgumentException("the state has more than " + (MOST >> 20)
                    + " MiB apart from its tensors; keep large data in tensors");
        }
    }

    private void writeNumber(Number number) {
        switch (number) {
            case Double real -> out.writeFloat(real);
            case Float real -> out.writeFloat32(real);
            case Long integer -> out.writeInteger(integer);
            case Integer integer -> out.writeInt32(integer);
            case Short integer -> out.writeInt16(integer);
            case Byte integer -> out.writeInt8(integer);
            case BigInteger big -> out.writeInteger(big);
            default -> throw new IllegalArgumentException("a value of type " + number.getClass().getName()
                    + " is not part of a state; use a long, a double or a BigInteger");
        }
    }

    /// An object whose value is a map is loaded as a [TypedMap]; that is why [Typed] holds none.
    private void writeTypedMap(TypedMap map) {
        containers.put(map, out.openObject(map.type()));
        writeMap(map, new Nameless());
        writeAttributes(map.attributes());
    }

    private void writeTyped(Typed typed) {
        containers.put(typed, out.openObject(typed.type()));
        write(typed.value());
        writeAttributes(typed.attributes());
    }

    private void writeAttributes(Map<String, @Nullable Object> attributes) {
        if (attributes.isEmpty()) {
            out.writeNull();
        } else {
            writeMap(attributes, new Nameless());
        }
    }

    /// @param identity the object that later references to the map refer to
    private void writeMap(Map<?, ?> map, Object identity) {
        checkDistinct(map.keySet());
        containers.put(identity, out.openMap(map.size()));
        checkSize(2L * map.size());
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            path.push(entry.getKey());
            checkKey(entry.getKey());
            write(entry.getKey());
            write(entry.getValue());
            path.pop();
        }
    }

    private void writeElements(Collection<?> elements, Object identity, int number) {
        containers.put(identity, number);
        checkSize(elements.size());
        int index = 0;
        for (Object element : elements) {
            path.push(index++);
            write(element);
            path.pop();
        }
    }

    private static void checkKey(@Nullable Object key) {
        if (!StateKeys.isKey(key)) {
            throw new IllegalArgumentException(
                    "a key of a map or an element of a set is a plain value or a tuple of at most "
                            + StateKeys.MAX_PARTS + " of them");
        }
    }

    /// Keys that differ in Java but not in a file would make one that no reader accepts, and so would those that take
    /// too long to tell apart.
    private void checkDistinct(Collection<?> all) {
        List<@Nullable Object> keys = new ArrayList<>(all);
        keys.removeIf(key -> !StateKeys.isKey(key));
        budget.check(keys).ifPresent(wrong -> {
            if (wrong == HashBudget.Wrong.TOO_MUCH) {
                throw new IllegalArgumentException("of the " + keys.size()
                        + " keys of a map or elements of a set too many are compared with each other; use keys of "
                        + "which fewer have equal hashes, such as strings");
            }
            Set<@Nullable Object> saved = new HashSet<>();
            keys.removeIf(key -> saved.add(HashBudget.identity(key)));
            throw new IllegalArgumentException("the key " + FormatException.quote(String.valueOf(keys.getFirst()))
                    + " comes twice, as numbers of different widths; use one of them");
        });
    }
}
