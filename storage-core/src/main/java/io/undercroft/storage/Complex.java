package io.undercroft.storage;

/// A complex number: an element of a complex tensor ([Tensor#getComplex]), or a plain value in a state.
///
/// @param real the real part
/// @param imaginary the imaginary part
public record Complex(double real, double imaginary) {
    /// {@return the number mirrored at the real axis}
    public Complex conjugate() {
        return new Complex(real, -imaginary);
    }

    /// {@return the number mirrored at zero}
    public Complex negate() {
        return new Complex(-real, -imaginary);
    }

    /// {@return the number as Python writes it, for instance `(1.0-2.0j)`}
    @Override
    public String toString() {
        boolean minus = imaginary < 0 || 1 / imaginary < 0;
        return "(" + real + (minus ? "" : "+") + imaginary + "j)";
    }
}
