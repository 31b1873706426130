package io.undercroft.serializer.analysis;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.Arrays;

/// How far the numbers of two tensors of one shape are apart. Two NaNs are equal here, and 0.0 equals -0.0; integers
/// are compared exactly, quantized elements by the integers that are stored, and complex numbers by the absolute value
/// of their difference. For use by one thread.
public final class ElementDifferences {
    private final long elements;
    private long differing;
    private long notFinite;
    private double max;
    private double sum;

    /// Without differences yet.
    ///
    /// @param elements the number of elements of each tensor
    ElementDifferences(long elements) {
        this.elements = elements;
    }

    /// {@return the number of elements of each tensor}
    public long elements() {
        return elements;
    }

    /// {@return how many elements differ}
    public long differing() {
        return differing;
    }

    /// {@return how many of them have no finite difference, as one of the two numbers is NaN or infinite}
    public long notFinite() {
        return notFinite;
    }

    /// {@return the largest finite absolute difference}
    public double max() {
        return max;
    }

    /// {@return the mean of the absolute differences of all elements but those without a finite one}
    public double mean() {
        return elements == notFinite ? 0 : sum / (elements - notFinite);
    }

    /// Adds the same part of both tensors.
    ///
    /// @throws UnsupportedOperationException if a dtype has no numbers
    void add(Tensor a, Tensor b) {
        if (isInteger(a.dtype()) && isInteger(b.dtype())) {
            addIntegers(a.toLongArray(), b.toLongArray());
        } else if (a.dtype().equals(DType.UINT64) && b.dtype().equals(DType.UINT64)) {
            addIntegers(withSign(a), withSign(b));
        } else if (a.dtype().kind() == DType.Kind.COMPLEX || b.dtype().kind() == DType.Kind.COMPLEX) {
            addComplex(a, b);
        } else {
            addReals(a.toDoubleArray(), b.toDoubleArray());
        }
    }

    private static boolean isInteger(DType dtype) {
        return switch (dtype.kind()) {
            case SIGNED, BOOLEAN -> true;
            case UNSIGNED -> dtype.bits() < Long.SIZE;
            case FLOATING, COMPLEX, QUANTIZED, BITS -> false;
        };
    }

    /// Subtracts 2^63, which changes neither the order of two numbers nor their difference.
    private static long[] withSign(Tensor tensor) {
        long[] values = tensor.contiguous().view(DType.INT64).toLongArray();
        Arrays.setAll(values, i -> values[i] ^ Long.MIN_VALUE);
        return values;
    }

    private void addIntegers(long[] left, long... right) {
        for (int i = 0; i < left.length; i++) {
            if (left[i] != right[i]) {
                // The difference may have 64 bits.
                add(unsigned(left[i] > right[i] ? left[i] - right[i] : right[i] - left[i]));
            }
        }
    }

    private static double unsigned(long value) {
        return value >= 0 ? value : (value >>> 1) * 2.0;
    }

    private void addComplex(Tensor a, Tensor b) {
        double[] left = a.to(DType.COMPLEX128).resolveConj().viewAsReal().toDoubleArray();
        double[] right = b.to(DType.COMPLEX128).resolveConj().viewAsReal().toDoubleArray();
        for (int i = 0; i < left.length; i += 2) {
            if (!isSame(left[i], right[i]) || !isSame(left[i + 1], right[i + 1])) {
                add(Math.hypot(left[i] - right[i], left[i + 1] - right[i + 1]));
            }
        }
    }

    private void addReals(double[] left, double... right) {
        for (int i = 0; i < left.length; i++) {
            if (!isSame(left[i], right[i])) {
                add(Math.abs(left[i] - right[i]));
            }
        }
    }

    private static boolean isSame(double left, double right) {
        return left == right || (Double.isNaN(left) && Double.isNaN(right));
    }

    private void add(double difference) {
        differing++;
        if (Double.isFinite(difference)) {
            max = Math.max(max, difference);
            sum += difference;
        } else {
            notFinite++;
        }
    }
}
