package io.undercroft.storage;

import io.undercroft.storage.Tensor.NaNs;

/// How far apart two numbers may be and still count as close.
///
/// @param rtol relative to the second number
/// @param atol in any case
/// @param nans whether NaNs are close to each other
record Tolerance(double rtol, double atol, NaNs nans) {
    /// Checks the parts.
    ///
    /// @throws IllegalArgumentException if a tolerance is negative or NaN
    Tolerance {
        if (!(rtol >= 0 && atol >= 0)) {
            throw new IllegalArgumentException("tolerances are 0 or more, not rtol " + rtol + " and atol " + atol);
        }
    }

    /// Whether only equal numbers are close.
    boolean isExact() {
        return rtol == 0 && atol == 0;
    }
}
