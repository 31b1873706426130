package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.FieldPlace;
import io.undercroft.interop.internal.numpy.NumpyText;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The elements of an array that is written, as numbers.
///
/// @param type their type
/// @param tensor the numbers; of texts, those of a text are in the last dimension
record Elements(NumpyType type, Tensor tensor) {
    /// The most bytes that texts in a state take as an array.
    private static final long MOST_TEXT = 1L << 30;

    /// {@return the shape of the array}
    Shape shape() {
        return Shape.of(Arrays.copyOf(tensor.shape().toArray(), tensor.dim() - inner()));
    }

    /// {@return how many dimensions of the tensor are within an element}
    int inner() {
        return type.inner().rank();
    }

    /// {@return the elements of a value of a state}
    ///
    /// @param path where it is, for messages
    /// @param value a tensor, or the node of texts or times
    /// @throws IllegalArgumentException if NumPy has no such elements, or the node is not as those that are read
    static Elements of(String path, @Nullable Object value) {
        if (value instanceof Tensor tensor) {
            return new Elements(type(path, tensor.dtype()), tensor);
        }
        Kind kind = value instanceof Typed typed ? Kind.of(typed.type()) : null;
        if (!(value instanceof Typed typed) || kind == null || kind == Kind.RECORD || kind == Kind.OBJECT) {
            throw new IllegalArgumentException(path + " is neither a tensor nor an array of NumPy");
        }
        if (kind == Kind.VOID) {
            return ofBytes(path, typed);
        }
        return kind.isText() ? ofTexts(path, kind, typed) : ofTimes(path, kind, typed);
    }

    private static Elements ofBytes(String path, Typed node) {
        if (!(node.value() instanceof Tensor tensor) || !tensor.dtype().equals(DType.UINT8) || tensor.dim() == 0) {
            throw new IllegalArgumentException(path + ": a " + Kind.VOID.type()
                    + " is a tensor of uint8 whose last dimension is an element");
        }
        return new Elements(NumpyType.ofVoid(tensor.size(-1)), tensor);
    }

    /// {@return the type of an array of numbers}
    ///
    /// @param path where it is, for messages
    /// @param dtype the type of the numbers
    /// @throws IllegalArgumentException if NumPy has no such elements
    static NumpyType type(String path, DType dtype) {
        return NumpyType.of(dtype).orElseThrow(() -> new IllegalArgumentException(path
                + ": NumPy has no elements of type " + dtype + "; " + TensorBytes.remedy(dtype)));
    }

    private static Elements ofTimes(String path, Kind kind, Typed times) {
        Object unit = times.attributes().getOrDefault(ArrayNodes.UNIT, NumpyType.GENERIC);
        NumpyType type = NumpyType.ofTimes(kind, String.valueOf(unit)).orElseThrow(
                () -> new IllegalArgumentException(path + ": NumPy has no unit of time " + unit + "; one is ns"));
        if (!(times.value() instanceof Tensor tensor) || !tensor.dtype().equals(type.dtype())) {
            throw new IllegalArgumentException(path + ": a " + kind.type() + " is a tensor of int64");
        }
        return new Elements(type, tensor);
    }

    private static Elements ofTexts(String path, Kind kind, Typed node) {
        TextArray array;
        try {
            array = TextArray.of(node).orElseThrow();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
        }
        if (node.value() instanceof Tensor tensor) {
            return new Elements(NumpyType.ofTexts(kind, tensor.size(-1)), tensor);
        }
        List<int[]> codes = array.toList().stream().map(text -> NumpyText.encode(kind, text).orElseThrow(
                () -> new IllegalArgumentException(path + ": NumPy has no text with half a surrogate pair, nor one that"
                        + " ends with zeros")))
                .toList();
        long longest = codes.stream().mapToInt(each -> each.length).max().orElse(0);
        long length = node.attributes().get(ArrayNodes.LENGTH) instanceof Number given ? given.longValue() : longest;
        if (length < longest) {
            throw new IllegalArgumentException(
                    path + ": a text has " + longest + " characters or bytes, more than the attribute length says");
        }
        Tensor tensor = tensor(path, NumpyType.ofTexts(kind, length), array.shape(), codes);
        boolean isFortran = Boolean.TRUE.equals(node.attributes().get(ArrayNodes.FORTRAN));
        return new Elements(NumpyType.ofTexts(kind, length), isFortran
                ? NpyHeader.reversed(NpyHeader.reversed(tensor, 1).contiguous(), 1)
                : tensor);
    }

    private static Tensor tensor(String path, NumpyType type, Shape shape, List<int[]> codes) {
        int width = type.dtype().itemsize();
        if (!codes.isEmpty() && type.length() > MOST_TEXT / width / codes.size()) {
            throw new IllegalArgumentException(path + ": " + codes.size() + " texts of " + type.length()
                    + " characters or bytes take more than " + MOST_TEXT + " bytes; use a tensor of their characters");
        }
        long step = type.length() * width;
        Storage storage = Storage.allocate(codes.size() * step);
        MemorySegment bytes = storage.segment();
        for (int i = 0; i < codes.size(); i++) {
            int[] text = codes.get(i);
            for (int k = 0; k < text.length; k++) {
                if (width == 1) {
                    bytes.set(ValueLayout.JAVA_BYTE, i * step + k, (byte) text[k]);
                } else {
                    bytes.set(ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.nativeOrder()), i * step + k * 4L,
                            text[k]);
                }
            }
        }
        return Tensor.of(storage, type.dtype(), 0,
                Shape.of(FieldPlace.concat(shape.toArray(), new long[]{type.length()})));
    }
}
