package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
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
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Writes a state as a pickle: what [Unpickler] does, backwards.
///
/// What is one object in the state is one object in the pickle, also if it holds itself. It recurses on containers, and
/// refuses those that nest deeper than any reader of ours would take.
final class Pickler {
    /// What the types of the nodes of NumPy begin with.
    private static final String NUMPY = "numpy.";
    /// How many items Python adds to a container at once, so that its stack stays small.
    private static final int BATCH = 1000;

    private final PickleOutput out = new PickleOutput(TorchZipFormat.LARGEST_PICKLE);
    private final TensorPickler tensors;
    private final IdentityHashMap<Object, Integer> objects = new IdentityHashMap<>();
    private final Map<String, Integer> texts = new HashMap<>();
    private final Map<String, Integer> globals = new HashMap<>();
    private final StatePath path = new StatePath();
    private final boolean writesObjects;
    private final Set<String> distrusted;
    /// What [DistributedTensor#LOCAL] represents where it is written.
    private @Nullable Object local;
    private int slots;
    private int depth;

    private Pickler(StorageKeys storages, boolean writesObjects, Set<String> distrusted) {
        this.writesObjects = writesObjects;
        this.distrusted = distrusted;
        this.tensors = new TensorPickler(this, out, storages);
    }

    /// Pickles a state.
    ///
    /// @param state the root of the tree
    /// @param storages is shown every storage that the pickle names
    /// @param writesObjects whether objects of foreign classes are written
    /// @param distrusted receives the names that `torch.load(weights_only=True)` refuses
    /// @return the pickle
    /// @throws IllegalArgumentException if it holds something that PyTorch has no place for; the message has its path
    static byte[] pickle(@Nullable Object state, StorageKeys storages, boolean writesObjects,
            Set<String> distrusted) {
        Pickler pickler = new Pickler(storages, writesObjects, distrusted);
        try {
            pickler.write(state);
            return pickler.out.stop();
        } catch (IllegalArgumentException e) {
            throw new UnsavableValueException(pickler.path.path(),
                    "cannot save " + pickler.path + " for PyTorch: " + e.getMessage(), e);
        }
    }

    /// What Python calls to make a value again.
    ///
    /// @param function the full name of a function or class
    /// @param arguments writes a tuple
    record Call(String function, Runnable arguments) {}

    /// Writes a value, or a reference to it if it was written before.
    void write(@Nullable Object value) {
        Integer slot = value == null ? null : objects.get(value);
        if (slot != null) {
            out.get(slot);
            return;
        }
        switch (value) {
            case null -> out.op(Opcode.NONE);
            case Boolean truth -> out.truth(truth);
            case Number number -> number(number);
            case String text -> text(text);
            case Storage storage -> tensors.storage(storage, Globals.UNTYPED, false);
            case TypedStorage typed -> tensors.storage(typed);
            case DType dtype -> dtype(dtype);
            case Device device -> call(Globals.DEVICE, () -> deviceParts(device));
            case Shape shape -> size(shape);
            case Symbol symbol -> symbol(symbol);
            case Complex complex -> call(Globals.COMPLEX, () -> {
                out.real(complex.real());
                out.real(complex.imaginary());
                out.op(Opcode.TUPLE2);
            });
            case byte[] bytes -> {
                call(Globals.ENCODE, () -> encoded(bytes, "latin1"));
                remember(bytes);
            }
            case Tensor tensor -> {
                call(tensors.call(tensor));
                remember(tensor);
            }
            default -> container(value);
        }
    }

    private void container(Object value) {
        if (++depth > StateIndex.MAX_DEPTH) {
            throw new IllegalArgumentException("containers nest more than " + StateIndex.MAX_DEPTH + " deep");
        }
        switch (value) {
            case Typed typed -> typed(typed);
            case TypedMap map -> typedMap(map);
            case Map<?, ?> map -> dict(map);
            case Tuple tuple -> tuple(tuple);
            case List<?> list -> {
                out.op(Opcode.EMPTY_LIST);
                remember(list);
                elements(list);
            }
            case Set<?> set -> {
                call(Globals.SET, () -> setParts(set));
                remember(set);
            }
            default -> throw new IllegalArgumentException("a value of type " + value.getClass().getName()
                    + " is not part of a state; use maps, lists, plain values and tensors");
        }
        depth--;
    }

    // ---- plain values ----

    private void number(Number number) {
        switch (number) {
            case Double real -> out.real(real);
            case Float real -> out.real(real);
            case BigInteger big -> out.integer(big);
            case Long _,Integer _,Short _,Byte _ -> out.integer(number.longValue());
            default -> throw new IllegalArgumentException("a value of type " + number.getClass().getName()
                    + " is not part of a state; use a long, a double or a BigInteger");
        }
    }

    /// Equal texts are written once.
    void text(String text) {
        Integer slot = texts.get(text);
        if (slot != null) {
            out.get(slot);
            return;
        }
        out.text(text);
        texts.put(text, putNext());
    }

    /// Protocol 2 has no opcode for bytes. `bytes()` would be shorter where there are none, but `weights_only` does not
    /// allow it.
    private void encoded(byte[] bytes, String charset) {
        out.text(new String(bytes, ISO_8859_1));
        text(charset);
        out.op(Opcode.TUPLE2);
    }

    private void deviceParts(Device device) {
        text(device.type());
        if (device.index() < 0) {
            out.op(Opcode.TUPLE1);
        } else {
            out.integer(device.index());
            out.op(Opcode.TUPLE2);
        }
    }

    private void size(Shape shape) {
        call(Globals.SIZE, () -> {
            integers(shape.toArray());
            out.op(Opcode.TUPLE1);
        });
    }

    void dtype(DType dtype) {
        if (!DType.values().contains(dtype)) {
            throw new IllegalArgumentException(
                    "PyTorch has no dtype " + dtype.name() + "; " + TensorBytes.remedy(dtype));
        }
        global("torch." + dtype.name());
    }

    void symbol(Symbol symbol) {
        if (Globals.isLayout(symbol)) {
            call(Globals.LAYOUT, () -> {
                text(symbol.name());
                out.op(Opcode.TUPLE1);
            });
        } else if (Globals.isConstant(symbol)) {
            global(symbol.name());
        } else if (Globals.isKnown(symbol) && writesObjects) {
            global(symbol.name());
        } else if (symbol.equals(DistributedTensor.LOCAL) && local != null) {
            write(local);
        } else if (symbol.equals(InertObject.OBJECT_KEYS)) {
            requireObjects("a dict whose keys are objects");
        } else if (ForeignNames.isName(symbol.name())) {
            foreign("the class or function", symbol.name());
        } else {
            throw new IllegalArgumentException("the constant " + symbol.name() + " is not one of PyTorch's");
        }
    }

    // ---- objects ----

    /// Names a class that is not in the table.
    private void foreign(String kind, String name) {
        String what = kind + " " + FormatException.quote(name) + " of Python";
        if (DangerousNames.contains(name)) {
            throw dangerous(what);
        }
        if (!writesObjects) {
            throw new IllegalArgumentException("it is " + what + ", and only programs that have it can load the file."
                    + " Save a part of the state without it, or set torch.objects=write");
        }
        if (!ForeignNames.isName(name)) {
            throw new IllegalArgumentException(what + " has no name that can be written");
        }
        global(name);
    }

    private static IllegalArgumentException dangerous(String what) {
        return new IllegalArgumentException("it is " + what + ", with which a file can run code when it is loaded;"
                + " such a file is never written. Save a part of the state without it");
    }

    /// What the pickle of the object said: arguments, elements, items, state.
    private void object(TypedMap object) {
        Map<String, @Nullable Object> attributes = object.attributes();
        if (object.type().equals(InertObject.REFERENCE)) {
            throw new IllegalArgumentException("it refers to something outside the file that it was read from");
        }
        if (object.attributes().containsKey(InertObject.ARRAY)) {
            requireNotOfNumpy(NUMPY + "ndarray");
        }
        if (attributes.containsKey(InertObject.BASE)) {
            call(ForeignCalls.RECONSTRUCTOR, () -> reconstructed(object, attributes));
        } else {
            classOf(object, attributes);
            makeObject(attributes);
        }
        remember(object);
        fill(object, attributes);
    }

    private void classOf(TypedMap object, Map<String, @Nullable Object> attributes) {
        String name = PythonObjects.className(object);
        if (object.type().equals(InertObject.CALL)) {
            requireObjects("made by " + name + " of objects of Python");
            if (attributes.get(InertObject.CALLABLE) instanceof TypedMap made
                    && attributes.get(InertObject.ARGUMENTS) instanceof Tuple arguments
                    && DangerousNames.isRun(made, arguments)) {
                throw dangerous("a call of what " + PythonObjects.className(made) + " makes");
            }
            write(attributes.get(InertObject.CALLABLE));
        } else if (Globals.isKnown(new Symbol(name))) {
            requireObjects("made by " + name + " of objects of Python");
            global(name);
        } else if (attributes.get(InertObject.ARGUMENTS) instanceof Tuple arguments
                && DangerousNames.isOrdinary(name, arguments)) {
            requireObjects("made by " + name);
            global(name);
        } else {
            foreign("an object of the class", name);
        }
    }

    /// What makes an object by a class of Python's own that its class is derived from.
    private void reconstructed(TypedMap object, Map<String, @Nullable Object> attributes) {
        classOf(object, attributes);
        write(attributes.get(InertObject.BASE));
        write(attributes.get(InertObject.VALUE));
        out.op(Opcode.TUPLE3);
    }

    private void requireObjects(String name) {
        if (!writesObjects) {
            throw new IllegalArgumentException("it is " + name + ", which only programs that have their classes can"
                    + " load. Save a part of the state without it, or set torch.objects=write");
        }
    }

    private void makeObject(Map<String, @Nullable Object> attributes) {
        boolean isState = attributes.containsKey(InertObject.CALLABLE)
                && !attributes.containsKey(InertObject.ARGUMENTS)
                && !attributes.containsKey(InertObject.NEW_ARGUMENTS);
        if (isState) {
            // The state of a class, which exists.
            return;
        }
        if (attributes.containsKey(InertObject.ARGUMENTS)) {
            write(attributes.get(InertObject.ARGUMENTS));
            out.op(Opcode.REDUCE);
            return;
        }
        write(attributes.containsKey(InertObject.NEW_ARGUMENTS)
                ? attributes.get(InertObject.NEW_ARGUMENTS)
                : Tuple.of());
        if (attributes.containsKey(InertObject.KEYWORDS)) {
            write(attributes.get(InertObject.KEYWORDS));
            out.op(Opcode.NEWOBJ_EX);
        } else {
            out.op(Opcode.NEWOBJ);
        }
    }

    private void fill(TypedMap object, Map<String, @Nullable Object> attributes) {
        switch (attributes.get(InertObject.ELEMENTS)) {
            case List<?> list -> elements(list);
            case Set<?> set -> {
                out.op(Opcode.MARK);
                each(set, 0);
                out.op(Opcode.ADDITEMS);
            }
            case null, default -> {
            }
        }
        boolean isDict = attributes.containsKey(InertObject.ITEMS);
        if (isDict) {
            items(object);
        } else if (!object.isEmpty()) {
            out.op(Opcode.EMPTY_DICT);
            items(object);
            out.op(Opcode.BUILD);
        }
        if (attributes.containsKey(InertObject.STATE)) {
            write(attributes.get(InertObject.STATE));
            out.op(Opcode.BUILD);
        }
    }

    // ---- containers ----

    private void tuple(Tuple tuple) {
        openTuple(tuple.size());
        each(tuple, 0);
        closeTuple(tuple.size());
        remember(tuple);
    }

    /// A tuple that nothing else refers to.
    void integers(long[] values) {
        openTuple(values.length);
        for (long value : values) {
            out.integer(value);
        }
        closeTuple(values.length);
    }

    private void openTuple(int size) {
        if (size > 3) {
            out.op(Opcode.MARK);
        }
    }

    private void closeTuple(int size) {
        out.op(switch (size) {
            case 0 -> Opcode.EMPTY_TUPLE;
            case 1 -> Opcode.TUPLE1;
            case 2 -> Opcode.TUPLE2;
            case 3 -> Opcode.TUPLE3;
            default -> Opcode.TUPLE;
        });
    }

    private void elements(List<?> list) {
        for (int from = 0; from < list.size(); from += BATCH) {
            out.op(Opcode.MARK);
            each(list.subList(from, Math.min(from + BATCH, list.size())), from);
            out.op(Opcode.APPENDS);
        }
    }

    private void each(Collection<?> values, int first) {
        int index = first;
        for (Object value : values) {
            path.push(index++);
            write(value);
            path.pop();
        }
    }

    private void setParts(Set<?> set) {
        PythonKeys.check(set);
        out.op(Opcode.EMPTY_LIST);
        elements(new ArrayList<>(set));
        out.op(Opcode.TUPLE1);
    }

    private void items(Map<?, ?> map) {
        PythonKeys.check(map.keySet());
        if (writesObjects && map.get(InertObject.OBJECT_KEYS) instanceof List<?> pairs) {
            itemsOfObjects(pairs);
        }
        int open = 0;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (writesObjects && InertObject.OBJECT_KEYS.equals(entry.getKey())) {
                continue;
            }
            if (open == 0) {
                out.op(Opcode.MARK);
            }
            path.push(entry.getKey());
            write(entry.getKey());
            write(entry.getValue());
            path.pop();
            open = (open + 1) % BATCH;
            if (open == 0) {
                out.op(Opcode.SETITEMS);
            }
        }
        if (open > 0) {
            out.op(Opcode.SETITEMS);
        }
    }

    private void itemsOfObjects(List<?> pairs) {
        path.push(InertObject.OBJECT_KEYS);
        for (Object each : pairs) {
            if (!(each instanceof Tuple pair && pair.size() == 2)) {
                throw new IllegalArgumentException("the items of a dict whose keys are objects are pairs");
            }
            write(pair.get(0));
            write(pair.get(1));
            out.op(Opcode.SETITEM);
        }
        path.pop();
    }

    /// A dict that nothing else refers to.
    void attributes(SequencedMap<String, @Nullable Object> attributes) {
        out.op(Opcode.EMPTY_DICT);
        items(attributes);
    }

    private void typedMap(TypedMap map) {
        switch (map.type()) {
            case Globals.ORDERED_DICT -> {
                call(Globals.ORDERED_DICT, () -> out.op(Opcode.EMPTY_TUPLE));
                remember(map);
                items(map);
                build(map.attributes());
            }
            case Globals.COUNTER -> {
                call(Globals.COUNTER, () -> {
                    out.op(Opcode.EMPTY_DICT);
                    items(map);
                    out.op(Opcode.TUPLE1);
                });
                remember(map);
                build(map.attributes());
            }
            case Globals.DEFAULT_DICT -> defaultDict(map);
            default -> {
                if (PythonObjects.is(map)) {
                    object(map);
                } else if (TensorsByName.isPlain(map)) {
                    dict(map);
                } else {
                    call(tensors.call(map));
                    remember(map);
                }
            }
        }
    }

    private void dict(Map<?, ?> map) {
        out.op(Opcode.EMPTY_DICT);
        remember(map);
        items(map);
    }

    private void defaultDict(TypedMap map) {
        SequencedMap<String, @Nullable Object> attributes = new LinkedHashMap<>(map.attributes());
        Object factory = attributes.remove(Globals.DEFAULT_FACTORY);
        call(Globals.DEFAULT_DICT, () -> {
            write(factory);
            out.op(Opcode.TUPLE1);
        });
        remember(map);
        items(map);
        build(attributes);
    }

    private void build(SequencedMap<String, @Nullable Object> attributes) {
        if (!attributes.isEmpty()) {
            attributes(attributes);
            out.op(Opcode.BUILD);
        }
    }

    private void typed(Typed typed) {
        Tuple whole = DistributedTensor.arguments(typed);
        if (whole != null) {
            Object outer = local;
            local = typed.value();
            call(TensorRebuilder.FROM_TYPE, () -> write(whole));
            local = outer;
            remember(typed);
            return;
        }
        switch (typed.value()) {
            case byte[] bytes when typed.type().equals(Globals.BYTEARRAY) ->
                call(Globals.BYTEARRAY, () -> encoded(bytes, "latin-1"));
            case Set<?> set when typed.type().equals(Globals.FROZENSET) ->
                call(Globals.FROZENSET, () -> setParts(set));
            case null, default -> {
                requireNotOfNumpy(typed.type());
                call(tensors.call(typed));
            }
        }
        remember(typed);
    }

    private static void requireNotOfNumpy(String type) {
        if (type.startsWith(NUMPY)) {
            throw new IllegalArgumentException("it is a " + type + " of NumPy, and a file of PyTorch has tensors of"
                    + " numbers only. Save a part of the state without it, or arrays as npz");
        }
    }

    // ---- calls and the memo ----

    private void call(String function, Runnable arguments) {
        global(function);
        arguments.run();
        out.op(Opcode.REDUCE);
    }

    /// Calls a function of Python.
    void call(Call call) {
        call(call.function, call.arguments);
    }

    /// Names a class, a function or a constant.
    void global(String name) {
        Integer slot = globals.get(name);
        if (slot != null) {
            out.get(slot);
            return;
        }
        out.global(name);
        globals.put(name, putNext());
        if (!Globals.isOfWeights(name)) {
            distrusted.add(name);
        }
    }

    /// A tuple, or what is made by a call, exists only after its parts. If one of them holds it, through a list or a
    /// dict, it was made and remembered there, and what has been made now is a second one.
    private void remember(Object value) {
        Integer made = objects.get(value);
        if (made == null) {
            objects.put(value, putNext());
        } else {
            out.op(Opcode.POP);
            out.get(made);
            distrusted.add("a tuple that holds itself");
        }
    }

    private int putNext() {
        out.put(slots);
        return slots++;
    }
}
