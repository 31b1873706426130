package io.undercroft.storage;

import io.undercroft.storage.Quantizer.Channels;
import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import java.util.List;
import java.util.Objects;

/// A quantized tensor: stored integers, and the parameters that convert them to real numbers. As PyTorch's quantized
/// tensors.
///
/// It is not a reference to the storages of its components: [Storage] describes when their bytes are freed. A tensor on
/// the meta device has everything except elements.
///
/// @param integers the stored integers: quint8, qint8, qint32, quint4x2 or quint2x4
/// @param quantizer the conversion of the integers to real numbers
public record QuantizedTensor(Tensor integers, Quantizer quantizer) {
    /// Checks the components. A zero point outside the range of the dtype is reported when numbers are read, as in
    /// PyTorch.
    ///
    /// @throws IllegalArgumentException if the integers are not of a quantized dtype, or the quantizer does not have
    ///     one channel for each index of its axis
    public QuantizedTensor {
        Objects.requireNonNull(integers, "integers");
        Objects.requireNonNull(quantizer, "quantizer");
        checkParts(integers.dtype(), quantizer, integers.shape());
    }

    /// {@return the type of the stored integers}
    public DType dtype() {
        return integers.dtype();
    }

    /// {@return the memory layout: [Layout#STRIDED]}
    public Layout layout() {
        return integers.layout();
    }

    /// {@return the device of the integers}
    public Device device() {
        return integers.device();
    }

    /// {@return the size in each dimension}
    public Shape shape() {
        return integers.shape();
    }

    /// {@return PyTorch's name of the scheme, for instance `torch.per_tensor_affine`}
    public String qscheme() {
        return quantizer.scheme();
    }

    // ---- numbers ----

    /// {@return the real numbers as float32, in row-major order, on a new storage}
    ///
    /// @throws IllegalArgumentException if a zero point is outside the range of the dtype
    /// @throws IllegalStateException if a storage was freed
    public Tensor dequantize() {
        Tensor floats = Tensors.zerosLike(integers, DType.FLOAT32, shape());
        if (integers.numel() == 0 || device().isMeta()) {
            return floats;
        }
        long[] sizes = blocks(shape(), quantizer);
        Tensor source = integers.contiguous().view(sizes);
        Tensor target = floats.view(sizes);
        for (long channel = 0; channel < sizes[1]; channel++) {
            Scale scale = scale(channel);
            for (long outer = 0; outer < sizes[0]; outer++) {
                for (long inner = 0; inner < sizes[2]; inner++) {
                    long[] index = {outer, channel, inner};
                    target.setDouble(index, scale.number(source.getLong(index)));
                }
            }
        }
        return floats;
    }

    /// {@return one element as a real number: a float32, widened}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws IllegalArgumentException if the zero point is outside the range of the dtype
    /// @throws IllegalStateException if a storage was freed or has no bytes (meta)
    public double getDouble(long... index) {
        long integer = integers.getLong(index);
        long channel = quantizer instanceof Channels channels ? index[channels.axis()] : 0;
        return scale(channel).number(integer);
    }

    /// {@return the same integers on a new storage (`clone` in PyTorch); the quantizer is shared}
    ///
    /// @throws IllegalStateException if the storage was freed
    @CheckReturnValue
    public QuantizedTensor copy() {
        return new QuantizedTensor(integers.copy(), quantizer);
    }

    // ---- sharing between processes ----

    /// {@return the component tensors: the integers, then the scales and zero points of channels}
    public List<Tensor> components() {
        return quantizer instanceof Channels channels
                ? List.of(integers, channels.scales(), channels.zeroPoints())
                : List.of(integers);
    }

    /// Moves the storages of all components to memory that other processes can attach, as [Tensor#shareMemory].
    ///
    /// @return this tensor
    /// @throws IllegalArgumentException if the tensor is on another device
    /// @throws IllegalStateException if a storage was freed, has no bytes (meta), or there is no shared memory
    /// @throws OutOfMemoryError if there is not that much shared memory; some components may have moved then
    public QuantizedTensor shareMemory() {
        components().forEach(Tensor::shareMemory);
        return this;
    }

    /// {@return whether other processes see what is written to any of the components}
    ///
    /// @throws IllegalStateException if a storage was freed
    public boolean isShared() {
        return components().stream().allMatch(Tensor::isShared);
    }

    /// What makes numbers of the integers of one channel, rounded where PyTorch's kernels round: those of channels
    /// subtract the zero point as a float, the others as an integer.
    private record Scale(double step, double zeroPoint, boolean ofChannel) {
        float number(long integer) {
            float steps = ofChannel ? (float) integer - (float) zeroPoint : (int) (integer - (long) zeroPoint);
            return (float) (steps * step);
        }
    }

    private Scale scale(long channel) {
        return switch (quantizer) {
            case PerTensor(double scale, long zeroPoint) -> new Scale((float) scale, checked(zeroPoint), false);
            case PerChannel(Tensor scales, Tensor zeroPoints, _) ->
                new Scale(scales.getDouble(channel), checked(zeroPoints.getLong(channel)), true);
            case PerChannelFloat(Tensor scales, Tensor zeroPoints, _) ->
                new Scale(scales.getDouble(channel), zeroPoints.getDouble(channel), true);
        };
    }

    private double checked(long zeroPoint) {
        boolean signed = dtype().equals(DType.QINT8) || dtype().equals(DType.QINT32);
        long min = signed ? -(1L << (dtype().bits() - 1)) : 0;
        long max = min + (1L << dtype().bits()) - 1;
        if (zeroPoint < min || zeroPoint > max) {
            throw new IllegalArgumentException("the zero point " + zeroPoint + " is outside the range of "
                    + dtype().name() + ", " + min + " to " + max);
        }
        return zeroPoint;
    }

    /// Returns the sizes outside, of and inside the channel axis.
    private static long[] blocks(Shape shape, Quantizer quantizer) {
        if (!(quantizer instanceof Channels channels)) {
            return new long[]{1, 1, shape.numel()};
        }
        long inner = 1;
        for (int d = channels.axis() + 1; d < shape.rank(); d++) {
            inner *= shape.size(d);
        }
        long count = shape.size(channels.axis());
        return new long[]{shape.numel() / count / inner, count, inner};
    }

    private static void checkParts(DType dtype, Quantizer quantizer, Shape shape) {
        if (dtype.kind() != DType.Kind.QUANTIZED) {
            throw new IllegalArgumentException(dtype.name() + " is not a quantized dtype");
        }
        if (!(quantizer instanceof Channels channels)) {
            return;
        }
        if (channels.axis() >= shape.rank()) {
            throw new IllegalArgumentException(
                    "the channel axis " + channels.axis() + " is no dimension of the shape " + shape);
        }
        long wanted = shape.size(channels.axis());
        if (channels.scales().numel() != wanted) {
            throw new IllegalArgumentException(channels.scales().numel() + " channels for dimension " + channels.axis()
                    + " of the shape " + shape + ", which needs " + wanted);
        }
    }
}
