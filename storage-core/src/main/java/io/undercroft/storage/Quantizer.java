package io.undercroft.storage;

import java.util.Objects;

/// The conversion of stored integers to real numbers: `(integer - zero point) * scale`. The counterpart of PyTorch's
/// `Quantizer`.
public sealed interface Quantizer {
    /// {@return PyTorch's name of the scheme, for instance `torch.per_tensor_affine`}
    String scheme();

    /// One scale and one zero point for all elements: `torch.per_tensor_affine`.
    ///
    /// @param scale the difference between the numbers of adjacent integers
    /// @param zeroPoint the integer that represents 0
    record PerTensor(double scale, long zeroPoint) implements Quantizer {
        /// PyTorch's name of the scheme.
        public static final String SCHEME = "torch.per_tensor_affine";

        @Override
        public String scheme() {
            return SCHEME;
        }
    }

    /// A scale and a zero point for each index of one dimension, the channel axis.
    sealed interface Channels extends Quantizer {
        /// {@return the scale of each channel; one-dimensional}
        Tensor scales();

        /// {@return the zero point of each channel; one-dimensional}
        Tensor zeroPoints();

        /// {@return the dimension of the channels, from 0}
        int axis();
    }

    /// Channels with integers as zero points: `torch.per_channel_affine`.
    ///
    /// @param scales the scale of each channel, float64
    /// @param zeroPoints the zero point of each channel, int64
    /// @param axis the dimension of the channels, from 0
    record PerChannel(Tensor scales, Tensor zeroPoints, int axis) implements Channels {
        /// PyTorch's name of the scheme.
        public static final String SCHEME = "torch.per_channel_affine";

        /// Checks the dtypes and sizes.
        ///
        /// @throws IllegalArgumentException if a dtype is wrong, the numbers of scales and zero points differ, or the
        ///     axis is negative
        public PerChannel {
            checkChannels(scales, DType.FLOAT64, zeroPoints, DType.INT64, axis);
        }

        @Override
        public String scheme() {
            return SCHEME;
        }
    }

    /// Channels with floats as zero points: `torch.per_channel_affine_float_qparams`, which embeddings use.
    ///
    /// @param scales the scale of each channel, float32
    /// @param zeroPoints the zero point of each channel, float32
    /// @param axis the dimension of the channels, from 0
    record PerChannelFloat(Tensor scales, Tensor zeroPoints, int axis) implements Channels {
        /// PyTorch's name of the scheme.
        public static final String SCHEME = "torch.per_channel_affine_float_qparams";

        /// Checks the dtypes and sizes.
        ///
        /// @throws IllegalArgumentException if a dtype is wrong, the numbers of scales and zero points differ, or the
        ///     axis is negative
        public PerChannelFloat {
            checkChannels(scales, DType.FLOAT32, zeroPoints, DType.FLOAT32, axis);
        }

        @Override
        public String scheme() {
            return SCHEME;
        }
    }

    private static void checkChannels(Tensor scales, DType scaleType, Tensor zeroPoints, DType pointType, int axis) {
        checkVector("scales", scales, scaleType);
        checkVector("zero points", zeroPoints, pointType);
        if (scales.numel() != zeroPoints.numel()) {
            throw new IllegalArgumentException(
                    scales.numel() + " scales for " + zeroPoints.numel()
                            + " zero points; each channel needs one of both");
        }
        if (axis < 0) {
            throw new IllegalArgumentException("the channel axis " + axis + " is negative");
        }
    }

    private static void checkVector(String what, Tensor vector, DType dtype) {
        Objects.requireNonNull(vector, what);
        if (vector.dim() != 1 || !vector.dtype().equals(dtype)) {
            throw new IllegalArgumentException("the " + what + " of channels are a vector of " + dtype.name() + ", not "
                    + vector.dtype().name() + " of shape " + vector.shape());
        }
    }
}
