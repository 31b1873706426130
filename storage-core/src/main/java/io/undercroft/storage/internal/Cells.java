package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/// The printed elements of a tensor, padded so that they are in columns.
///
/// @param texts one text for each printed element
/// @param width the width of a column, in characters; infinities may be wider
record Cells(List<String> texts, int width) {
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
        return bits > MOST_BITS ? "<" + bits + " bits>" : StoragePrinter.hex(element.copy().bytes());
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
