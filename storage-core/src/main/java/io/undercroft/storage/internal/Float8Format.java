package io.undercroft.storage.internal;

/// The five 8-bit floating-point formats, with the rounding and the overflow of PyTorch's conversions: to nearest, ties
/// to even. What is too large becomes infinity in e5m2, the largest finite number in e4m3fn (PyTorch 2.13; NaN in
/// early releases), and NaN in the others.
enum Float8Format {
    /// 4 exponent and 3 mantissa bits; all ones are NaN.
    E4M3FN(3, 7, 0x7E, 0x7E),
    /// 5 exponent and 2 mantissa bits, with infinities, as in IEEE formats.
    E5M2(2, 15, 0x7B, 0x7C),
    /// 4 exponent and 3 mantissa bits; the pattern of negative zero is the only NaN.
    E4M3FNUZ(3, 8, 0x7F, 0x80),
    /// 5 exponent and 2 mantissa bits; the pattern of negative zero is the only NaN.
    E5M2FNUZ(2, 16, 0x7F, 0x80),
    /// An exponent and nothing else.
    E8M0FNU(0, 127, 0xFE, 0xFF) {
        @Override
        float value(int code) {
            return code == 0xFF ? ONLY_NAN : Math.scalb(1f, code - 127);
        }

        /// Drops the sign and the mantissa, after rounding the mantissa. A tie rounds up, except for the subnormal
        /// 2^-127, which the code 0 stands for exactly.
        @Override
        byte encode(float value) {
            int bits = Float.floatToRawIntBits(value) & 0x7FFF_FFFF;
            int exponent = bits >>> 23;
            int mantissa = bits & 0x7F_FFFF;
            boolean up = exponent == 0 ? mantissa > 0x40_0000 : mantissa >= 0x40_0000;
            return (byte) (exponent == 0xFF || !up ? exponent : exponent + 1);
        }
    };

    private static final int SIGN = 0x80;
    private static final int NAN = 0x7F;
    /// PyTorch's value for the NaN of formats that have one: a signalling NaN.
    private static final float ONLY_NAN = Float.intBitsToFloat(0x7F80_0001);
    private static final int QUIET_NAN = 0x7FC0_0000;
    private static final int FLOAT_MANTISSA_BITS = 23;

    private final int mantissaBits;
    private final int bias;
    private final int maxFinite;
    private final int overflow;

    Float8Format(int mantissaBits, int bias, int maxFinite, int overflow) {
        this.mantissaBits = mantissaBits;
        this.bias = bias;
        this.maxFinite = maxFinite;
        this.overflow = overflow;
    }

    /// Returns the code of a value.
    ///
    /// Counts in units of the last mantissa bit of the value's binade. The count holds the implicit leading one, so
    /// adding it to the exponent field of the binade below gives the code, and a carry moves to the next binade by
    /// itself.
    byte encode(float value) {
        int sign = Float.floatToRawIntBits(value) < 0 ? SIGN : 0;
        int magnitude = Float.isNaN(value) ? NAN : magnitude(Math.abs(value));
        if (hasOnlyOneNaN()) {
            return (byte) (Float.isNaN(value) || magnitude == overflow ? SIGN : magnitude == 0 ? 0 : sign | magnitude);
        }
        return (byte) (sign | magnitude);
    }

    /// Returns the value of a code from 0 to 255.
    float value(int code) {
        int magnitude = code & ~SIGN;
        if (hasOnlyOneNaN() && code == SIGN) {
            return ONLY_NAN;
        }
        if (magnitude > maxFinite) {
            return magnitude == overflow ? signOf(code) * Float.POSITIVE_INFINITY : nan(code);
        }
        int exponent = Math.max(magnitude >> mantissaBits, 1);
        int count = magnitude - ((exponent - 1) << mantissaBits);
        return signOf(code) * Math.scalb((float) count, exponent - bias - mantissaBits);
    }

    /// Returns a NaN with the sign and the mantissa of its code.
    private float nan(int code) {
        int payload = (code << (FLOAT_MANTISSA_BITS - mantissaBits)) & ((1 << FLOAT_MANTISSA_BITS) - 1);
        int sign = (code & SIGN) << (Integer.SIZE - Byte.SIZE);
        return Float.intBitsToFloat(sign | QUIET_NAN | payload);
    }

    private int magnitude(float value) {
        if (Float.isInfinite(value)) {
            return overflow;
        }
        int exponent = Math.max(Math.getExponent(value), 1 - bias);
        double count = Math.rint(Math.scalb((double) value, mantissaBits - exponent));
        long code = ((exponent + bias - 1L) << mantissaBits) + (long) count;
        return code > maxFinite ? overflow : (int) code;
    }

    private boolean hasOnlyOneNaN() {
        return overflow == SIGN;
    }

    private static float signOf(int code) {
        return (code & SIGN) == 0 ? 1 : -1;
    }
}
