package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.NumpyText;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.interop.internal.numpy.NumpyType;
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
        Shape shape = typed.attributes().get(ArrayNodes.SHAPE) instanceof Shape given ? given : Shape.of(texts.size());
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
        return NumpyText.decodeReplacing(kind, characters.toIntArray());
    }
}
