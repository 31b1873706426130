package io.undercroft.format.internal;

/// A flag of a tensor, with the meaning that PyTorch gives it.
public enum TensorFlag {
    /// It requires gradients.
    REQUIRES_GRAD(1),
    /// Its elements are the complex conjugates of what is stored (`is_conj`).
    CONJUGATE(2),
    /// Its elements are the negatives of what is stored (`is_neg`).
    NEGATIVE(4),
    /// One of its strides at least is negative. PyTorch has no such tensors; NumPy has.
    REVERSED(8);

    private final int bit;

    TensorFlag(int bit) {
        this.bit = bit;
    }

    /// {@return the bit that stands for it in a file}
    public int bit() {
        return bit;
    }
}
