package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Floating-point types whose values all fit a `float`. As in PyTorch, a value goes through `float` on its way to the
/// narrower ones.
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
        private static final int NAN = 0x7FC0;

        @Override
        float get(MemorySegment bytes, long position) {
            return Float.intBitsToFloat(bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES)) << 16);
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), (short) upperHalf(value));
        }

        /// Rounds to nearest, ties to even: just under half a unit is added, and one more if the kept part is odd.
        private static int upperHalf(float value) {
            int bits = Float.floatToRawIntBits(value);
            return Float.isNaN(value) ? NAN : (bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16;
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
