package io.undercroft.storage;

import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.FloatFormat;
import io.undercroft.storage.internal.Layouts;
import io.undercroft.storage.internal.PythonNumber;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/// Prints tensors as PyTorch does with its default options: lines of 80 characters, 4 digits, and of more than 1000
/// elements only the first and last 3 of each dimension.
///
/// Differences from PyTorch, where it prints properties that these tensors do not have, or nothing: quantized elements
/// are printed as the integers that are stored, and elements without a numeric value as hexadecimal digits, or as their
/// number of bits if that is above 8,192. A NaN among float8_e8m0fnu does not change how the numbers next to it are
/// printed; PyTorch treats it as a finite number there. A tensor whose storage was freed or has become too small is
/// printed without elements.
final class TensorPrinter {
    private static final String PREFIX = "tensor(";
    private static final int LINE_WIDTH = 80;
    private static final int SUMMARY_THRESHOLD = 1000;
    private static final int EDGE_ITEMS = 3;
    private static final long MAX_SHOWN = 100_000;

    private final Tensor tensor;
    private final DType dtype;
    private final Shape shape;
    private final boolean summarized;
    private final @Nullable String missing;

    private TensorPrinter(Tensor tensor, DType dtype) {
        this.tensor = tensor;
        this.dtype = dtype;
        this.shape = tensor.shapeAs(dtype);
        this.summarized = shape.numel() > SUMMARY_THRESHOLD;
        this.missing = missing(tensor);
    }

    /// {@return the tensor as PyTorch prints it}
    ///
    /// @param tensor the tensor to print
    /// @param dtype the dtype that the printed elements are converted to
    /// @throws UnsupportedOperationException if this is another one, and one of the two has no numbers
    static String print(Tensor tensor, DType dtype) {
        if (!dtype.equals(tensor.dtype())) {
            // The exception does not depend on the elements, of which there may be none.
            Tensor _ = Tensor.zeros(tensor.dtype(), 1).to(dtype);
        }
        return new TensorPrinter(tensor, dtype).print();
    }

    private String print() {
        StringBuilder text = new StringBuilder(PREFIX + body(PREFIX.length()));
        // PyTorch counts two characters too many here, and the line breaks should be its own.
        int column = text.length() - text.lastIndexOf("\n") + 1;
        for (String suffix : suffixes()) {
            if (column + suffix.length() + 2 > LINE_WIDTH) {
                text.append(",\n").append(" ".repeat(PREFIX.length()));
                column = PREFIX.length() + suffix.length();
            } else {
                text.append(", ");
                column += suffix.length() + 2;
            }
            text.append(suffix);
        }
        return text.append(")").toString();
    }

    private List<String> suffixes() {
        List<String> suffixes = new ArrayList<>();
        boolean unread = isUnread();
        boolean empty = tensor.numel() == 0;
        if (!tensor.device().isCpu()) {
            suffixes.add("device='" + tensor.device() + "'");
        }
        if (unread || (empty && shape.rank() != 1)) {
            suffixes.add("size=" + tuple(shape));
        }
        boolean clear = (unread || empty) ? dtype.equals(DType.FLOAT32) : speaksForItself(dtype);
        if (!clear) {
            suffixes.add("dtype=torch." + dtype);
        }
        boolean isDifferentiable = dtype.kind() == DType.Kind.FLOATING || dtype.kind() == DType.Kind.COMPLEX;
        if (tensor.is(Flag.REQUIRES_GRAD) && isDifferentiable) {
            suffixes.add("requires_grad=True");
        }
        if (missing != null) {
            suffixes.add("storage=" + missing);
        }
        return suffixes;
    }

    /// Returns the reason why there are no elements to print; null if there are.
    private static @Nullable String missing(Tensor tensor) {
        String missing = tensor.storage().missing();
        if (missing != null) {
            return missing;
        }
        long last = tensor.storageOffset();
        for (int d = 0; d < tensor.dim(); d++) {
            last += (tensor.size(d) - 1) * tensor.stride(d);
        }
        boolean fits = tensor.numel() == 0 || tensor.dtype().nbytes(last + 1) <= tensor.storage().nbytes();
        return fits ? null : "too small";
    }

    private boolean isUnread() {
        return missing != null || tensor.device().isMeta() || showsTooMuch();
    }

    /// Returns whether the shape has too many dimensions to print even the ends of all of them.
    private boolean showsTooMuch() {
        long shown = tensor.numel() == 0 ? 0 : 1;
        for (int d = 0; d < shape.rank() && shown <= MAX_SHOWN; d++) {
            shown *= summarized ? Math.min(shape.size(d), 2 * EDGE_ITEMS) : shape.size(d);
        }
        return shown > MAX_SHOWN;
    }

    /// {@return a shape as Python prints a tuple}
    ///
    /// @param shape the shape to print
    private static String tuple(Shape shape) {
        return LongStream.of(shape.toArray()).mapToObj(Long::toString)
                .collect(Collectors.joining(", ", "(", shape.rank() == 1 ? ",)" : ")"));
    }

    /// {@return whether printed elements of a dtype show which it is}
    ///
    /// @param dtype the dtype
    private static boolean speaksForItself(DType dtype) {
        return dtype.equals(DType.FLOAT32) || dtype.equals(DType.COMPLEX64) || dtype.equals(DType.INT64)
                || dtype.equals(DType.BOOL);
    }

    private String body(int indent) {
        if (isUnread()) {
            return "...";
        }
        if (tensor.numel() == 0) {
            return "[]";
        }
        Tensor readable = tensor.cpu();
        List<Tensor> shown = new ArrayList<>();
        forEachShown(readable, element -> shown.add(element.to(dtype)));
        return new Lines(Cells.of(shown)).lay(Tensor.meta(DType.UINT8, shape.toArray()), indent);
    }

    private boolean hidesMiddle(Tensor part) {
        return summarized && part.size(0) > 2 * EDGE_ITEMS;
    }

    /// Calls for every element that is printed, in row-major order, as a tensor without dimensions.
    private void forEachShown(Tensor part, Consumer<Tensor> action) {
        if (part.dim() <= 1 && part.dtype().blockSize() > 1 && !part.dtype().equals(dtype)) {
            forEachShown(part.to(dtype), action);
            return;
        }
        if (part.dim() == 0) {
            action.accept(part);
            return;
        }
        for (long i = 0; i < part.size(0); i++) {
            if (i == EDGE_ITEMS && hidesMiddle(part)) {
                i = part.size(0) - EDGE_ITEMS;
            }
            forEachShown(part.select(0, i), action);
        }
    }

    /// Puts cells between brackets and on lines. A shape has a bounded number of dimensions, which bounds the
    /// recursion.
    private final class Lines {
        private final Cells cells;
        private int next;

        Lines(Cells cells) {
            this.cells = cells;
        }

        String lay(Tensor part, int indent) {
            if (part.dim() == 0) {
                return cells.texts().get(next++);
            }
            List<String> items = new ArrayList<>();
            for (long i = 0; i < part.size(0); i++) {
                if (i == EDGE_ITEMS && hidesMiddle(part)) {
                    items.add(part.dim() == 1 ? " ..." : "...");
                    i = part.size(0) - EDGE_ITEMS;
                }
                items.add(lay(part.select(0, i), indent + 1));
            }
            String margin = " ".repeat(indent + 1);
            return part.dim() == 1
                    ? "[" + lines(items, indent, ",\n" + margin) + "]"
                    : "[" + String.join("," + "\n".repeat(part.dim() - 1) + margin, items) + "]";
        }

        private String lines(List<String> items, int indent, String separator) {
            int perLine = Math.max(1, (LINE_WIDTH - indent) / (cells.width() + 2));
            List<String> lines = new ArrayList<>();
            for (int i = 0; i < items.size(); i += perLine) {
                lines.add(String.join(", ", items.subList(i, Math.min(i + perLine, items.size()))));
            }
            return String.join(separator, lines);
        }
    }

    /// The printed elements of a tensor, padded so that they are in columns.
    ///
    /// @param texts one text for each printed element
    /// @param width the width of a column, in characters; infinities may be wider
    private record Cells(List<String> texts, int width) {
        /// Elements without a numeric value that have more bits are printed as their number.
        private static final int MOST_BITS = 8 * 1024;

        /// Returns the cells for some elements of one tensor.
        ///
        /// @param elements each as a tensor without dimensions; at least one
        static Cells of(List<Tensor> elements) {
            DType dtype = elements.getFirst().dtype();
            return switch (dtype.kind()) {
                case FLOATING -> floats(elements, Tensor::getDouble);
                case COMPLEX -> complex(elements);
                case BOOLEAN -> padded(elements.stream().map(e -> e.getBoolean() ? "True" : "False").toList());
                case UNSIGNED -> padded(elements.stream().map(e -> Long.toUnsignedString(e.getLong())).toList());
                case SIGNED, QUANTIZED -> padded(elements.stream().map(e -> Long.toString(e.getLong())).toList());
                case BITS -> dtype.equals(DType.FLOAT4_E2M1FN_X2)
                        ? floats(elements, Cells::byteValue)
                        : padded(elements.stream().map(Cells::bits).toList());
            };
        }

        /// An element of a type that other writers defined can be as large as a file.
        private static String bits(Tensor element) {
            int bits = element.dtype().bits();
            return bits > MOST_BITS ? "<" + bits + " bits>" : PythonNumber.hex(element.copy().bytes());
        }

        private static Cells floats(List<Tensor> elements, ToDoubleFunction<Tensor> value) {
            double[] values = elements.stream().mapToDouble(value).toArray();
            FloatFormat format = FloatFormat.of(values);
            return new Cells(Arrays.stream(values).mapToObj(format::text).toList(), format.width());
        }

        private static Cells complex(List<Tensor> elements) {
            FloatFormat real = FloatFormat.of(elements.stream().mapToDouble(Tensor::getDouble).toArray());
            FloatFormat imaginary = FloatFormat
                    .of(elements.stream().mapToDouble(e -> e.getComplex().imaginary()).toArray());
            List<String> texts = elements.stream().map(Tensor::getComplex)
                    .map(value -> real.text(value.real()) + signed(imaginary.text(value.imaginary()).strip()) + "j")
                    .toList();
            return new Cells(texts, real.width() + imaginary.width() + 1);
        }

        private static String signed(String number) {
            return number.startsWith("-") ? number : "+" + number;
        }

        private static Cells padded(List<String> texts) {
            int width = texts.stream().mapToInt(String::length).max().orElse(1);
            return new Cells(texts.stream().map(text -> " ".repeat(width - text.length()) + text).toList(), width);
        }

        /// PyTorch prints a pair of 4-bit floats as the number that the byte holds.
        private static double byteValue(Tensor element) {
            return Byte.toUnsignedInt(element.bytes().get(Layouts.BYTE, 0));
        }
    }
}
