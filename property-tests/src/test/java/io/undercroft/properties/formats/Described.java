package io.undercroft.properties.formats;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// What a state is, in JSON: values with their bits, and which objects and storages are one. `differential.py` says the
/// same of what the real libraries read. All numbers are strings.
final class Described {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final IdentityHashMap<Object, Integer> objects = new IdentityHashMap<>();
    private final IdentityHashMap<Storage, Integer> storages = new IdentityHashMap<>();

    private Described() {}

    /// {@return the description of a state of PyTorch's}
    static JsonNode tree(Object state) {
        return JSON.valueToTree(new Described().of(state));
    }

    /// {@return the description of tensors by name, whose strides and storages do not matter}
    static JsonNode named(Map<String, Tensor> tensors) {
        Map<String, Object> described = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> described.put(name, Map.of("dtype", elementName(tensor.dtype()), "shape",
                texts(tensor.shape().toArray()), "sha256",
                sha256(elements(tensor)))));
        return JSON.valueToTree(described);
    }

    /// Negation and conjugation are done by a copy. The strides of a shape without elements may be too large for one.
    private static Storage elements(Tensor tensor) {
        return tensor.numel() == 0 ? Storage.allocate(0) : tensor.withFlags(without(tensor)).copy().storage();
    }

    private static Set<Tensor.Flag> without(Tensor tensor) {
        Set<Tensor.Flag> flags = new HashSet<>(tensor.flags());
        flags.remove(Tensor.Flag.REQUIRES_GRAD);
        return flags;
    }

    /// As the libraries call it that have such elements.
    private static String elementName(DType dtype) {
        return dtype.name().startsWith("gguf:") ? dtype.name().substring("gguf:".length()) : dtype.name();
    }

    private Object of(Object value) {
        return switch (value) {
            case null -> null;
            case Boolean truth -> truth;
            case String text -> text;
            case Double real -> Map.of("float", bits(real));
            case Float real -> Map.of("float", bits(real.doubleValue()));
            case BigInteger big -> Map.of("int", big.toString());
            case Number number -> Map.of("int", Long.toString(number.longValue()));
            case Complex complex -> Map.of("complex", List.of(bits(complex.real()), bits(complex.imaginary())));
            case byte[] bytes -> Map.of("bytes", HexFormat.of().formatHex(bytes));
            case Shape shape -> Map.of("size", texts(shape.toArray()));
            case DType dtype -> Map.of("dtype", "torch." + dtype);
            case Device device -> Map.of("device", device.toString());
            case Symbol symbol -> symbol(symbol.name());
            case Storage storage -> storage(storage);
            case TypedStorage typed -> storage(typed.untyped());
            case Tuple tuple when tuple.isEmpty() -> Map.of("tuple", List.of());
            default -> object(value);
        };
    }

    private static Object symbol(String name) {
        if (name.startsWith("builtins.")) {
            return Map.of("class", name.substring("builtins.".length()));
        }
        String kind = name.contains("affine") || name.contains("symmetric")
                ? "qscheme"
                : name.contains("channels_last") || name.endsWith("_format") ? "memory_format" : "layout";
        return Map.of(kind, name);
    }

    private Object object(Object value) {
        Integer known = objects.putIfAbsent(value, objects.size());
        if (known != null) {
            return Map.of("again", known.toString());
        }
        return switch (value) {
            case Tensor tensor -> tensor(tensor);
            case TypedMap map -> Map.of("OrderedDict", items(map), "attributes", items(map.attributes()));
            case Map<?, ?> map -> Map.of("dict", items(map));
            case Tuple tuple -> Map.of("tuple", elements(tuple));
            case List<?> list -> Map.of("list", elements(list));
            case Set<?> set -> Map.of("set", keys(set));
            case Typed typed -> typed(typed);
            default -> throw new AssertionError("no description of " + value.getClass());
        };
    }

    private Object typed(Typed typed) {
        return switch (typed.value()) {
            case Tensor tensor when typed.type().equals("torch.nn.parameter.Parameter") ->
                Map.of("parameter", tensor(tensor), "attributes", items(typed.attributes()));
            case byte[] bytes -> Map.of("bytearray", HexFormat.of().formatHex(bytes));
            case Set<?> set -> Map.of("frozenset", keys(set));
            case null, default -> Map.of("unknown", typed.type());
        };
    }

    private List<Object> items(Map<?, ?> map) {
        List<Object> items = new ArrayList<>();
        map.forEach((key, value) -> items.add(Arrays.asList(key(key), of(value))));
        return items;
    }

    private List<Object> elements(Collection<?> values) {
        List<Object> elements = new ArrayList<>();
        values.forEach(value -> elements.add(of(value)));
        return elements;
    }

    /// In the order of their texts: a set of Python's has none of its own.
    private static List<String> keys(Set<?> set) {
        return set.stream().map(Described::text).sorted().toList();
    }

    private static String text(Object element) {
        return JSON.<JsonNode>valueToTree(key(element)).toString();
    }

    /// A key is found by its value, so which object it is does not matter.
    private static Object key(Object key) {
        return key instanceof Tuple tuple
                ? Map.of("tuple", tuple.stream().map(Described::key).toList())
                : new Described().of(key);
    }

    private Map<String, Object> tensor(Tensor tensor) {
        Map<String, Object> described = new LinkedHashMap<>();
        described.put("tensor", "torch." + tensor.dtype());
        described.put("shape", texts(tensor.shape().toArray()));
        described.put("flags", flags(tensor));
        described.put("stride", texts(tensor.stride()));
        boolean isMeta = tensor.storage().isMeta();
        if (!isMeta) {
            described.put("offset", Long.toString(tensor.storageOffset()));
        }
        described.put("on", isMeta ? null : storage(tensor.storage()));
        return described;
    }

    private static List<String> flags(Tensor tensor) {
        List<String> flags = new ArrayList<>();
        if (tensor.is(Tensor.Flag.REQUIRES_GRAD)) {
            flags.add("grad");
        }
        if (tensor.is(Tensor.Flag.CONJ)) {
            flags.add("conj");
        }
        if (tensor.is(Tensor.Flag.NEG)) {
            flags.add("neg");
        }
        return flags;
    }

    private Map<String, String> storage(Storage storage) {
        if (storage.nbytes() == 0) {
            return Map.of("storage", "empty");
        }
        Integer known = storages.putIfAbsent(storage, storages.size());
        if (known != null) {
            return Map.of("storage", known.toString());
        }
        return Map.of("storage", Integer.toString(storages.size() - 1), "nbytes", Long.toString(storage.nbytes()),
                "sha256", sha256(storage));
    }

    private static List<String> texts(long... numbers) {
        return Arrays.stream(numbers).mapToObj(Long::toString).toList();
    }

    private static String bits(double real) {
        return HexFormat.of().toHexDigits(Double.doubleToRawLongBits(real));
    }

    private static String sha256(Storage storage) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(storage.segment().asByteBuffer());
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
