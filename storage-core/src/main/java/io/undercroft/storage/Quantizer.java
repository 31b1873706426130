package io.undercroft.storage;

import java.util.Objects;

/// How stored integers stand for real numbers: `(integer - zero point) * scale`. PyTorch's `Quantizer`.
public sealed interface Quantizer {
    /// {@return PyTorch's name of the scheme, for instance `torch.per_tensor_affine`}
    String scheme();

    /// One scale and one zero point for all elements: `torch.per_tensor_affine`.
    ///
    /// @param scale the step from one integer to the next
    /// @param zeroPoint the integer that stands for 0
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
        /// {@return the step from one integer to the next, of each channel; one-dimensional}
        Tensor scales();

        /// {@return what stands for 0, of each channel; one-dimensional}
        Tensor zeroPoints();

        /// {@return the dimension of the channels, from 0}
        int axis();
    }

    /// Channels with integers as zero points: `torch.per_channel_affine`.
    ///
    /// @param scales float64, one of each channel
    /// @param zeroPoints int64, one of each channel
    /// @param axis the dimension of the channels, from 0
    record PerChannel(Tensor scales, Tensor zeroPoints, int axis) implements Channels {
        /// PyTorch's name of the scheme.
        public static final String SCHEME = "torch.per_channel_affine";

        /// Checks the parts.
        ///
        /// @throws IllegalArgumentException if they are of other types, not as many, or the axis is negative
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
    /// @param scales float32, one of each channel
    /// @param zeroPoints float32, one of each channel
    /// @param axis the dimension of the channels, from 0
    record PerChannelFloat(Tensor scales, Tensor zeroPoints, int axis) implements Channels {
        /// PyTorch's name of the scheme.
        public static final String SCHEME = "torch.per_channel_affine_float_qparams";

        /// Checks the parts.
        ///
        /// @throws IllegalArgumentException if they are of other types, not as many, or the axis is negative
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
