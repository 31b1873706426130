package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Floating-point types whose values all fit a `float`. As in PyTorch, a value is converted to the narrower ones
/// through `float`.
abstract sealed class FloatElements implements Elements {
    abstract float get(MemorySegment bytes, long position);

    abstract void set(MemorySegment bytes, long position, float value);

    @Override
    public final double getDouble(MemorySegment bytes, long position) {
        return get(bytes, position);
    }

    @Override
    public final long getLong(MemorySegment bytes, long position) {
        return (long) get(bytes, position);
    }

    @Override
    public final void setDouble(MemorySegment bytes, long position, double value) {
        set(bytes, position, (float) value);
    }

    @Override
    public final void setLong(MemorySegment bytes, long position, long value) {
        set(bytes, position, (float) value);
    }

    /// IEEE binary32.
    static final class Float32 extends FloatElements {
        @Override
        float get(MemorySegment bytes, long position) {
            return bytes.get(Layouts.FLOAT, Layouts.at(position, Float.BYTES));
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.FLOAT, Layouts.at(position, Float.BYTES), value);
        }
    }

    /// IEEE binary16.
    static final class Float16 extends FloatElements {
        @Override
        float get(MemorySegment bytes, long position) {
            return Float.float16ToFloat(bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES)));
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), Float.floatToFloat16(value));
        }
    }

    /// The upper half of a binary32.
    static final class BFloat16 extends FloatElements {
        /// The value that PyTorch writes for most NaNs.
        static final int NAN = 0x7FC0;
        /// The value that PyTorch's vectorised loops write for a NaN of float32 or float64.
        static final int NAN_OF_VECTORS = 0xFFFF;

        private static final int INFINITY = 0x7F80_0000;

        @Override
        float get(MemorySegment bytes, long position) {
            return Float.intBitsToFloat(bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES)) << 16);
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES),
                    (short) round(Float.floatToRawIntBits(value), NAN));
        }

        /// Returns the upper half of a float32, rounded to nearest, ties to even: just under half a unit is added, and
        /// one more if the kept part is odd. A mask, not a branch, picks the NaNs, so that the JIT can vectorise it.
        static int round(int bits, int nan) {
            int rounded = (bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16;
            int isNaN = (INFINITY - (bits & Integer.MAX_VALUE)) >> 31;
            return (rounded & ~isNaN) | (nan & isNaN);
        }
    }

    /// One of the 8-bit formats.
    static final class Float8 extends FloatElements {
        private final Float8Format format;
        private final float[] values = new float[256];

        Float8(Float8Format format) {
            this.format = format;
            for (int code = 0; code < values.length; code++) {
                values[code] = format.value(code);
            }
        }

        @Override
        float get(MemorySegment bytes, long position) {
            return values[Byte.toUnsignedInt(bytes.get(Layouts.BYTE, position))];
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.BYTE, position, format.encode(value));
        }
    }
}
