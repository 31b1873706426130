package io.undercroft.serializer.internal.analysis;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// The differences between the numbers of two tensors of one shape. Two NaNs are equal here, and 0.0 equals -0.0;
/// integers are compared exactly, quantized elements by the integers that are stored, and complex numbers by the
/// absolute value of their difference. For use by one thread.
public final class ElementDifferences {
    private static final ValueLayout.OfLong INTEGER = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfDouble REAL = ValueLayout.JAVA_DOUBLE_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);

    private final long elements;
    private final long times;
    private final Scratch left;
    private final Scratch right;
    private long differing;
    private long notFinite;
    private double max;
    private double sum;

    /// Without differences yet.
    ///
    /// @param elements the number of elements of each tensor
    /// @param times how often each element counts that is added
    /// @param left memory for converted elements of the first tensor
    /// @param right memory for those of the second
    ElementDifferences(long elements, long times, Scratch left, Scratch right) {
        this.elements = elements;
        this.times = times;
        this.left = left;
        this.right = right;
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

    /// Adds the same part of both tensors, each of which is one run of bytes.
    ///
    /// @throws UnsupportedOperationException if a dtype has no numbers
    void add(Tensor a, Tensor b) {
        if (isInteger(a.dtype()) && isInteger(b.dtype())) {
            addIntegers(numbers(left, a, DType.INT64), numbers(right, b, DType.INT64), 0);
        } else if (a.dtype().equals(DType.UINT64) && b.dtype().equals(DType.UINT64)) {
            // Changing the sign of both changes neither their order nor their difference.
            addIntegers(a.bytes(), b.bytes(), Long.MIN_VALUE);
        } else if (a.dtype().kind() == DType.Kind.COMPLEX || b.dtype().kind() == DType.Kind.COMPLEX) {
            addComplex(numbers(left, a, DType.COMPLEX128), numbers(right, b, DType.COMPLEX128));
        } else {
            addReals(numbers(left, a, DType.FLOAT64), numbers(right, b, DType.FLOAT64));
        }
    }

    private static MemorySegment numbers(Scratch scratch, Tensor tensor, DType dtype) {
        return tensor.dtype().equals(dtype) ? tensor.bytes() : scratch.copy(tensor, dtype).bytes();
    }

    private static boolean isInteger(DType dtype) {
        return switch (dtype.kind()) {
            case SIGNED, BOOLEAN -> true;
            case UNSIGNED -> dtype.bits() < Long.SIZE;
            case FLOATING, COMPLEX, QUANTIZED, BITS -> false;
        };
    }

    private void addIntegers(MemorySegment ours, MemorySegment theirs, long mask) {
        for (long at = 0; at < ours.byteSize(); at += Long.BYTES) {
            long one = ours.get(INTEGER, at) ^ mask;
            long other = theirs.get(INTEGER, at) ^ mask;
            if (one != other) {
                // The difference may have 64 bits.
                add(unsigned(one > other ? one - other : other - one));
            }
        }
    }

    private static double unsigned(long value) {
        return value >= 0 ? value : (value >>> 1) * 2.0;
    }

    private void addComplex(MemorySegment ours, MemorySegment theirs) {
        for (long at = 0; at < ours.byteSize(); at += 2 * Double.BYTES) {
            double real = ours.get(REAL, at);
            double otherReal = theirs.get(REAL, at);
            double imaginary = ours.get(REAL, at + Double.BYTES);
            double otherImaginary = theirs.get(REAL, at + Double.BYTES);
            if (!isSame(real, otherReal) || !isSame(imaginary, otherImaginary)) {
                add(Math.hypot(real - otherReal, imaginary - otherImaginary));
            }
        }
    }

    private void addReals(MemorySegment ours, MemorySegment theirs) {
        for (long at = 0; at < ours.byteSize(); at += Double.BYTES) {
            double one = ours.get(REAL, at);
            double other = theirs.get(REAL, at);
            if (!isSame(one, other)) {
                add(Math.abs(one - other));
            }
        }
    }

    private static boolean isSame(double left, double right) {
        return left == right || (Double.isNaN(left) && Double.isNaN(right));
    }

    private void add(double difference) {
        differing += times;
        if (Double.isFinite(difference)) {
            max = Math.max(max, difference);
            sum += difference * times;
        } else {
            notFinite += times;
        }
    }
}
