package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.numpy.NumpyType.Kind;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The texts of an array of NumPy, from the node that a state has for it.
///
/// The node is a [Typed] of the type `numpy.str_`, or `numpy.bytes_` for bytes, with the attribute `length`: the
/// characters or bytes of the longest text. Small arrays hold the texts themselves: one `String`, or a list of them in
/// row-major order and the attribute `shape`. Large ones, and those with bytes that are no text, hold a tensor, whose
/// last dimension has the characters (uint32) or bytes (uint8) of a text, and zeros behind them. Here both read the
/// same.
public final class TextArray {
    static final String LENGTH = "length";
    static final String SHAPE = "shape";

    private final Kind kind;
    private final Shape shape;
    private final Object values;

    private TextArray(Kind kind, Shape shape, Object values) {
        this.kind = kind;
        this.shape = shape;
        this.values = values;
    }

    /// {@return the texts of a node, or nothing if it is no array of texts}
    ///
    /// @param node a value of a state
    /// @throws IllegalArgumentException if the parts of the node are missing, of the wrong types, or do not fit
    ///     together
    public static Optional<TextArray> of(@Nullable Object node) {
        if (!(node instanceof Typed typed)) {
            return Optional.empty();
        }
        Kind kind = Kind.of(typed.type());
        if (kind == null || !kind.isText()) {
            return Optional.empty();
        }
        return Optional.of(switch (typed.value()) {
            case String text -> new TextArray(kind, Shape.SCALAR, List.of(text));
            case List<?> texts -> ofList(kind, typed, texts);
            case Tensor tensor -> ofTensor(kind, tensor);
            case null, default ->
                throw new IllegalArgumentException("a " + typed.type() + " is texts or a tensor, not " + typed.value());
        });
    }

    private static TextArray ofList(Kind kind, Typed typed, List<?> texts) {
        Shape shape = typed.attributes().get(SHAPE) instanceof Shape given ? given : Shape.of(texts.size());
        if (shape.numel() != texts.size() || !texts.stream().allMatch(String.class::isInstance)) {
            throw new IllegalArgumentException("a " + typed.type() + " of shape " + shape + " has " + texts.size()
                    + " values, or some that are no texts");
        }
        return new TextArray(kind, shape, texts);
    }

    private static TextArray ofTensor(Kind kind, Tensor tensor) {
        DType dtype = NumpyType.ofTexts(kind, 0).dtype();
        if (tensor.dim() == 0 || !tensor.dtype().equals(dtype)) {
            throw new IllegalArgumentException("a " + kind.type() + " is a tensor of " + dtype
                    + " with a dimension for the text, not one of " + tensor.dtype() + " " + tensor.shape());
        }
        return new TextArray(kind, Shape.of(Arrays.copyOf(tensor.shape().toArray(), tensor.dim() - 1)), tensor);
    }

    /// {@return the shape of the array of texts}
    public Shape shape() {
        return shape;
    }

    /// {@return one text} Bytes are decoded as UTF-8; those that are not, and what is no character, become the
    /// replacement character.
    ///
    /// @param index its index in each dimension
    /// @throws IndexOutOfBoundsException if there is no such index
    public String get(long... index) {
        if (index.length != shape.rank()) {
            throw new IndexOutOfBoundsException("an index of " + index.length + " dimensions in " + shape);
        }
        if (values instanceof Tensor tensor) {
            Tensor text = tensor;
            for (long each : index) {
                text = text.select(0, each);
            }
            return text(text);
        }
        long position = 0;
        for (int dim = 0; dim < index.length; dim++) {
            position = position * shape.size(dim) + Objects.checkIndex(index[dim], shape.size(dim));
        }
        return (String) ((List<?>) values).get(Math.toIntExact(position));
    }

    /// {@return all texts in row-major order}
    public List<String> toList() {
        if (values instanceof List<?> list) {
            return list.stream().map(String.class::cast).toList();
        }
        Tensor tensor = (Tensor) values;
        Tensor flat = tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor.flatten(0, -2);
        List<String> texts = new ArrayList<>();
        for (long i = 0; i < flat.size(0); i++) {
            texts.add(text(flat.select(0, i)));
        }
        return texts;
    }

    private String text(Tensor characters) {
        int[] codes = characters.toIntArray();
        return decode(kind, codes)
                .orElseGet(() -> kind == Kind.TEXT ? replaced(codes) : new String(bytes(codes), UTF_8));
    }

    /// {@return the text of some characters or bytes, unless they are none}
    ///
    /// @param kind which of both
    /// @param codes the characters or bytes, with zeros behind them
    static Optional<String> decode(Kind kind, int[] codes) {
        int[] used = Arrays.copyOf(codes, length(codes));
        if (kind == Kind.BYTES) {
            return Utf8.decode(bytes(used));
        }
        return Arrays.stream(used).allMatch(TextArray::isCharacter)
                ? Optional.of(new String(used, 0, used.length))
                : Optional.empty();
    }

    /// {@return the characters or bytes of a text, unless it has half a surrogate pair, or zeros at its end, which
    /// would be lost}
    ///
    /// @param kind which of both
    /// @param text the text
    static Optional<int[]> encode(Kind kind, String text) {
        int[] codes = kind == Kind.TEXT
                ? text.codePoints().toArray()
                : codes(text.getBytes(UTF_8));
        return decode(kind, codes).filter(text::equals).map(_ -> codes);
    }

    private static int length(int[] codes) {
        int length = codes.length;
        while (length > 0 && codes[length - 1] == 0) {
            length--;
        }
        return length;
    }

    private static boolean isCharacter(int code) {
        return Character.isValidCodePoint(code) && (code < Character.MIN_SURROGATE || code > Character.MAX_SURROGATE);
    }

    private static String replaced(int[] codes) {
        int[] known = Arrays.stream(codes).limit(length(codes)).map(code -> isCharacter(code) ? code : '\uFFFD')
                .toArray();
        return new String(known, 0, known.length);
    }

    private static byte[] bytes(int[] codes) {
        byte[] bytes = new byte[length(codes)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) codes[i];
        }
        return bytes;
    }

    private static int[] codes(byte[] bytes) {
        int[] codes = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            codes[i] = Byte.toUnsignedInt(bytes[i]);
        }
        return codes;
    }
}
