package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The tensors of a state by name, for formats that store only tensors by name.
///
/// The keys of a flat map are the names. In nested maps, a name is the raw name ([StateIndex#rawName]): the keys
/// of the path, joined by `/`, as other programs expect them. When such a file is opened, the names are the keys of a
/// flat map. Two tensors that would have the same name are refused. A parameter of PyTorch is the tensor
/// in it, an `OrderedDict` a map, a module what its `state_dict()` has; what else these hold is left out.
public final class TensorsByName {
    private static final String PARAMETER = "torch.nn.parameter.";
    /// The maximum number of further places of maps. Few states have any, but a small one can nest one map many times.
    private static final int MOST_AGAIN = 1 << 12;
    /// The maximum number of entries at further places of maps.
    private static final long MOST_ENTRIES_AGAIN = 1 << 16;
    private static final long MOST_IN_MODULES = 1 << 20;
    private static final Set<String> MAPS = Set.of("collections.OrderedDict", "collections.defaultdict", "gguf");

    private final String format;
    private final Predicate<Object> isOther;
    private final SequencedMap<String, Object> values = new LinkedHashMap<>();
    /// The path of each.
    private final Map<String, String> paths = new HashMap<>();
    private final Set<Map<?, ?>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private int again;
    private long entriesAgain;
    private long inModules;

    private TensorsByName(String format, Predicate<Object> isOther) {
        this.format = format;
        this.isOther = isOther;
    }

    /// Returns the tensors of a state.
    ///
    /// @param state the root of the tree
    /// @param format the name of the format, for messages
    /// @return the tensors in their order
    /// @throws IllegalArgumentException if there is anything but tensors with bytes and distinct names that are text;
    ///     the message has its path
    public static SequencedMap<String, Tensor> of(@Nullable Object state, String format) {
        SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
        of(state, format, _ -> false).forEach((name, value) -> tensors.put(name, (Tensor) value));
        return tensors;
    }

    /// Returns the tensors of a state, and other values that a format holds by name.
    ///
    /// @param state the root of the tree
    /// @param format the name of the format, for messages
    /// @param isOther whether a value is one of the others
    /// @return the tensors and other values in their order
    /// @throws IllegalArgumentException as [#of(Object, String)]
    public static SequencedMap<String, Object> of(@Nullable Object state, String format, Predicate<Object> isOther) {
        TensorsByName names = new TensorsByName(format, isOther);
        if (!(state instanceof Map<?, ?> root && isOfNames(root))) {
            throw names.refused("", state);
        }
        names.walk("", root, 1);
        return names.values;
    }

    /// {@return the tensor that a value is or, as a parameter of PyTorch, holds; null if it is none}
    ///
    /// @param value a value of a state
    public static @Nullable Tensor tensorIn(@Nullable Object value) {
        Object held = value;
        for (int depth = 0; depth < StateIndex.MAX_DEPTH && held instanceof Typed typed
                && typed.type().startsWith(PARAMETER); depth++) {
            held = typed.value();
        }
        return held instanceof Tensor tensor ? tensor : null;
    }

    /// {@return the same tensor, as one that requires a gradient or as one that does not}
    ///
    /// @param tensor the tensor
    /// @param requiresGrad whether it requires a gradient
    public static Tensor withGrad(Tensor tensor, boolean requiresGrad) {
        if (tensor.is(Flag.REQUIRES_GRAD) == requiresGrad) {
            return tensor;
        }
        Set<Flag> flags = EnumSet.noneOf(Flag.class);
        flags.addAll(tensor.flags());
        if (!flags.remove(Flag.REQUIRES_GRAD)) {
            flags.add(Flag.REQUIRES_GRAD);
        }
        return tensor.withFlags(flags);
    }

    /// {@return whether the type of a map adds nothing to a plain map} Such are those of PyTorch with
    /// another order or a default, and the tensors of a GGUF file.
    ///
    /// @param map a map of a state
    public static boolean isPlain(TypedMap map) {
        return MAPS.contains(map.type());
    }

    /// Checks that a tensor has bytes that can be written, and sizes that can be read again. Files of these formats
    /// have no strides: readers compute them from the sizes, which can be of any amount in a tensor without elements.
    ///
    /// @param path its path in the state, for messages
    /// @param tensor the tensor
    /// @throws IllegalArgumentException if it has no bytes, or more than can be counted, or a row-major stride would be
    ///     2^63 or more
    public static void checkBytes(String path, Tensor tensor) {
        if (tensor.storage().isMeta() && tensor.numel() > 0) {
            throw new IllegalArgumentException(path + ": a tensor on the meta device has no elements to write");
        }
        try {
            tensor.nbytes();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(path + ": the tensor has more than 2^63-1 bytes", e);
        }
        try {
            tensor.shape().contiguousStride();
        } catch (IllegalArgumentException e) {
            throw uncountable(path, tensor, e);
        }
    }

    /// {@return the exception for a tensor without elements: no reader could compute the product of its other sizes}
    ///
    /// @param path its path in the state
    /// @param tensor the tensor
    /// @param cause the exception
    public static IllegalArgumentException uncountable(String path, Tensor tensor, RuntimeException cause) {
        return new IllegalArgumentException(
                path + ": the tensor has no elements, and its other sizes, " + tensor.shape()
                        + ", have a product that readers of such files cannot compute; give it smaller ones",
                cause);
    }

    private void walk(String path, Map<?, ?> map, int depth) {
        if (depth > StateIndex.MAX_DEPTH) {
            throw new IllegalArgumentException(path + ": maps nest more than " + StateIndex.MAX_DEPTH + " deep");
        }
        if (!seen.add(map)) {
            again++;
            entriesAgain += map.size();
            if (again > MOST_AGAIN || entriesAgain > MOST_ENTRIES_AGAIN) {
                throw new IllegalArgumentException(path + ": more than " + MOST_AGAIN + " maps, or "
                        + MOST_ENTRIES_AGAIN + " entries of maps, are in several places, which would give every"
                        + " tensor in them as many names");
            }
        }
        tensorsOf(map, path).forEach((key, value) -> {
            checkKey(key, path);
            String place = StatePart.join(path, StateIndex.segment(key));
            if (value instanceof Map<?, ?> inner && isOfNames(inner)) {
                walk(place, inner, depth + 1);
            } else {
                add(place, value);
            }
        });
    }

    /// A module of PyTorch is written as what its `state_dict()` has. One that is in several places in others makes
    /// very many names of a small file.
    private Map<?, ?> tensorsOf(Map<?, ?> map, String path) {
        if (!(map instanceof TypedMap module && PythonObjects.isModule(module))) {
            return map;
        }
        TypedMap dict = PythonObjects.stateDict(module);
        inModules += dict.size();
        if (inModules > MOST_IN_MODULES) {
            throw new IllegalArgumentException(path + ": the modules have more than " + MOST_IN_MODULES
                    + " tensors, each counted at all of its places");
        }
        return dict;
    }

    /// {@return whether the keys of a map are parts of names, and not those of a sparse tensor for instance}
    private static boolean isOfNames(Map<?, ?> map) {
        return !(map instanceof TypedMap typed) || isPlain(typed) || PythonObjects.isModule(typed);
    }

    private static void checkKey(@Nullable Object key, String path) {
        if (!(key instanceof String || key instanceof Long || key instanceof Integer)) {
            throw new IllegalArgumentException((path.isEmpty() ? "" : path + ": ")
                    + "the key " + key + " is neither text nor a whole number; only such keys make names of tensors");
        }
    }

    private void add(String path, @Nullable Object value) {
        Tensor found = tensorIn(value);
        Object held;
        if (found != null) {
            // These files do not record which tensors require gradients.
            Tensor tensor = withGrad(found, false);
            checkBytes(path, tensor);
            held = tensor;
        } else if (value != null && isOther.test(value)) {
            held = value;
        } else {
            throw refused(path, value);
        }
        String name = StateIndex.rawName(path);
        Utf8.bytes(path, name);
        checkLength(path, name);
        String other = paths.putIfAbsent(name, path);
        if (other != null) {
            throw new IllegalArgumentException(path + ": its name in a file of the format " + format + " would be "
                    + FormatException.quote(name) + ", which is that of " + FormatException.quote(other)
                    + "; use other keys");
        }
        values.put(name, held);
    }

    /// When the file is opened the name is one key, in which slashes are escaped.
    private static void checkLength(String path, String name) {
        if (3L * name.length() > StateIndex.MAX_NAME
                && StateIndex.escape(name).getBytes(UTF_8).length > StateIndex.MAX_NAME) {
            throw new IllegalArgumentException(FormatException.quote(path) + ": the name of the tensor is longer than "
                    + StateIndex.MAX_NAME + " bytes when it is opened again; use shorter keys");
        }
    }

    private IllegalArgumentException refused(String path, @Nullable Object value) {
        return new UnsavableValueException(path, (path.isEmpty() ? "the state" : path) + " is "
                + (value instanceof Tensor ? "a tensor without a name" : StateValues.describe(value)) + "; "
                + format + " holds tensors by name and nothing else; " + remedy(path, value), null);
    }

    private static String remedy(String path, @Nullable Object value) {
        if (path.isEmpty() && value instanceof Tensor) {
            return "put it into a map by a name, for instance 'weight', or save a .npy, .croft or .pt file";
        }
        // Files of PyTorch hold no objects of Java either.
        return (path.isEmpty() ? "put the tensors into a map by names" : "leave it out") + ", or save a "
                + (JavaNode.className(value) == null ? ".croft or .pt" : ".croft") + " file";
    }
}
