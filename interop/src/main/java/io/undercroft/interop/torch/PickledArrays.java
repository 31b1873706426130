package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.numpy.ArrayBytes;
import io.undercroft.interop.internal.numpy.ArrayLayout;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.ArrayNodes.Allowance;
import io.undercroft.interop.internal.numpy.NumpyText;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Makes the values of NumPy's functions in pickles: types, arrays and scalars.
///
/// An array becomes what it is in a file of NumPy: a tensor, or a node for texts, dates and records. One whose parts do
/// not fit together is a placeholder, as the pickle continues behind it. Made for one pickle and one thread.
final class PickledArrays {
    static final String ARRAY = "numpy.ndarray";
    static final String DTYPE = "numpy.dtype";
    static final String RECONSTRUCT = "._reconstruct";
    static final String SCALAR = ".scalar";
    static final String FROM_BUFFER = "._frombuffer";
    static final String MASKED = "numpy.ma.core._mareconstruct";
    /// The bytes that joblib writes before the elements of an array, between the opcodes of the pickle.
    static final String WRAPPER = "joblib.numpy_pickle.NumpyArrayWrapper";
    private static final String WRAPPER_TYPE = PythonObjects.TYPE + WRAPPER;
    /// Where NumPy has them: version 2, and version 1, whose names files of both have; and the module in C, which few
    /// files name.
    static final List<String> MULTIARRAY = List.of("numpy._core.multiarray", "numpy.core.multiarray",
            "numpy.core._multiarray_umath", "numpy._core._multiarray_umath");
    static final List<String> NUMERIC = List.of("numpy._core.numeric", "numpy.core.numeric");

    private final PickleInput input;
    private final ForeignNames names;
    private final ReadBudget budget;
    private final Allowance allowance;
    /// The types by their nodes.
    private final IdentityHashMap<Typed, PickledType> types = new IdentityHashMap<>();
    /// The elements of arrays by the object that has them.
    private final IdentityHashMap<@Nullable Object, ArrayBytes> elements = new IdentityHashMap<>();

    /// @param input the pickle
    /// @param names counts the classes of arrays that are not in the table
    /// @param budget what running the pickle may cost
    PickledArrays(PickleInput input, ForeignNames names, ReadBudget budget) {
        this.input = input;
        this.names = names;
        this.budget = budget;
        this.allowance = new Allowance(budget);
    }

    // ---- types ----

    /// `numpy.dtype(code[, align, copy])`
    Typed type(CallArguments arguments) {
        arguments.requireSize(1, 3);
        PickledType type = PickledType.of(arguments.get(0));
        if (type == null) {
            throw arguments.wrong(0, "the code of a dtype");
        }
        budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.TENSOR);
        Typed node = new Typed(DTYPE, type.descr());
        types.put(node, type);
        return node;
    }

    /// {@return whether a value is a type that the pickle has made}
    boolean isType(@Nullable Object value) {
        return typeOf(value) != null;
    }

    /// Sets the state of a type.
    ///
    /// @param node the node of a type that the pickle has made
    void setState(Typed node, @Nullable Object state) {
        PickledType type = typeOf(node);
        if (type != null) {
            type.setState(state, this::typeOf);
            budget.takeSteps(type.cost());
            budget.takeText(type.cost());
            node.value(type.descr());
        }
    }

    private @Nullable PickledType typeOf(@Nullable Object value) {
        return value instanceof Typed node ? types.get(node) : null;
    }

    // ---- arrays ----

    /// Sets the state of an array: `([version, ]shape, dtype, is_fortran, data)`; of a masked one, its mask and what it
    /// is filled with follow.
    ///
    /// @param blank the array
    /// @param state what BUILD has
    /// @return the array
    Object build(UnbuiltObject.OfNumpy blank, @Nullable Object state, Containers containers) {
        boolean isMasked = blank.function.equals(MASKED);
        int more = isMasked ? 2 : 0;
        if (!(state instanceof Tuple values && (values.size() == 4 + more || values.size() == 5 + more))) {
            throw PickleFault
                    .malformed("the state of an array is a tuple of 5 values, not " + CallArguments.describe(state));
        }
        int first = values.size() - more - 4;
        PickledType type = typeOf(values.get(first + 1));
        if (type == null) {
            return inert(blank, values, values.get(first + 1));
        }
        CallArguments parts = new CallArguments("numpy.ndarray.__setstate__", values, containers);
        boolean isFortran = isTrue(parts, first + 2);
        long[] sizes = parts.integers(first);
        Object data = values.get(first + 3);
        Object array = type.hasObjects()
                ? objects(blank, type, sizes, isFortran, data)
                : array(type, () -> ArrayLayout.of(type.elements(), Shape.of(sizes), isFortran), data);
        if (blank.type.name().equals(ARRAY)) {
            return array;
        }
        TypedMap object = InertObject.of(blank.type, names, budget);
        InertObject.set(object, InertObject.ARRAY, array, budget);
        if (isMasked) {
            NumpyType truth = NumpyType.of(DType.BOOL).orElseThrow();
            InertObject.set(object, InertObject.MASK, array(type,
                    () -> ArrayLayout.of(truth, Shape.of(sizes), isFortran), values.get(first + 4)), budget);
            InertObject.set(object, InertObject.FILL_VALUE, value(values.get(first + 5)), budget);
        }
        return object;
    }

    /// An array of a type of another library.
    private Object inert(UnbuiltObject.OfNumpy blank, Tuple state, @Nullable Object type) {
        if (names.isStrict() || !PythonObjects.is(type)) {
            throw PickleFault.malformed("the elements of an array are to be of a dtype, not of "
                    + CallArguments.describe(type));
        }
        budget.takeMemory(ReadBudget.CONTAINER + state.size() * ReadBudget.SLOT);
        TypedMap object = InertObject.of(new Symbol(blank.function), names, budget);
        InertObject.set(object, InertObject.ARGUMENTS, blank.arguments, budget);
        InertObject.set(object, InertObject.STATE, new Tuple(state.stream().map(this::value).toList()), budget);
        return object;
    }

    private @Nullable Object value(@Nullable Object value) {
        return value instanceof ByteString run ? run.value(budget) : value;
    }

    private static boolean isTrue(CallArguments arguments, int index) {
        return arguments.get(index) instanceof Boolean flag ? flag : arguments.integer(index) != 0;
    }

    /// `_frombuffer(buffer, dtype, shape, order[, axes])`
    Object fromBuffer(CallArguments arguments) {
        arguments.requireSize(4, 5);
        PickledType type = requireType(arguments, 1);
        long[] sizes = arguments.integers(2);
        String order = arguments.string(3);
        if (type.hasObjects() || (!order.equals("C") && !order.equals("F") && !order.equals("K"))) {
            throw arguments.wrong(3, "C, F or K");
        }
        long[] axes = order.equals("K") ? arguments.integers(4) : new long[0];
        return array(type, () -> order.equals("K")
                ? ArrayLayout.transposed(type.elements(), Shape.of(sizes), axes)
                : ArrayLayout.of(type.elements(), Shape.of(sizes), order.equals("F")), arguments.get(0));
    }

    private PickledType requireType(CallArguments arguments, int index) {
        PickledType type = typeOf(arguments.get(index));
        if (type == null) {
            throw arguments.wrong(index, "a dtype");
        }
        return type;
    }

    private Object array(PickledType type, Supplier<ArrayLayout> described, @Nullable Object data) {
        try {
            ArrayLayout layout = described.get();
            long nbytes = length(data);
            if (layout.nbytes() != nbytes) {
                throw unfit("an array of shape " + layout.shape() + " and type " + type.descr() + " takes "
                        + layout.nbytes() + " bytes, and there are " + nbytes);
            }
            layout.stride();
            budget.takeText(type.cost());
            return new ArrayNodes(layout, elements(data), _ -> true, allowance).node("");
        } catch (ArithmeticException | IllegalArgumentException e) {
            return unreadable(unfit("an array cannot be: " + e.getMessage()));
        } catch (FormatException e) {
            if (e.code().startsWith("NPY")) {
                return unreadable(e);
            }
            throw e;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static FormatException unfit(String what) {
        return new FormatException("NPY-SIZE", what, FormatException.NO_OFFSET, PickleFault.DAMAGED);
    }

    private Tensor unreadable(FormatException why) {
        budget.takeMemory(ReadBudget.UNREADABLE);
        return Unreadable.tensor(why.withFile(input.name()));
    }

    /// The elements of an array of objects are a list, in row-major order also if the array is in another one.
    private Object objects(UnbuiltObject.OfNumpy blank, PickledType type, long[] sizes, boolean isFortran,
            @Nullable Object data) {
        if (!(data instanceof List<?>)) {
            throw PickleFault.malformed("the elements of an array of objects are a list, not "
                    + CallArguments.describe(value(data)));
        }
        @SuppressWarnings("unchecked")
        List<@Nullable Object> list = (List<@Nullable Object>) data;
        Shape shape = TensorRebuilder.shape(sizes);
        if (shape.numel() != list.size()) {
            return unreadable(unfit("an array of shape " + shape + " has " + list.size() + " objects"));
        }
        budget.takeMemory(2 * ReadBudget.CONTAINER);
        budget.takeSteps(list.size());
        Typed node = new Typed(Kind.OBJECT.type(), list);
        node.attributes().put(ArrayNodes.SHAPE, shape);
        if (isFortran) {
            node.attributes().put(ArrayNodes.FORTRAN, true);
        }
        if (type.elements().kind() == Kind.RECORD) {
            node.attributes().put(ArrayNodes.DTYPE, type.descr());
        }
        if (!(list instanceof Tuple)) {
            list.replaceAll(element -> element == blank ? node : element);
        }
        return node;
    }

    // ---- joblib ----

    /// `NumpyArrayWrapper()`, whose state describes an array.
    static TypedMap wrapper(CallArguments arguments) {
        arguments.requireSize(0, 0);
        return new TypedMap(WRAPPER_TYPE);
    }

    /// {@return whether the elements of an array follow an object}
    static boolean isWrapper(TypedMap object) {
        return object.type().equals(WRAPPER_TYPE);
    }

    /// Reads the array whose elements are next in the pickle: a number of bytes and that many bytes for alignment, if
    /// the wrapper says so, and the elements. Of an array of objects a pickle is next.
    @Nullable
    Object wrapped(TypedMap wrapper, Containers containers) {
        PickledType type = typeOf(wrapper.get("dtype"));
        if (type == null || !(wrapper.get("shape") instanceof Tuple shape)) {
            throw PickleFault.malformed("an array of joblib without a dtype and a shape");
        }
        try {
            if (type.hasObjects()) {
                return new Unpickler(input.nested(), Unpickler.References.NONE, names, budget).run();
            }
            ArrayLayout layout = ArrayLayout.of(type.elements(),
                    new CallArguments(WRAPPER, Tuple.of(shape), containers).shape(0), "F".equals(wrapper.get("order")));
            if (wrapper.get("numpy_array_alignment_bytes") != null) {
                input.in().skip(input.in().u8());
            }
            long nbytes = layout.nbytes();
            input.in().require(nbytes);
            ByteString run = new ByteString(input, input.in().position(), nbytes, ByteString.Kind.BYTES);
            input.in().skip(nbytes);
            return array(type, () -> layout, run);
        } catch (ArithmeticException e) {
            throw PickleFault.malformed("an array of joblib cannot be: " + e.getMessage());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // ---- scalars ----

    /// `scalar(dtype, data)`
    @Nullable
    Object scalar(CallArguments arguments) {
        arguments.requireSize(2, 2);
        PickledType type = requireType(arguments, 0);
        if (type.hasObjects()) {
            return value(arguments.get(1));
        }
        try {
            NumpyType elements = type.elements();
            boolean isNumber = elements.kind() == Kind.NUMBER && elements.dtype().kind() != DType.Kind.BITS
                    && NumpyType.of(elements.dtype()).isPresent();
            if (length(arguments.get(1)) == elements.itemsize() && (isNumber || elements.kind().isText())) {
                byte[] bytes = bytes(arguments.get(1));
                return isNumber ? number(elements, bytes) : text(elements, bytes);
            }
        } catch (FormatException _) {
            // The array says why its type is not supported.
        }
        return array(type, () -> ArrayLayout.of(type.elements(), Shape.SCALAR, false), arguments.get(1));
    }

    private static Object number(NumpyType type, byte[] bytes) {
        Storage element = Storage.copyOf(bytes);
        if (!type.isNative()) {
            element.byteswap(type.dtype());
        }
        Object number = new TypedStorage(element, type.dtype()).get(0);
        return number instanceof BigInteger big && big.bitLength() < Long.SIZE ? (Object) big.longValue() : number;
    }

    private static Object text(NumpyType type, byte[] bytes) {
        if (type.kind() == Kind.BYTES) {
            return bytes;
        }
        int[] codes = new int[bytes.length / Integer.BYTES];
        ByteBuffer.wrap(bytes).order(type.order()).asIntBuffer().get(codes);
        return NumpyText.decodeReplacing(type.kind(), codes);
    }

    // ---- bytes ----

    private static long length(@Nullable Object data) {
        return switch (data) {
            case ByteString run -> run.length();
            // The bytes of a text are looked at once.
            case String text -> text.length();
            case null, default -> held(data).length;
        };
    }

    /// Arrays whose elements are one object in the pickle are on one storage, as in Python.
    private ArrayBytes elements(@Nullable Object data) throws IOException {
        ArrayBytes known = elements.get(data);
        if (known == null) {
            budget.takeMemory(ReadBudget.CONTAINER + ReadBudget.ENTRY);
            known = data instanceof ByteString run ? input.elements(run) : elements(held(data));
            elements.put(data, known);
        }
        return known;
    }

    private ArrayBytes elements(byte[] bytes) {
        budget.takeMemory(bytes.length);
        return input.elements(bytes);
    }

    private byte[] bytes(@Nullable Object data) {
        return data instanceof ByteString run ? run.bytes(budget) : held(data);
    }

    /// Python 3 reads strings of Python 2 as Latin-1 text.
    private static byte[] held(@Nullable Object data) {
        return switch (data) {
            case byte[] bytes -> bytes;
            case Typed typed when typed.type().equals(Globals.BYTEARRAY) && typed.value() instanceof byte[] bytes ->
                bytes;
            case String text when ISO_8859_1.newEncoder().canEncode(text) -> text.getBytes(ISO_8859_1);
            case null, default -> throw PickleFault.malformed("the elements of an array are bytes, not "
                    + CallArguments.describe(data));
        };
    }
}
