package io.undercroft.storage;

/// The parts of equal size that a tensor is made of, which sparse tensors move to their places.
///
/// @param parts two dimensions: the parts, and the elements of each
record DenseParts(Tensor parts) {
    /// Returns the parts of a tensor.
    ///
    /// @param tensor in row-major order if it is to be written
    /// @param count how many parts, at least one; they divide the elements evenly
    /// @throws UnsupportedOperationException if the elements are quantized
    static DenseParts of(Tensor tensor, long count) {
        if (tensor.dtype().kind() == DType.Kind.QUANTIZED) {
            throw new UnsupportedOperationException(
                    "sparse elements of " + tensor.dtype().name() + " are only carried");
        }
        return new DenseParts(tensor.contiguous().view(count, tensor.numel() / count));
    }

    /// Adds a part of another tensor of the same dtype to a part of this one: in the arithmetic of the dtype, where
    /// true and true is true.
    ///
    /// @throws UnsupportedOperationException if the dtype has no numbers
    void add(long at, DenseParts other, long from) {
        DType dtype = parts.dtype();
        for (long i = 0; i < parts.size(1); i++) {
            switch (dtype.kind()) {
                case FLOATING -> parts.setDouble(at, i, parts.getDouble(at, i) + other.parts.getDouble(from, i));
                case COMPLEX -> parts.setComplex(at, i, sum(parts.getComplex(at, i), other.parts.getComplex(from, i)));
                case SIGNED, UNSIGNED -> parts.setLong(at, i, parts.getLong(at, i) + other.parts.getLong(from, i));
                case BOOLEAN -> parts.setLong(at, i, parts.getLong(at, i) | other.parts.getLong(from, i));
                case QUANTIZED, BITS -> throw new UnsupportedOperationException(
                        "elements of " + dtype.name() + " cannot be summed");
            }
        }
    }

    private static Complex sum(Complex a, Complex b) {
        return new Complex(a.real() + b.real(), a.imaginary() + b.imaginary());
    }
}
