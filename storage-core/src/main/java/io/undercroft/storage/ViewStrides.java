package io.undercroft.storage;

import java.util.Arrays;

/// Works out the sizes and strides of [Tensor#view].
///
/// The old dimensions are taken in blocks, from the innermost on: a dimension joins the block inside it when one step
/// along it goes as far as the whole block reaches, so that the elements of a block lie at equal distances. The new
/// dimensions must fill these blocks one after another; only then is a copy not needed. This is the rule that PyTorch
/// documents for `view`.
final class ViewStrides {
    private ViewStrides() {}

    /// Replaces a size of -1 by the one that gives `numel` elements.
    static Shape inferSize(long[] sizes, long numel) {
        long[] inferred = sizes.clone();
        int unknown = -1;
        for (int d = 0; d < sizes.length; d++) {
            if (sizes[d] == -1) {
                if (unknown >= 0) {
                    throw new IllegalArgumentException(
                            "only one size may be -1, not two as in " + Arrays.toString(sizes));
                }
                unknown = d;
                inferred[d] = 1;
            }
        }
        Shape shape = Shape.of(inferred);
        if (unknown >= 0 && shape.numel() > 0) {
            inferred[unknown] = numel / shape.numel();
            shape = Shape.of(inferred);
        } else if (unknown >= 0) {
            throw new IllegalArgumentException("the size -1 in " + Arrays.toString(sizes) + " could be anything");
        }
        if (shape.numel() != numel) {
            throw new IllegalArgumentException(
                    "the shape " + Arrays.toString(sizes) + " does not fit " + numel + " elements");
        }
        return shape;
    }

    /// The strides that show old elements in a new shape of as many elements.
    static long[] of(Shape shape, long[] stride, Shape wanted) {
        if (wanted.numel() == 0) {
            return shape.equals(wanted) ? stride.clone() : wanted.contiguousStride();
        }
        long[] result = new long[wanted.rank()];
        Arrays.fill(result, 1);
        int next = wanted.rank() - 1;
        int d = shape.rank() - 1;
        while (d >= 0) {
            long blockStride = stride[d];
            long blockSize = shape.size(d);
            d--;
            while (d >= 0 && (shape.size(d) == 1 || stride[d] == blockSize * blockStride)) {
                blockSize *= shape.size(d);
                d--;
            }
            long filled = 1;
            while (next >= 0 && (filled < blockSize || wanted.size(next) == 1)) {
                result[next] = filled * blockStride;
                filled *= wanted.size(next);
                next--;
            }
            if (filled != blockSize) {
                throw new IllegalArgumentException(
                        "elements of shape " + shape + " and stride " + Arrays.toString(stride)
                                + " cannot be seen as " + wanted + " without a copy; call contiguous() first");
            }
        }
        return result;
    }
}
