package io.undercroft.storage;

import io.undercroft.storage.Quantizer.Channels;
import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.internal.HolderPrinter;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;

/// A tensor of stored integers, with what makes real numbers of them. PyTorch's quantized tensor.
///
/// It holds its parts and owns nothing: [Storage] says who gives their bytes back. Of a tensor on the meta device
/// everything can be asked except for the elements.
///
/// @param integers the stored integers: quint8, qint8, qint32, quint4x2 or quint2x4
/// @param quantizer what makes numbers of them
public record QuantizedTensor(Tensor integers, Quantizer quantizer) {
    /// Checks the parts. A zero point outside the range of the dtype is found when numbers are asked for, as in
    /// PyTorch.
    ///
    /// @throws IllegalArgumentException if the integers are not of a quantized dtype, or the quantizer has not one
    ///     channel for each index of its axis
    public QuantizedTensor {
        Objects.requireNonNull(integers, "integers");
        Objects.requireNonNull(quantizer, "quantizer");
        checkParts(integers.dtype(), quantizer, integers.shape());
    }

    /// The stored integers that are nearest to some numbers, on a storage of their own (`torch.quantize_per_tensor` and
    /// `torch.quantize_per_channel`).
    ///
    /// A number is divided by the scale and moved by the zero point; ties go to the even integer. What is outside the
    /// range of the dtype becomes its end, and NaN the zero point. (For NaN PyTorch's kernels give different answers.)
    ///
    /// @param floats the numbers, float32
    /// @param quantizer the parameters
    /// @param dtype a quantized dtype
    /// @return the quantized tensor; on the meta device, one without elements
    /// @throws IllegalArgumentException if a type is another one, there is not one channel for each index of the axis,
    ///     or a zero point is outside the range of the dtype
    /// @throws IllegalStateException if a storage was freed
    public static QuantizedTensor quantize(Tensor floats, Quantizer quantizer, DType dtype) {
        if (!floats.dtype().equals(DType.FLOAT32)) {
            throw new IllegalArgumentException("only float32 is quantized, not " + floats.dtype().name());
        }
        checkParts(dtype, quantizer, floats.shape());
        Tensor integers = Tensors.zerosLike(floats, dtype, floats.shape());
        convert(floats, integers, quantizer, dtype, (arithmetic, from, to, index) -> to
                .setLong(index, arithmetic.quantize(from.getFloat(index))));
        return new QuantizedTensor(integers, quantizer);
    }

    /// {@return the type of the stored integers}
    public DType dtype() {
        return integers.dtype();
    }

    /// {@return how the elements lie: [Layout#STRIDED]}
    public Layout layout() {
        return integers.layout();
    }

    /// {@return where the integers live}
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

    /// {@return the numbers that the integers stand for: float32, in row-major order, on a storage of their own}
    ///
    /// @throws IllegalArgumentException if a zero point is outside the range of the dtype
    /// @throws IllegalStateException if a storage was freed
    public Tensor dequantize() {
        Tensor floats = Tensors.zerosLike(integers, DType.FLOAT32, shape());
        convert(integers, floats, quantizer, dtype(), (arithmetic, from, to, index) -> to
                .setDouble(index, arithmetic.dequantize(from.getLong(index))));
        return floats;
    }

    /// {@return the number that one integer stands for: a float32, widened}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws IllegalArgumentException if the zero point is outside the range of the dtype
    /// @throws IllegalStateException if a storage was freed or has no bytes (meta)
    public double getDouble(long... index) {
        long integer = integers.getLong(index);
        long channel = quantizer instanceof Channels channels ? index[channels.axis()] : 0;
        return QuantizedArithmetic.of(quantizer, dtype(), channel).dequantize(integer);
    }

    /// {@return a copy of the stored integers as plain ones: uint8, int8 or int32 (`int_repr` in PyTorch)} Integers
    /// narrower than a byte come as the bytes that they are packed in, the first one in the lowest bits, in one
    /// dimension.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Tensor intRepr() {
        if (!dtype().isByteSized()) {
            long nbytes = dtype().nbytes(shape().numel());
            return Tensor.of(integers.copy().storage(), DType.UINT8, 0, Shape.of(nbytes), 1);
        }
        return integers.view(plainType()).copy();
    }

    /// {@return the same integers on a storage of their own (`clone` in PyTorch); the quantizer is shared}
    ///
    /// @throws IllegalStateException if the storage was freed
    public QuantizedTensor copy() {
        return new QuantizedTensor(integers.copy(), quantizer);
    }

    // ---- sharing between processes ----

    /// {@return the tensors that this one is made of: the integers, then the scales and zero points of channels}
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

    // ---- views ----

    /// {@return the slice at one index of a dimension, which goes away} The channel axis stays: one channel is had by
    /// [#narrow], which calculates as before. (PyTorch makes a per-tensor quantizer of that channel, which rounds
    /// otherwise.)
    ///
    /// @param dim which dimension, negative from the end
    /// @param index from 0, or from -1 backwards
    /// @throws IndexOutOfBoundsException if there is no such dimension or index
    /// @throws UnsupportedOperationException if it is the channel axis
    public QuantizedTensor select(int dim, long index) {
        int d = Shape.checkDim(dim, integers.dim());
        if (quantizer instanceof Channels channels && channels.axis() == d) {
            throw new UnsupportedOperationException(
                    "dimension " + d + " is the channel axis and cannot go away; narrow("
                            + d + ", " + index + ", 1) keeps the channel");
        }
        Tensor slice = integers.select(d, index);
        return new QuantizedTensor(slice, over(axis -> axis > d ? axis - 1 : axis, UnaryOperator.identity()));
    }

    /// {@return the part of a dimension from `start` on} Of the channel axis the parameters are narrowed too.
    ///
    /// @param dim which dimension, negative from the end
    /// @param start first index, negative from the end
    /// @param length how many
    /// @throws IndexOutOfBoundsException if that is not inside the dimension
    public QuantizedTensor narrow(int dim, long start, long length) {
        return along(dim, (tensor, d) -> tensor.narrow(d, start, length));
    }

    /// {@return every `step`-th index of a dimension, as Python's `start:end:step`} Of the channel axis the parameters
    /// are sliced too.
    ///
    /// @param dim which dimension, negative from the end
    /// @param start the first index, negative from the end
    /// @param end the first index not to take, negative from the end; `Long.MAX_VALUE` for all
    /// @param step from one index to the next, 1 or more
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if the step is not positive
    public QuantizedTensor slice(int dim, long start, long end, long step) {
        return along(dim, (tensor, d) -> tensor.slice(d, start, end, step));
    }

    /// {@return the tensor with its dimensions in another order} The channel axis goes along; PyTorch reorders only
    /// tensors without one.
    ///
    /// @param order for each new dimension, the old one; each exactly once
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if `order` is not a permutation of the dimensions
    public QuantizedTensor permute(int... order) {
        Tensor permuted = integers.permute(order);
        int[] old = Arrays.stream(order).map(d -> Shape.checkDim(d, order.length)).toArray();
        return new QuantizedTensor(permuted, over(axis -> indexOf(axis, old), UnaryOperator.identity()));
    }

    /// {@return the tensor as PyTorch prints it: its numbers, then the parameters} All numbers are calculated for it;
    /// without any (meta, or freed) the size is printed instead.
    @Override
    public String toString() {
        return Bulk.ask(components(), () -> HolderPrinter.print(this));
    }

    /// Takes a part of one dimension.
    @FunctionalInterface
    private interface View {
        Tensor of(Tensor tensor, int dim);
    }

    /// The view of one dimension of the integers, and of the parameters if it is the channel axis.
    private QuantizedTensor along(int dim, View view) {
        int d = Shape.checkDim(dim, integers.dim());
        boolean ofChannels = quantizer instanceof Channels channels && channels.axis() == d;
        return new QuantizedTensor(view.of(integers, d),
                over(axis -> axis, values -> ofChannels ? view.of(values, 0) : values));
    }

    private DType plainType() {
        return dtype().equals(DType.QINT32) ? DType.INT32 : dtype().equals(DType.QINT8) ? DType.INT8 : DType.UINT8;
    }

    /// The quantizer with another axis and other parameters, if it has channels.
    private Quantizer over(IntUnaryOperator axis, UnaryOperator<Tensor> values) {
        return switch (quantizer) {
            case PerTensor all -> all;
            case PerChannel(Tensor scales, Tensor zeroPoints, int old) ->
                new PerChannel(values.apply(scales), values.apply(zeroPoints), axis.applyAsInt(old));
            case PerChannelFloat(Tensor scales, Tensor zeroPoints, int old) ->
                new PerChannelFloat(values.apply(scales), values.apply(zeroPoints), axis.applyAsInt(old));
        };
    }

    private static int indexOf(int wanted, int[] values) {
        int index = 0;
        while (values[index] != wanted) {
            index++;
        }
        return index;
    }

    /// Converts one element.
    @FunctionalInterface
    private interface Step {
        void run(QuantizedArithmetic arithmetic, Tensor from, Tensor to, long... index);
    }

    /// Converts all elements, channel by channel; the target is in row-major order.
    private static void convert(Tensor from, Tensor to, Quantizer quantizer, DType dtype, Step step) {
        if (from.numel() == 0 || from.device().isMeta()) {
            return;
        }
        long[] sizes = blocks(from.shape(), quantizer);
        Tensor source = from.contiguous().view(sizes);
        Tensor target = to.view(sizes);
        for (long channel = 0; channel < sizes[1]; channel++) {
            QuantizedArithmetic arithmetic = QuantizedArithmetic.of(quantizer, dtype, channel);
            for (long outer = 0; outer < sizes[0]; outer++) {
                for (long inner = 0; inner < sizes[2]; inner++) {
                    step.run(arithmetic, source, target, outer, channel, inner);
                }
            }
        }
    }

    /// The sizes outside, of and inside the channel axis.
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
