package io.undercroft.storage;

import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor.NaNs;
import io.undercroft.storage.internal.Elements;
import io.undercroft.storage.internal.Layouts;
import io.undercroft.storage.internal.support.Faults;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;
import java.util.function.LongPredicate;

/// Two tensors of one dtype and shape, compared element by element.
///
/// Both are brought to one run of bytes first, so that a position is the same element in both.
final class Comparison {
    private final Tensor a;
    private final Tensor b;
    private final ElementType type;
    private final Elements elements;
    private final MemorySegment left;
    private final MemorySegment right;

    private Comparison(Tensor a, Tensor b) {
        this.a = a.contiguous();
        this.b = b.contiguous();
        this.type = this.a.type;
        this.elements = type.elements;
        this.left = this.a.bytes();
        this.right = this.b.bytes();
    }

    static boolean sameBits(Tensor a, Tensor b) {
        Tensor left = wholeBytes(a);
        Tensor right = wholeBytes(b);
        return BulkAccess.ask(left.storage, right.storage, () -> Faults.haveSameBytes(left.bytes(), right.bytes()));
    }

    static boolean allEqual(Tensor a, Tensor b) {
        DType dtype = Promotion.common(a, b);
        Comparison comparison = new Comparison(a.to(dtype), b.to(dtype));
        return comparison.all(comparison.equality());
    }

    static Tensor eachEqual(Tensor a, Tensor b) {
        DType dtype = Promotion.common(a, b);
        return each(a.to(dtype), b.to(dtype), Comparison::equality);
    }

    static boolean allClose(Tensor a, Tensor b, Tolerance tolerance) {
        checkSameDType(a, b);
        long[] sizes = commonSizes(a, b);
        Comparison comparison = new Comparison(a.expand(sizes), b.expand(sizes));
        return comparison.all(comparison.closeness(tolerance));
    }

    static Tensor eachClose(Tensor a, Tensor b, Tolerance tolerance) {
        checkSameDType(a, b);
        return each(a, b, comparison -> comparison.closeness(tolerance));
    }

    private boolean all(LongPredicate test) {
        return BulkAccess.ask(a.storage, b.storage, () -> {
            for (long i = 0; i < a.numel(); i++) {
                if (!test.test(i)) {
                    return false;
                }
            }
            return true;
        });
    }

    private static Tensor each(Tensor a, Tensor b, Function<Comparison, LongPredicate> kind) {
        long[] sizes = commonSizes(a, b);
        if (a.device().isMeta() && b.device().isMeta()) {
            return Tensor.meta(DType.BOOL, sizes);
        }
        Comparison comparison = new Comparison(a.expand(sizes), b.expand(sizes));
        LongPredicate test = kind.apply(comparison);
        Tensor answer = Tensor.zeros(DType.BOOL, sizes);
        MemorySegment answers = answer.bytes();
        comparison.all(i -> {
            answers.set(Layouts.BYTE, i, (byte) (test.test(i) ? 1 : 0));
            return true;
        });
        return answer;
    }

    private LongPredicate equality() {
        return switch (type.dtype.kind()) {
            case FLOATING, BITS -> i -> elements.getDouble(left, i) == elements.getDouble(right, i);
            case COMPLEX -> i -> elements.getDouble(left, i) == elements.getDouble(right, i)
                    && elements.getImaginary(left, i) == elements.getImaginary(right, i);
            case SIGNED, UNSIGNED, BOOLEAN, QUANTIZED -> i -> elements.getLong(left, i) == elements.getLong(right, i);
        };
    }

    private LongPredicate closeness(Tolerance tolerance) {
        LongPredicate equal = equality();
        LongPredicate same = tolerance.nans() == NaNs.EQUAL ? equal.or(i -> isNaN(left, i) && isNaN(right, i)) : equal;
        return tolerance.isExact() ? same : same.or(within(tolerance));
    }

    /// PyTorch's formula, with its roundings: each operation gives a number of the dtype.
    private LongPredicate within(Tolerance tolerance) {
        DoubleUnaryOperator round = rounding();
        boolean wide = type.dtype.equals(DType.FLOAT64) || type.dtype.equals(DType.COMPLEX128);
        double rtol = wide ? tolerance.rtol() : (float) tolerance.rtol();
        double atol = wide ? tolerance.atol() : (float) tolerance.atol();
        return i -> {
            double real = number(right, i, round);
            double imaginary = elements.getImaginary(right, i);
            double error = abs(round.applyAsDouble(number(left, i, round) - real),
                    round.applyAsDouble(elements.getImaginary(left, i) - imaginary), round);
            double scaled = abs(round.applyAsDouble(rtol * real), round.applyAsDouble(rtol * imaginary), round);
            return Double.isFinite(error) && error <= round.applyAsDouble(atol + scaled);
        };
    }

    private double number(MemorySegment bytes, long i, DoubleUnaryOperator round) {
        return round.applyAsDouble(elements.getDouble(bytes, i));
    }

    private static double abs(double real, double imaginary, DoubleUnaryOperator round) {
        return imaginary == 0 ? Math.abs(real) : round.applyAsDouble(Math.hypot(real, imaginary));
    }

    private boolean isNaN(MemorySegment bytes, long i) {
        return Double.isNaN(elements.getDouble(bytes, i)) || Double.isNaN(elements.getImaginary(bytes, i));
    }

    /// Rounds to the numbers that PyTorch computes with: those of the dtype, or float32 for integers.
    private DoubleUnaryOperator rounding() {
        DType dtype = type.dtype;
        if (dtype.equals(DType.FLOAT64) || dtype.equals(DType.COMPLEX128)) {
            return DoubleUnaryOperator.identity();
        }
        boolean narrow = dtype.kind() == Kind.FLOATING && dtype.itemsize() < Float.BYTES;
        if (!narrow && !dtype.equals(DType.COMPLEX32)) {
            return value -> (float) value;
        }
        Elements part = Elements.of(narrow ? dtype : DType.FLOAT16);
        MemorySegment scratch = MemorySegment.ofArray(new byte[Short.BYTES]);
        return value -> {
            part.setDouble(scratch, 0, (float) value);
            return part.getDouble(scratch, 0);
        };
    }

    /// Returns a tensor with the same bits whose unused bits, if any, are 0.
    private static Tensor wholeBytes(Tensor tensor) {
        return tensor.dtype().isByteSized() ? tensor.contiguous() : tensor.copy();
    }

    private static void checkSameDType(Tensor a, Tensor b) {
        if (!a.dtype().equals(b.dtype())) {
            throw new IllegalArgumentException("elements of " + a.dtype() + " and " + b.dtype()
                    + " cannot be close; convert one with to()");
        }
    }

    /// Returns the sizes that both are expanded to: counted from the last dimension, equal, or 1 in one of them.
    private static long[] commonSizes(Tensor a, Tensor b) {
        long[] sizes = new long[Math.max(a.dim(), b.dim())];
        Arrays.fill(sizes, 1);
        for (int back = 1; back <= sizes.length; back++) {
            long first = back <= a.dim() ? a.size(-back) : 1;
            long second = back <= b.dim() ? b.size(-back) : 1;
            if (first != second && first != 1 && second != 1) {
                throw new IllegalArgumentException(
                        "the shapes " + a.shape() + " and " + b.shape() + " cannot be expanded to a common one");
            }
            sizes[sizes.length - back] = first == 1 ? second : first;
        }
        return sizes;
    }

    /// The difference up to which two numbers count as close.
    ///
    /// @param rtol relative to the second number
    /// @param atol in any case
    /// @param nans whether NaNs are close to each other
    record Tolerance(double rtol, double atol, NaNs nans) {
        /// Checks the parts.
        ///
        /// @throws IllegalArgumentException if a tolerance is negative or NaN
        Tolerance {
            if (!(rtol >= 0 && atol >= 0)) {
                throw new IllegalArgumentException("tolerances are 0 or more, not rtol " + rtol + " and atol " + atol);
            }
        }

        /// Returns whether only equal numbers are close.
        boolean isExact() {
            return rtol == 0 && atol == 0;
        }
    }
}
