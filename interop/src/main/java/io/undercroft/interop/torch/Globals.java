package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import java.nio.charset.Charset;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Everything that a pickle may name: the whole of it, by name. It follows the list that
/// `torch.load(weights_only=True)` allows, plus what is harmless and common in checkpoints (`frozenset`, `defaultdict`,
/// layouts and memory formats).
///
/// A value of this table is a constant. A [Symbol] may be the name of a [StorageClass], or of a [PickleFunction]
/// written here in Java.
final class Globals {
    static final String BYTEARRAY = "builtins.bytearray";
    static final String FROZENSET = "builtins.frozenset";
    static final String SET = "builtins.set";
    static final String COMPLEX = "builtins.complex";
    static final String ENCODE = "_codecs.encode";
    static final String ORDERED_DICT = "collections.OrderedDict";
    static final String COUNTER = "collections.Counter";
    static final String DEFAULT_DICT = "collections.defaultdict";
    static final String SIZE = "torch.Size";
    static final String DEVICE = "torch.device";
    static final String LAYOUT = "torch.serialization._get_layout";
    /// The functions that only pickles of TorchScript call.
    private static final String SCRIPT = "torch.jit._pickle.";
    static final String DEFAULT_FACTORY = "default_factory";

    /// How Python 3 calls what Python 2 called otherwise; protocol 2 writes the old names.
    private static final Map<String, String> RENAMED = Map.of("long", "int", "unicode", "str");

    /// The one function before whose second argument an unknown name is let through in any pickle, as a label.
    static final Symbol REBUILD_FROM_TYPE = new Symbol(Rebuild.FROM_TYPE);

    private static final List<String> STORAGE_CLASSES = List.of("Double", "Float", "Half", "Long", "Int", "Short",
            "Char", "Byte", "Bool", "BFloat16", "ComplexDouble",
            "ComplexFloat", "QUInt8", "QInt8", "QInt32", "QUInt4x2", "QUInt2x4");
    private static final List<String> TENSOR_CLASSES = List.of("Double", "Float", "Half", "Long", "Int", "Short",
            "Char", "Byte", "Bool", "BFloat16");
    private static final List<String> LAYOUTS = List.of("strided", "sparse_coo", "sparse_csr", "sparse_csc",
            "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged");
    private static final List<String> SYMBOLS = List.of("per_tensor_affine", "per_tensor_symmetric",
            "per_channel_affine", "per_channel_symmetric",
            "per_channel_affine_float_qparams", "contiguous_format", "preserve_format", "channels_last",
            "channels_last_3d");
    private static final Set<String> FORMATS = Set.of("torch.contiguous_format", "torch.preserve_format",
            "torch.channels_last", "torch.channels_last_3d");
    /// The classes that a `defaultdict` makes its values with.
    private static final List<String> FACTORIES = List.of("list", "dict", "int", "float", "str", "bool", "tuple");

    /// The class of storages whose elements are bytes.
    static final StorageClass UNTYPED = new StorageClass("torch.storage.UntypedStorage", null);

    private static final Map<DType, StorageClass> STORAGES_BY_DTYPE = STORAGE_CLASSES.stream()
            .map(name -> new StorageClass("torch." + name + "Storage", DType.of(name)))
            .collect(Collectors.toUnmodifiableMap(type -> Objects.requireNonNull(type.dtype()), Function.identity()));
    private static final Map<String, StorageClass> STORAGES = storages();
    private static final Map<String, PickleFunction> FUNCTIONS = functions();
    private static final Map<String, Object> TABLE = table();

    private Globals() {}

    /// {@return what a name stands for, or null if it is not in the table}
    static @Nullable Object find(String module, String name) {
        return module.equals("__builtin__")
                ? TABLE.get("builtins." + RENAMED.getOrDefault(name, name))
                : TABLE.get(module + "." + name);
    }

    /// {@return the function that a value is the name of, or null}
    static @Nullable PickleFunction function(@Nullable Object value) {
        return value instanceof Symbol symbol ? FUNCTIONS.get(symbol.name()) : null;
    }

    /// {@return the storage class that a value is the name of, or null}
    static @Nullable StorageClass storageClass(@Nullable Object value) {
        return value instanceof Symbol symbol ? STORAGES.get(symbol.name()) : null;
    }

    /// {@return the storage class of an element type, or null if it has none}
    static @Nullable StorageClass storageClass(DType dtype) {
        return STORAGES_BY_DTYPE.get(dtype);
    }

    /// {@return the class of the storages of tensors of a class such as `torch.FloatTensor`, or null}
    ///
    /// @param tensors what a pickle named
    static @Nullable StorageClass storageOfTensors(@Nullable Object tensors) {
        for (String name : TENSOR_CLASSES) {
            if (tensors != null && (tensors.equals(TABLE.get("torch." + name + "Tensor"))
                    || tensors.equals(TABLE.get("torch.cuda." + name + "Tensor")))) {
                return storageClass(DType.of(name));
            }
        }
        return null;
    }

    /// {@return whether a constant is the name of a layout, which PyTorch looks up by a function}
    static boolean isLayout(Symbol symbol) {
        return symbol.name().startsWith("torch.") && LAYOUTS.contains(symbol.name().substring("torch.".length()));
    }

    /// {@return whether `torch.load(weights_only=True)` takes what has a name}
    ///
    /// @param name the full name of a class, a function or a constant, of the table or not
    static boolean isOfWeights(String name) {
        return TABLE.containsKey(name) && !name.equals(FROZENSET) && !name.equals(DEFAULT_DICT)
                && !FORMATS.contains(name) && !name.startsWith(SCRIPT);
    }

    /// {@return whether a constant is known by its own name, and is no class and no function but those of Python's own
    /// that a `defaultdict` makes its values with}
    static boolean isConstant(Symbol symbol) {
        return isKnown(symbol) && !STORAGES.containsKey(symbol.name())
                && (symbol.name().equals(SET) || !FUNCTIONS.containsKey(symbol.name()));
    }

    /// {@return whether a constant is in the table, or the name of a layout}
    static boolean isKnown(Symbol symbol) {
        return TABLE.get(symbol.name()) instanceof Symbol || isLayout(symbol);
    }

    private static Map<String, Object> table() {
        Map<String, Object> table = new HashMap<>();
        DType.values().forEach(dtype -> table.put("torch." + dtype.name(), dtype));
        Stream.concat(SYMBOLS.stream().map(name -> "torch." + name),
                FACTORIES.stream().map(name -> "builtins." + name)).forEach(name -> table.put(name, new Symbol(name)));
        STORAGES.keySet().forEach(name -> table.put(name, new Symbol(name)));
        FUNCTIONS.keySet().forEach(name -> table.put(name, new Symbol(name)));
        table.put(REBUILD_FROM_TYPE.name(), REBUILD_FROM_TYPE);
        return Collections.unmodifiableMap(table);
    }

    private static Map<String, StorageClass> storages() {
        Map<String, StorageClass> storages = new HashMap<>();
        STORAGES_BY_DTYPE.values().forEach(type -> storages.put(type.name(), type));
        storages.put(UNTYPED.name(), UNTYPED);
        return Collections.unmodifiableMap(storages);
    }

    private static Map<String, PickleFunction> functions() {
        Map<String, PickleFunction> functions = new HashMap<>();
        addPython(functions);
        addTensors(functions);
        addScript(functions);
        return Collections.unmodifiableMap(functions);
    }

    private static void addPython(Map<String, PickleFunction> table) {
        function(table, ORDERED_DICT, Globals::orderedDict);
        function(table, COUNTER, Globals::counter);
        function(table, DEFAULT_DICT, Globals::defaultDict);
        function(table, SET, Globals::set);
        function(table, FROZENSET, arguments -> new Typed(FROZENSET, set(arguments)));
        function(table, "builtins.bytes", Globals::bytes);
        function(table, BYTEARRAY, arguments -> new Typed(BYTEARRAY, bytes(arguments)));
        function(table, COMPLEX, Globals::complex);
        function(table, ENCODE, Globals::bytes);
        function(table, LAYOUT, Globals::layout);
        function(table, SIZE, arguments -> sized(arguments, 1).shape(0));
        function(table, DEVICE, Globals::device);
    }

    private static void addTensors(Map<String, PickleFunction> table) {
        function(table, Rebuild.TENSOR, arguments -> blank(arguments, null));
        for (String name : TENSOR_CLASSES) {
            function(table, "torch." + name + "Tensor", arguments -> blank(arguments, DType.of(name)));
            function(table, "torch.cuda." + name + "Tensor", arguments -> blank(arguments, DType.of(name)));
        }
        function(table, "torch._utils._rebuild_tensor", arguments -> Rebuild.tensor(sized(arguments, 4)));
        function(table, Rebuild.TENSOR_V2, Rebuild::tensorV2);
        function(table, Rebuild.TENSOR_V3, Rebuild::tensorV3);
        function(table, Rebuild.META, Rebuild::meta);
        function(table, "torch._utils._rebuild_device_tensor_from_cpu_tensor", Rebuild::fromCpu);
        function(table, Rebuild.QUANTIZED, Rebuild::quantized);
        function(table, Rebuild.SPARSE, Rebuild::sparse);
        function(table, Rebuild.NESTED, Rebuild::nested);
        function(table, Rebuild.MAKE_PARAMETER, Rebuild::parameter);
        function(table, Rebuild.MAKE_PARAMETER_WITH_STATE, Rebuild::parameterWithState);
        function(table, Rebuild.PARAMETER, Rebuild::parameterClass);
        function(table, Rebuild.FROM_TYPE, Rebuild::fromType);
    }

    /// What TorchScript calls: functions that return a list, or another value, as it is.
    private static void addScript(Map<String, PickleFunction> table) {
        for (String list : List.of("int", "double", "bool", "tensor")) {
            function(table, SCRIPT + "build_" + list + "list", arguments -> sized(arguments, 1).list(0));
        }
        function(table, SCRIPT + "restore_type_tag", arguments -> sized(arguments, 2).get(0));
    }

    private static void function(Map<String, PickleFunction> table, String name, PickleFunction.Body body) {
        table.put(name, new PickleFunction(name, body));
    }

    private static Arguments sized(Arguments arguments, int size) {
        arguments.requireSize(size, size);
        return arguments;
    }

    // ---- Python's own types ----

    private static TypedMap orderedDict(Arguments arguments) {
        arguments.requireSize(0, 1);
        TypedMap map = new TypedMap(ORDERED_DICT);
        if (arguments.size() == 1) {
            List<?> pairs = arguments.list(0);
            arguments.containers().charge(pairs.size());
            for (Object pair : pairs) {
                if (!(pair instanceof List<?> entry && entry.size() == 2)) {
                    throw PickleFault.malformed("an OrderedDict is made of pairs, not of " + Arguments.describe(pair));
                }
                arguments.containers().put(map, entry.get(0), entry.get(1));
            }
        }
        return map;
    }

    private static TypedMap counter(Arguments arguments) {
        arguments.requireSize(0, 1);
        TypedMap map = new TypedMap(COUNTER);
        if (arguments.size() == 1) {
            copy(arguments.map(0), map, arguments.containers());
        }
        return map;
    }

    private static TypedMap defaultDict(Arguments arguments) {
        arguments.requireSize(0, 2);
        TypedMap map = new TypedMap(DEFAULT_DICT);
        Object factory = switch (arguments.get(0)) {
            case null -> null;
            case Symbol symbol when isConstant(symbol) -> symbol;
            case Object other when arguments.containers().keepsObjects()
                    && (other instanceof Symbol || InertObject.is(other)) ->
                other;
            default -> throw arguments.wrong(0, "a class of Python's own");
        };
        map.attributes().put(DEFAULT_FACTORY, factory);
        if (arguments.size() == 2) {
            copy(arguments.map(1), map, arguments.containers());
        }
        return map;
    }

    private static void copy(Map<?, ?> from, TypedMap to, Containers containers) {
        containers.charge(from.size());
        from.forEach((key, value) -> containers.put(to, key, value));
    }

    private static Object set(Arguments arguments) {
        arguments.requireSize(0, 1);
        return arguments.containers().set(arguments.size() == 0 ? List.of() : arguments.list(0));
    }

    /// Bytes as protocol 2 has to write them: `bytes()`, a string and the name of its encoding, or bytes.
    private static byte[] bytes(Arguments arguments) {
        arguments.requireSize(0, 2);
        if (arguments.size() == 0) {
            return new byte[0];
        }
        if (arguments.size() == 1 && arguments.get(0) instanceof byte[] bytes) {
            arguments.containers().charge(bytes.length);
            return bytes.clone();
        }
        String text = arguments.string(0);
        arguments.containers().charge(text.length());
        Charset charset = switch (arguments.string(1)) {
            case "latin1", "latin-1", "iso-8859-1" -> ISO_8859_1;
            case "utf-8", "utf8" -> UTF_8;
            case "ascii" -> US_ASCII;
            default -> throw arguments.wrong(1, "latin1, utf-8 or ascii");
        };
        if (!charset.newEncoder().canEncode(text)) {
            throw PickleFault.malformed("a string is no " + charset.name() + " text");
        }
        return text.getBytes(charset);
    }

    private static Complex complex(Arguments arguments) {
        arguments.requireSize(1, 2);
        return new Complex(arguments.real(0), arguments.size() == 2 ? arguments.real(1) : 0);
    }

    // ---- PyTorch's constants ----

    private static Symbol layout(Arguments arguments) {
        Symbol layout = new Symbol(sized(arguments, 1).string(0));
        if (isLayout(layout)) {
            return layout;
        }
        throw arguments.wrong(0, "the name of a layout");
    }

    private static Device device(Arguments arguments) {
        arguments.requireSize(1, 2);
        try {
            Device device = Device.parse(arguments.string(0));
            return arguments.size() == 1 || arguments.get(1) == null
                    ? device
                    : new Device(device.type(), Math.toIntExact(arguments.integer(1)));
        } catch (IllegalArgumentException | ArithmeticException _) {
            throw arguments.wrong(0, "the name of a device");
        }
    }

    private static BlankTensor blank(Arguments arguments, @Nullable DType dtype) {
        arguments.requireSize(0, 0);
        return new BlankTensor(dtype);
    }
}
