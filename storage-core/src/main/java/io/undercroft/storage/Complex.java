package io.undercroft.storage;

import io.undercroft.storage.internal.PythonNumber;

/// A complex number: an element of a complex tensor ([Tensor#getComplex]), or a value of a state.
///
/// @param real the real part
/// @param imaginary the imaginary part
public record Complex(double real, double imaginary) {
    /// {@return the number as Python writes it, for instance `(1-2j)`}
    @Override
    public String toString() {
        return PythonNumber.of(real, imaginary);
    }
}
