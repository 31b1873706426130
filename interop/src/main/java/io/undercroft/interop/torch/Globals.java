package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import java.nio.charset.Charset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// Everything that a pickle may name: the whole of it, by name. It follows the list that
/// `torch.load(weights_only=True)` allows, plus what is harmless and common in checkpoints (`frozenset`, `defaultdict`,
/// layouts and memory formats).
///
/// A value of this table is a constant. A [Symbol] may be the name of a [StorageClass], or of a [Function]
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
    private static final String NUMPY = "numpy.";
    static final String DEFAULT_FACTORY = "default_factory";

    /// The names in Python 3 for names of Python 2; protocol 2 writes the old ones.
    static final Map<String, String> RENAMED = Map.of("long", "int", "unicode", "str", "xrange", "range");

    /// The one function before whose second argument an unknown name is let through in any pickle, as a label.
    static final Symbol REBUILD_FROM_TYPE = new Symbol(TensorRebuilder.FROM_TYPE);

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

    private static final Map<DType, StorageClass> STORAGES_BY_DTYPE = new HashMap<>();
    private static final Map<String, StorageClass> STORAGES = new HashMap<>();
    /// The functions that pickles called, by name.
    private static final Map<String, Function> FUNCTIONS = new ConcurrentHashMap<>();
    private static final Map<String, Object> TABLE = new ConcurrentHashMap<>();

    static {
        for (String name : STORAGE_CLASSES) {
            StorageClass type = new StorageClass("torch." + name + "Storage", DType.of(name));
            STORAGES_BY_DTYPE.put(DType.of(name), type);
            STORAGES.put(type.name(), type);
        }
        STORAGES.put(UNTYPED.name(), UNTYPED);
        for (DType dtype : DType.values()) {
            TABLE.put("torch." + dtype.name(), dtype);
        }
        for (String name : SYMBOLS) {
            TABLE.put("torch." + name, new Symbol("torch." + name));
        }
        for (String name : FACTORIES) {
            TABLE.put("builtins." + name, new Symbol("builtins." + name));
        }
        for (String name : STORAGES.keySet()) {
            TABLE.put(name, new Symbol(name));
        }
        TABLE.put(REBUILD_FROM_TYPE.name(), REBUILD_FROM_TYPE);
        TABLE.put(PickledArrays.ARRAY, new Symbol(PickledArrays.ARRAY));
    }

    private Globals() {}

    /// A function or class that a pickle may call.
    ///
    /// @param name its full name in Python
    /// @param body what it does here: makes a value of its arguments and has no other effect
    record Function(String name, Body body) {
        @Nullable
        Object call(Tuple values, Containers containers) {
            return body.call(new CallArguments(name, values, containers));
        }
    }

    /// The body of a function.
    @FunctionalInterface
    interface Body {
        /// Makes a value; throws [PickleFault] if the arguments are wrong.
        @Nullable
        Object call(CallArguments arguments);
    }

    /// {@return what a name stands for, or null if it is not in the table}
    static @Nullable Object find(String module, String name) {
        return find(module.equals("__builtin__")
                ? "builtins." + RENAMED.getOrDefault(name, name)
                : module + "." + name);
    }

    private static @Nullable Object find(String name) {
        Object existing = TABLE.get(name);
        if (existing == null && function(name) != null) {
            existing = new Symbol(name);
            TABLE.put(name, existing);
        }
        return existing;
    }

    /// {@return the function that a value is the name of, or null}
    static @Nullable Function function(@Nullable Object value) {
        return value instanceof Symbol symbol ? function(symbol.name()) : null;
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
        String type = tensors instanceof Symbol symbol ? tensorType(symbol.name()) : null;
        return type == null ? null : storageClass(DType.of(type));
    }

    /// {@return the type of a class of tensors, such as `Float` of `torch.FloatTensor`, or null if it is none}
    private static @Nullable String tensorType(String name) {
        if (!name.startsWith("torch.") || !name.endsWith("Tensor")) {
            return null;
        }
        String module = name.startsWith("torch.cuda.") ? "torch.cuda." : "torch.";
        String type = name.substring(module.length(), name.length() - "Tensor".length());
        return TENSOR_CLASSES.contains(type) ? type : null;
    }

    /// {@return whether a constant is the name of a layout, which PyTorch looks up by a function}
    static boolean isLayout(Symbol symbol) {
        return symbol.name().startsWith("torch.") && LAYOUTS.contains(symbol.name().substring("torch.".length()));
    }

    /// {@return whether `torch.load(weights_only=True)` takes what has a name}
    ///
    /// @param name the full name of a class, a function or a constant, of the table or not
    static boolean isOfWeights(String name) {
        return find(name) != null && !name.equals(FROZENSET) && !name.equals(DEFAULT_DICT)
                && !FORMATS.contains(name) && !name.startsWith(SCRIPT) && !isOfNumpy(name);
    }

    /// {@return whether a name of the table is one of NumPy}
    static boolean isOfNumpy(Object known) {
        return known instanceof Symbol symbol && isOfNumpy(symbol.name());
    }

    private static boolean isOfNumpy(String name) {
        return name.startsWith(NUMPY) || name.equals(PickledArrays.WRAPPER);
    }

    /// {@return whether a function makes a value of bytes that may be the elements of an array}
    static boolean takesElements(@Nullable Object value) {
        return value instanceof Symbol symbol && symbol.name().startsWith(NUMPY)
                && (symbol.name().endsWith(PickledArrays.SCALAR) || symbol.name().endsWith(PickledArrays.FROM_BUFFER))
                && function(symbol.name()) != null;
    }

    /// {@return whether a constant is known by its own name, and is no class and no function but those of Python's own
    /// that a `defaultdict` makes its values with}
    static boolean isConstant(Symbol symbol) {
        return isKnown(symbol) && !STORAGES.containsKey(symbol.name())
                && (symbol.name().equals(SET) || function(symbol.name()) == null);
    }

    /// {@return whether a constant is in the table, or the name of a layout}
    static boolean isKnown(Symbol symbol) {
        return find(symbol.name()) instanceof Symbol || isLayout(symbol);
    }

    private static @Nullable Function function(String name) {
        Function existing = FUNCTIONS.get(name);
        if (existing == null) {
            Body body = body(name);
            if (body != null) {
                existing = new Function(name, body);
                FUNCTIONS.put(name, existing);
            }
        }
        return existing;
    }

    /// Returns the body of a function, or null if it is not in the table. A switch, since a map would make all
    /// functions at the first pickle, and each takes the JVM longer than the pickle.
    private static @Nullable Body body(String name) {
        return switch (name) {
            case ORDERED_DICT -> Globals::orderedDict;
            case COUNTER -> Globals::counter;
            case DEFAULT_DICT -> Globals::defaultDict;
            case SET -> Globals::set;
            case FROZENSET -> arguments -> new Typed(FROZENSET, set(arguments));
            case "builtins.bytes", ENCODE -> Globals::bytes;
            case BYTEARRAY -> arguments -> new Typed(BYTEARRAY, bytes(arguments));
            case COMPLEX -> Globals::complex;
            case LAYOUT -> Globals::layout;
            case SIZE -> arguments -> sized(arguments, 1).shape(0);
            case DEVICE -> Globals::device;
            case TensorRebuilder.TENSOR -> arguments -> blank(arguments, null);
            case "torch._utils._rebuild_tensor" -> arguments -> TensorRebuilder.tensor(sized(arguments, 4));
            case TensorRebuilder.TENSOR_V2 -> TensorRebuilder::tensorV2;
            case TensorRebuilder.TENSOR_V3 -> TensorRebuilder::tensorV3;
            case TensorRebuilder.META -> TensorRebuilder::meta;
            case "torch._utils._rebuild_device_tensor_from_cpu_tensor",
                    "torch._utils._rebuild_device_tensor_from_numpy" ->
                TensorRebuilder::fromCpu;
            case TensorRebuilder.QUANTIZED -> TensorRebuilder::quantized;
            case TensorRebuilder.SPARSE -> TensorRebuilder::sparse;
            case TensorRebuilder.NESTED -> TensorRebuilder::nested;
            case TensorRebuilder.MAKE_PARAMETER -> TensorRebuilder::parameter;
            case TensorRebuilder.MAKE_PARAMETER_WITH_STATE -> TensorRebuilder::parameterWithState;
            case TensorRebuilder.PARAMETER -> TensorRebuilder::parameterClass;
            case TensorRebuilder.FROM_TYPE -> TensorRebuilder::fromType;
            // Functions that TorchScript calls and that return their argument unchanged.
            case SCRIPT + "build_intlist", SCRIPT + "build_doublelist", SCRIPT + "build_boollist",
                    SCRIPT + "build_tensorlist" ->
                arguments -> sized(arguments, 1).list(0);
            case PickledArrays.WRAPPER -> PickledArrays::wrapper;
            case SCRIPT + "restore_type_tag" -> arguments -> sized(arguments, 2).get(0);
            default -> name.startsWith(NUMPY) ? ofNumpy(name) : ofTensorClass(name);
        };
    }

    /// The functions that make arrays, scalars and types of NumPy.
    private static @Nullable Body ofNumpy(String name) {
        if (name.equals(PickledArrays.DTYPE)) {
            return arguments -> arguments.arrays().type(arguments);
        }
        String module = name.substring(0, name.lastIndexOf('.'));
        String function = name.substring(module.length());
        boolean isOfArrays = PickledArrays.MULTIARRAY.contains(module);
        if (name.equals(PickledArrays.MASKED) || (isOfArrays && function.equals(PickledArrays.RECONSTRUCT))) {
            return arguments -> new UnbuiltObject.OfNumpy(name, arguments);
        }
        if (isOfArrays && function.equals(PickledArrays.SCALAR)) {
            return arguments -> arguments.arrays().scalar(arguments);
        }
        return PickledArrays.NUMERIC.contains(module) && function.equals(PickledArrays.FROM_BUFFER)
                ? arguments -> arguments.arrays().fromBuffer(arguments)
                : null;
    }

    /// The constructor of tensors of a class such as `torch.FloatTensor`.
    private static @Nullable Body ofTensorClass(String name) {
        String type = tensorType(name);
        return type == null ? null : arguments -> blank(arguments, DType.of(type));
    }

    private static CallArguments sized(CallArguments arguments, int size) {
        arguments.requireSize(size, size);
        return arguments;
    }

    // ---- Python's own types ----

    private static TypedMap orderedDict(CallArguments arguments) {
        arguments.requireSize(0, 1);
        TypedMap map = new TypedMap(ORDERED_DICT);
        if (arguments.size() == 1) {
            List<?> pairs = arguments.list(0);
            arguments.containers().charge(pairs.size());
            for (Object pair : pairs) {
                if (!(pair instanceof List<?> entry && entry.size() == 2)) {
                    throw PickleFault
                            .malformed("an OrderedDict is made of pairs, not of " + CallArguments.describe(pair));
                }
                arguments.containers().put(map, entry.get(0), entry.get(1));
            }
        }
        return map;
    }

    private static TypedMap counter(CallArguments arguments) {
        arguments.requireSize(0, 1);
        TypedMap map = new TypedMap(COUNTER);
        if (arguments.size() == 1) {
            copy(arguments.map(0), map, arguments.containers());
        }
        return map;
    }

    private static TypedMap defaultDict(CallArguments arguments) {
        arguments.requireSize(0, 2);
        TypedMap map = new TypedMap(DEFAULT_DICT);
        Object factory = switch (arguments.get(0)) {
            case null -> null;
            case Symbol symbol when isConstant(symbol) -> symbol;
            case Object other when arguments.containers().keepsObjects()
                    && (other instanceof Symbol || PythonObjects.is(other)) ->
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

    private static Object set(CallArguments arguments) {
        arguments.requireSize(0, 1);
        return arguments.containers().set(arguments.size() == 0 ? List.of() : arguments.list(0));
    }

    /// Bytes as protocol 2 has to write them: `bytes()`, a string and the name of its encoding, or bytes.
    private static byte[] bytes(CallArguments arguments) {
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

    private static Complex complex(CallArguments arguments) {
        arguments.requireSize(1, 2);
        return new Complex(arguments.real(0), arguments.size() == 2 ? arguments.real(1) : 0);
    }

    // ---- PyTorch's constants ----

    private static Symbol layout(CallArguments arguments) {
        Symbol layout = new Symbol(sized(arguments, 1).string(0));
        if (isLayout(layout)) {
            return layout;
        }
        throw arguments.wrong(0, "the name of a layout");
    }

    private static Device device(CallArguments arguments) {
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

    private static UnbuiltObject blank(CallArguments arguments, @Nullable DType dtype) {
        arguments.requireSize(0, 0);
        return new UnbuiltObject.OfTorch(dtype);
    }
}
