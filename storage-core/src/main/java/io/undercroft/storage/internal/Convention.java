package io.undercroft.storage.internal;

/// The library whose results a conversion between dtypes has. They differ only for NaNs of float16 and bfloat16, and
/// for float64 to uint8 out of range.
public enum Convention {
    /// PyTorch 2.13 on x86-64: a float16 NaN keeps its sign and payload, and a float64 is converted to uint8 through a
    /// 64-bit integer.
    PYTORCH,
    /// Torch7 on x86-64: every float16 NaN is `7fff`, and a float64 is converted to uint8 through a 32-bit integer.
    /// (Torch7 has no bfloat16; every NaN of it is `ffff`.)
    TORCH7
}
