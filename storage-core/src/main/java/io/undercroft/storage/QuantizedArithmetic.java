package io.undercroft.storage;

import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;

/// From stored integers to numbers and back, for one channel, or for all elements of a tensor without channels.
///
/// PyTorch's kernels agree on the idea, but not on where they round. The answers here are theirs to the bit, as
/// measured with PyTorch 2.13 on x86-64. What differs between its kernels is made plain: numbers beyond the range,
/// infinite ones too, become its ends, and NaN the zero point.
///
/// @param scale the step from one integer to the next
/// @param zeroPoint what stands for 0
/// @param min the smallest integer that can be stored
/// @param max the largest
/// @param kernel where to round
record QuantizedArithmetic(double scale, double zeroPoint, long min, long max, Kernel kernel) {
    /// PyTorch's ways to calculate.
    enum Kernel {
        /// Tensors of quint8 and qint8: multiplied and added at once, then rounded.
        BYTES,
        /// Tensors of qint32: multiplied, rounded to a float, added, rounded.
        INTS,
        /// Tensors of integers narrower than a byte: multiplied, rounded to an integer, added.
        BITS,
        /// Channels of all types: as [#INTS], and the zero point is taken away as a float.
        CHANNELS;

        static Kernel ofTensor(DType dtype) {
            return dtype.isByteSized() ? dtype.itemsize() == 1 ? BYTES : INTS : BITS;
        }
    }

    /// The arithmetic of one channel.
    ///
    /// @param quantizer the parameters
    /// @param dtype the type of the integers
    /// @param channel an index of the channel axis; any, if there is none
    /// @throws IllegalArgumentException if the zero point is an integer outside the range of the dtype. (PyTorch, too,
    ///     finds that out only here.)
    static QuantizedArithmetic of(Quantizer quantizer, DType dtype, long channel) {
        return switch (quantizer) {
            case PerTensor(double scale, long zeroPoint) ->
                of(dtype, (float) scale, zeroPoint, Kernel.ofTensor(dtype));
            case PerChannel(Tensor scales, Tensor zeroPoints, _) ->
                of(dtype, scales.getDouble(channel), zeroPoints.getLong(channel), Kernel.CHANNELS);
            case PerChannelFloat(Tensor scales, Tensor zeroPoints, _) ->
                new QuantizedArithmetic(scales.getDouble(channel), zeroPoints.getDouble(channel), min(dtype),
                        max(dtype), Kernel.CHANNELS);
        };
    }

    /// The number that an integer stands for.
    float dequantize(long integer) {
        float steps = kernel == Kernel.CHANNELS
                ? (float) integer - (float) zeroPoint
                : (int) (integer - (long) zeroPoint);
        return (float) (steps * scale);
    }

    /// The integer that is nearest to a number; ties go to even.
    long quantize(float value) {
        float inverse = 1 / (float) scale;
        float point = (float) zeroPoint;
        double nearest = switch (kernel) {
            case BYTES -> Math.rint(Math.fma(value, inverse, point));
            case INTS, CHANNELS -> Math.rint(value * inverse + point);
            case BITS -> Math.rint(value * inverse) + point;
        };
        return Math.clamp((long) (Double.isNaN(nearest) ? Math.rint(zeroPoint) : nearest), min, max);
    }

    private static QuantizedArithmetic of(DType dtype, double scale, long zeroPoint, Kernel kernel) {
        if (zeroPoint < min(dtype) || zeroPoint > max(dtype)) {
            throw new IllegalArgumentException("the zero point " + zeroPoint + " is outside the range of "
                    + dtype.name() + ", " + min(dtype) + " to " + max(dtype));
        }
        return new QuantizedArithmetic(scale, (double) zeroPoint, min(dtype), max(dtype), kernel);
    }

    private static long min(DType dtype) {
        return isSigned(dtype) ? -(1L << (dtype.bits() - 1)) : 0;
    }

    private static long max(DType dtype) {
        return (1L << (isSigned(dtype) ? dtype.bits() - 1 : dtype.bits())) - 1;
    }

    private static boolean isSigned(DType dtype) {
        return dtype.equals(DType.QINT8) || dtype.equals(DType.QINT32);
    }
}
