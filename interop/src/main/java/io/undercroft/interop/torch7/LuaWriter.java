package io.undercroft.interop.torch7;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.internal.StateValues;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.RepeatedTexts;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePath;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Plans a file: checks all of a state, and puts everything but the elements of storages into [Code]. It recurses no
/// deeper than a [StateIndex] lets containers nest. Made for one state and one thread.
final class LuaWriter {
    /// The most digits that Lua prints of a number.
    private static final int VERSION_DIGITS = 14;

    private final Encoding encoding;
    private final Code code;
    private final Map<Storage, Integer> uses;
    private final IdentityHashMap<Object, Integer> numbers = new IdentityHashMap<>();
    private final Map<Storage, DType> dtypes = new HashMap<>();
    /// The place of the value that is being written.
    private final StatePath path = new StatePath();
    private final StateIndex index;
    /// The names of tensors that require gradients.
    private final Set<String> gradients = new LinkedHashSet<>();
    private long lists;
    private String firstList = "";

    private LuaWriter(StateIndex index, Encoding encoding) {
        this.index = index;
        this.encoding = encoding;
        this.code = Code.of(encoding);
        this.uses = uses(index);
    }

    /// The number of uses of each storage: by tensors, and as a value.
    private static Map<Storage, Integer> uses(StateIndex index) {
        Map<Storage, Integer> uses = new HashMap<>();
        index.tensors().values().stream().distinct()
                .forEach(tensor -> uses.merge(tensor.storage(), 1, Integer::sum));
        index.storages().stream().filter(index::isValue).forEach(storage -> uses.merge(storage, 1, Integer::sum));
        return uses;
    }

    /// Plans a file.
    ///
    /// @param state the root of the tree
    /// @param encoding how to write numbers
    /// @throws IllegalArgumentException if there is something that Torch7 does not have; with its path
    static Draft draft(@Nullable Object state, Encoding encoding) {
        LuaWriter writer = new LuaWriter(StateIndex.of(state), encoding);
        RepeatedTexts.check(state);
        writer.write(state);
        List<Loss> losses = Stream.of(Loss.of(Kind.REQUIRES_GRAD, writer.gradients),
                new Loss(Kind.LISTS, writer.lists, List.of(writer.firstList))).filter(loss -> loss.count() > 0)
                .toList();
        return new Plan(writer.code.parts(), losses);
    }

    private record Plan(List<Draft> parts, List<Loss> losses) implements Draft {
        @Override
        public boolean keeps(Object value, String attribute, Set<Capability> format) {
            return switch (value) {
                case TypedMap map -> !TensorsByName.isPlain(map);
                case Typed typed when typed.type().equals(NodeNames.FUNCTION) ->
                    attribute.equals(NodeNames.TAG) || attribute.equals(NodeNames.UPVALUES);
                case Typed typed -> !typed.type().equals(NodeNames.TABLE) && !typed.type().equals(NodeNames.GENERATOR);
                default -> true;
            };
        }

        @Override
        public long nbytes() {
            return parts.stream().mapToLong(Draft::nbytes).reduce(0, Math::addExact);
        }

        @Override
        public void writeTo(Output output) throws IOException {
            for (Draft part : parts) {
                part.writeTo(output);
            }
        }
    }

    private void write(@Nullable Object value) {
        switch (value) {
            case null -> code.writeInt(ObjectTag.NIL);
            case Boolean truth -> {
                code.writeInt(ObjectTag.BOOLEAN);
                code.writeInt(truth ? 1 : 0);
            }
            case Number number -> {
                code.writeInt(ObjectTag.NUMBER);
                code.writeDouble(number(number));
            }
            case String text -> {
                code.writeInt(ObjectTag.STRING);
                writeString(text);
            }
            case byte[] bytes -> {
                code.writeInt(ObjectTag.STRING);
                writeString(bytes);
            }
            case Tensor tensor -> writeTensor(tensor);
            case TypedStorage storage -> writeStorage(storage);
            case Storage storage -> writeStorage(new TypedStorage(storage, DType.UINT8));
            case Typed typed -> writeTyped(typed);
            case TypedMap map -> writeTypedMap(map);
            case Tuple _ -> throw refused("a tuple", "make a list of it");
            case Map<?, ?> map -> writeTable(map, () -> entries(map));
            case List<?> list -> writeTable(list, () -> {
                if (lists++ == 0) {
                    firstList = path.path();
                }
                return entries(list);
            });
            default -> throw refused(StateValues.describe(value),
                    "make numbers, strings, lists, maps or tensors of it");
        }
    }

    private IllegalArgumentException refused(String what, String remedy) {
        String place = path.path();
        return new UnsavableValueException(place,
                (place.isEmpty() ? "the state" : StatePath.shortened(place)) + ": a file of Torch7 cannot hold " + what
                        + "; " + remedy,
                null);
    }

    private double number(Number number) {
        return exact(number).orElseThrow(
                () -> refused("the number " + number + ", which is no double", "round it, or make a string of it"));
    }

    private void writeString(String text) {
        writeString(bytes(text));
    }

    private byte[] bytes(String text) {
        return Utf8.encode(text)
                .orElseThrow(() -> refused("a string with half a surrogate pair", "make a byte[] of it"));
    }

    private void writeString(byte[] bytes) {
        code.writeInt(bytes.length);
        code.writeBytes(bytes);
    }

    /// Writes what an object with a number begins with.
    ///
    /// @return whether it is a new one, and what it holds has to follow
    private boolean begin(int tag, Object object) {
        code.writeInt(tag);
        Integer known = numbers.get(object);
        code.writeInt(known == null ? number(object) : known);
        return known == null;
    }

    private int number(Object object) {
        int number = Math.incrementExact(numbers.size());
        numbers.put(object, number);
        return number;
    }

    // ---- tables ----

    /// @param entries lists what is in the table, which a state can refer to very often; called once
    private void writeTable(Object table, Supplier<List<Entry>> entries) {
        if (begin(ObjectTag.TABLE, table)) {
            List<Entry> listed = entries.get();
            code.writeInt(listed.size());
            writeEntries(listed);
        }
    }

    private void writeEntries(List<Entry> entries) {
        checkEntries(entries);
        for (Entry entry : entries) {
            path.push(entry.key);
            write(entry.key);
            write(entry.value);
            path.pop();
        }
    }

    /// Lua has fewer keys than Java: 1 is 1.0, and text is its bytes.
    private void checkEntries(List<Entry> entries) {
        Set<Object> keys = new HashSet<>();
        for (Entry entry : entries) {
            path.push(entry.key);
            if (entry.value == null) {
                throw refused("null as a value of a table", "leave it out");
            }
            Object key = entry.key == null ? null : identity(entry.key);
            if (key == null || key.equals(Double.NaN)) {
                throw refused(key == null ? "null as a key" : "NaN as a key", "use other keys");
            }
            if (!keys.add(key)) {
                throw refused("a table with two keys that are one in Lua", "use other keys");
            }
            path.pop();
        }
    }

    /// {@return what is equal for keys that are one key in Lua}
    private static Object identity(Object key) {
        return switch (key) {
            case Number number -> {
                OptionalDouble value = exact(number);
                // Takes the sign off -0.
                yield value.isPresent() ? (Object) (value.getAsDouble() + 0.0) : number;
            }
            // One that has no bytes is refused when it is written.
            case String text -> Utf8.encode(text).map(LuaWriter::identity).orElse(text);
            case byte[] bytes -> new String(bytes, ISO_8859_1);
            case TypedStorage storage -> storage.untyped();
            default -> key;
        };
    }

    /// {@return the double that a number of a state is, if it is one exactly}
    private static OptionalDouble exact(Number number) {
        return switch (number) {
            case Double _,Float _,Integer _,Short _,Byte _ -> OptionalDouble.of(number.doubleValue());
            case Long value -> exact(BigInteger.valueOf(value));
            case BigInteger value -> {
                double nearest = value.doubleValue();
                yield Double.isFinite(nearest) && new BigDecimal(nearest).compareTo(new BigDecimal(value)) == 0
                        ? OptionalDouble.of(nearest)
                        : OptionalDouble.empty();
            }
            default -> OptionalDouble.empty();
        };
    }

    private void write(Object place, @Nullable Object value) {
        path.push(place);
        write(value);
        path.pop();
    }

    private record Entry(@Nullable Object key, @Nullable Object value) {}

    private static List<Entry> entries(Map<?, ?> map) {
        return map.entrySet().stream().map(entry -> new Entry(entry.getKey(), entry.getValue())).toList();
    }

    /// Tables count from 1.
    private static List<Entry> entries(List<?> list) {
        long[] count = new long[1];
        return list.stream().map(value -> new Entry(++count[0], value)).toList();
    }

    // ---- what only Torch7 has ----

    private void writeTypedMap(TypedMap map) {
        if (TensorsByName.isPlain(map)) {
            writeTable(map, () -> entries(map));
            return;
        }
        if (writeClass(map, map.type(), map.attributes())) {
            writeFields(map.type(), entries(map));
        }
    }

    private void writeTyped(Typed typed) {
        Tensor parameter = TensorsByName.tensorIn(typed);
        if (parameter != null && typed.attributes().isEmpty()) {
            writeTensor(parameter);
            return;
        }
        switch (typed.type()) {
            case NodeNames.TABLE -> writeTable(typed, () -> pairs(typed));
            case NodeNames.FUNCTION -> writeFunction(typed);
            case NodeNames.GENERATOR -> writeGenerator(typed);
            default -> {
                if (writeClass(typed, typed.type(), typed.attributes())) {
                    writeBody(typed);
                }
            }
        }
    }

    /// Writes what an object of a class holds, if it is no map.
    private void writeBody(Typed object) {
        // What others hold is written as what a hash holds, but for the start.
        switch (tdsClass(object.type()).orElse(TdsClass.HASH)) {
            case HASH -> writeFields(object.type(), fields(object));
            case VECTOR -> {
                if (!(object.value() instanceof List<?> elements)) {
                    throw refused("a value of type " + object.type() + " that is no list", "leave it out");
                }
                writeElements(elements);
            }
            case COUNTER -> {
                if (!(object.value() instanceof Long count)) {
                    throw refused("a value of type " + object.type() + " that is no long", "leave it out");
                }
                writeLongs(count);
            }
        }
    }

    private static Optional<TdsClass> tdsClass(String type) {
        return TdsClass.find(type.substring(NodeNames.PREFIX.length()));
    }

    private List<Entry> fields(Typed object) {
        if (!(object.value() instanceof Typed table && table.type().equals(NodeNames.TABLE))) {
            throw refused("a value of type " + object.type() + " that holds no table of fields",
                    "make a map, a list or a tensor of it");
        }
        return pairs(table);
    }

    /// Writes the fields of an object, as a table that is nothing but this.
    private void writeFields(String type, List<Entry> entries) {
        switch (tdsClass(type).orElse(null)) {
            case HASH -> writeLongs(entries.size());
            case VECTOR, COUNTER -> throw refused("a value of type " + type + " that is a map", "leave it out");
            case null -> {
                code.writeInt(ObjectTag.TABLE);
                code.writeInt(number(new Object()));
                code.writeInt(entries.size());
            }
        }
        writeEntries(entries);
    }

    private void writeElements(List<?> elements) {
        writeLongs(elements.size());
        int index = 0;
        for (Object element : elements) {
            write(index++, element);
        }
    }

    private List<Entry> pairs(Typed typed) {
        if (!(typed.value() instanceof List<?> pairs)) {
            throw refused("a " + typed.type() + " that is no list of pairs", "see the package torch7");
        }
        return pairs.stream().map(this::pair).toList();
    }

    private Entry pair(@Nullable Object pair) {
        if (pair instanceof List<?> list && list.size() == 2) {
            return new Entry(list.get(0), list.get(1));
        }
        throw refused("a " + NodeNames.TABLE + " that is no list of pairs", "see the package torch7");
    }

    /// {@return whether the object is a new one, and what it holds has to follow}
    private boolean writeClass(Object object, String type, Map<String, @Nullable Object> attributes) {
        String className = type.substring(Math.min(NodeNames.PREFIX.length(), type.length()));
        if (!type.startsWith(NodeNames.PREFIX) || TorchClass.find(className).isPresent()) {
            throw refused("a value of type " + type, "make a map, a list or a tensor of it");
        }
        boolean hasVersion = !Objects.equals(version(attributes, className), NodeNames.NO_VERSION)
                || TdsClass.find(className).isPresent();
        if (!LuaReader.isClassName(className, hasVersion)) {
            throw refused("a value of type " + type + ", which is no name of a class",
                    "give the class a name without spaces");
        }
        if (attributes.keySet().stream().anyMatch(name -> !name.equals(NodeNames.VERSION))) {
            throw refused("the attributes " + attributes.keySet() + " of a value of type " + type,
                    "only " + NodeNames.VERSION + " is kept");
        }
        boolean isNew = begin(ObjectTag.TORCH, object);
        if (isNew) {
            writeVersion(attributes, type);
            writeString(className);
        }
        return isNew;
    }

    private static @Nullable Object version(Map<String, @Nullable Object> attributes, String className) {
        return attributes.getOrDefault(NodeNames.VERSION, NodeNames.usualVersion(className));
    }

    private void writeVersion(Map<String, @Nullable Object> attributes, String type) {
        String className = type.substring(NodeNames.PREFIX.length());
        Object version = version(attributes, className);
        if (!(version instanceof Number number && number.doubleValue() >= 0)) {
            throw refused("a value of type " + type + " of the version " + version, "versions are numbers");
        }
        if (!version.equals(NodeNames.NO_VERSION) || TdsClass.find(className).isPresent()) {
            writeString("V " + CNumbers.print(number.doubleValue(), VERSION_DIGITS));
        }
    }

    private void writeFunction(Typed function) {
        Object tag = function.attributes().get(NodeNames.TAG);
        if (!(function.value() instanceof byte[] bytecode && tag instanceof Long kind && ObjectTag.isFunction(kind))) {
            throw refused("a " + NodeNames.FUNCTION + " that is not one of a file of Torch7", "leave it out");
        }
        // The oldest functions have no number; with one, Torch7 reads them the same.
        boolean isNew = begin(kind == ObjectTag.FUNCTION ? ObjectTag.FUNCTION : ObjectTag.RECURSIVE_OLD_FUNCTION,
                function);
        if (isNew) {
            writeString(bytecode);
            write(NodeNames.UPVALUES, function.attributes().get(NodeNames.UPVALUES));
        }
    }

    private void writeGenerator(Typed generator) {
        if (!(generator.value() instanceof byte[] bytes && bytes.length == TorchClass.GENERATOR_BYTES)) {
            throw refused("a " + NodeNames.GENERATOR + " that has not " + TorchClass.GENERATOR_BYTES + " bytes",
                    "leave it out");
        }
        if (begin(ObjectTag.TORCH, generator)) {
            writeVersion(Map.of(), generator.type());
            writeString(TorchClass.GENERATOR);
            code.writeBytes(bytes);
        }
    }

    // ---- tensors ----

    private void writeTensor(Tensor tensor) {
        checkElements(tensor.dtype());
        if (tensor.is(Flag.NEG)) {
            throw refused("a tensor that is the negative of what is stored", "call resolveNeg()");
        }
        boolean isNothing = tensor.dim() == 1 && tensor.size(0) == 0;
        if (!isNothing && (tensor.dim() == 0 || tensor.numel() == 0)) {
            throw refused("a tensor of the shape " + tensor.shape(),
                    tensor.dim() == 0 ? "give it the shape [1] with view(1)" : "give it the shape [0] with view(0)");
        }
        if (begin(ObjectTag.TORCH, tensor)) {
            if (tensor.is(Flag.REQUIRES_GRAD)) {
                gradients.add(String.valueOf(index.nameOf(tensor)));
            }
            writeHeader(new TorchClass(tensor.dtype(), TorchClass.Role.TENSOR));
            long[] sizes = isNothing ? new long[0] : tensor.shape().toArray();
            code.writeInt(sizes.length);
            writeLongs(sizes);
            writeLongs(isNothing ? sizes : tensor.stride());
            writeLongs(offset(tensor));
            writeStorageOf(tensor);
        }
    }

    /// Torch7 counts from 1. Only a tensor without elements may start so far away that there is no such number.
    private long offset(Tensor tensor) {
        if (tensor.storageOffset() == Long.MAX_VALUE) {
            throw refused("a storage offset of 2^63-1", "give the tensor, which has no elements, an offset of 0");
        }
        return tensor.storageOffset() + 1;
    }

    /// A tensor without a storage is read as one that has a storage without bytes for itself.
    private void writeStorageOf(Tensor tensor) {
        Storage storage = tensor.storage();
        boolean isMarked = tensor.dim() == 1 && tensor.stride(0) == NodeNames.STRIDE_ON_STORAGE;
        if (storage.nbytes() == 0 && uses.getOrDefault(storage, 0) == 1 && !isMarked) {
            code.writeInt(ObjectTag.NIL);
        } else {
            writeStorage(new TypedStorage(storage, tensor.dtype()));
        }
    }

    private void writeHeader(TorchClass type) {
        writeString("V 1");
        writeString(type.name());
    }

    private void writeStorage(TypedStorage storage) {
        checkElements(storage.dtype());
        checkBytes(storage);
        if (begin(ObjectTag.TORCH, storage.untyped())) {
            writeHeader(new TorchClass(storage.dtype(), TorchClass.Role.STORAGE));
            writeLongs(storage.size());
            checkNarrow(storage);
            code.writeElements(storage);
        }
    }

    private void checkElements(DType dtype) {
        if (!TorchClass.has(dtype)) {
            throw refused("elements of " + dtype.name() + ", only " + TorchClass.dtypes(),
                    TensorBytes.remedy(dtype));
        }
    }

    private void checkBytes(TypedStorage elements) {
        Storage storage = elements.untyped();
        if (storage.isMeta()) {
            throw refused("a storage on the device " + storage.device(), "it has no elements");
        }
        if (storage.nbytes() % elements.elementSize() != 0) {
            throw refused("a storage of " + storage.nbytes() + " bytes, which is no whole number of elements",
                    "copy the tensors that use it");
        }
        DType first = dtypes.putIfAbsent(storage, elements.dtype());
        if (first != null && !first.equals(elements.dtype())) {
            throw refused("a storage with elements of both " + first.name() + " and " + elements.dtype().name(),
                    "copy the tensors of one of the types");
        }
    }

    private void writeLongs(long... values) {
        for (long value : values) {
            if (encoding.longBytes() == Integer.BYTES && value != (int) value) {
                throw refused("sizes, strides and offsets of more than 32 bits if torch7.longs is 4",
                        "write longs of 8 bytes");
            }
        }
        code.writeLongs(values);
    }

    /// What is to be written in half as many bits is looked through before, as nothing may be lost.
    private void checkNarrow(TypedStorage storage) {
        if (!storage.dtype().equals(DType.INT64) || encoding.longBytes() != Integer.BYTES) {
            return;
        }
        try (BorrowedBytes bytes = storage.untyped().borrow()) {
            TypedStorage borrowed = new TypedStorage(bytes.storage(), storage.dtype());
            for (long i = 0; i < borrowed.size(); i++) {
                long value = borrowed.getLong(i);
                if (value != (int) value) {
                    throw refused("the element " + value + " if torch7.longs is 4", "write longs of 8 bytes");
                }
            }
        }
    }
}
