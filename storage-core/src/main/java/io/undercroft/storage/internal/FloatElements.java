package io.undercroft.storage.internal;

import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;

/// Floating-point types whose values all fit a `float`. As in PyTorch, a value is converted to the narrower ones
/// through `float`.
abstract sealed class FloatElements extends Elements {
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

    @Override
    Values values() {
        return Values.FLOATS;
    }

    @Override
    void read(MemorySegment bytes, long position, Block block, int count) {
        float[] floats = block.floats();
        for (int i = 0; i < count; i++) {
            floats[i] = get(bytes, position + i);
        }
    }

    @Override
    void write(MemorySegment bytes, long position, Block block, int count) {
        float[] floats = block.floats();
        for (int i = 0; i < count; i++) {
            set(bytes, position + i, floats[i]);
        }
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

        @Override
        void read(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.FLOAT, Layouts.at(position, Float.BYTES), block.floats(), 0, count);
        }

        @Override
        void write(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(block.floats(), 0, bytes, Layouts.FLOAT, Layouts.at(position, Float.BYTES), count);
        }

        /// Reads elements as pairs.
        static void readPairs(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.at(position, Float.BYTES), MemorySegment.ofArray(block.longs()), 0,
                    (long) Float.BYTES * count);
        }

        /// Writes pairs.
        static void writePairs(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(MemorySegment.ofArray(block.longs()), 0, bytes, Layouts.at(position, Float.BYTES),
                    (long) Float.BYTES * count);
        }
    }

    /// IEEE binary16. In PyTorch NaNs are as the processor converts them: they keep their sign and what fits of their
    /// payload. Torch7 has a single one.
    static final class Float16 extends FloatElements {
        private static final short NAN = 0x7FFF;
        private static final float FLOAT_NAN = Float.intBitsToFloat(0x7FFF_FFFF);

        private final boolean hasOneNaN;

        /// @param hasOneNaN whether there is a single NaN
        Float16(boolean hasOneNaN) {
            this.hasOneNaN = hasOneNaN;
        }

        @Override
        float get(MemorySegment bytes, long position) {
            float value = Float.float16ToFloat(bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES)));
            return hasOneNaN && Float.isNaN(value) ? FLOAT_NAN : value;
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES),
                    hasOneNaN && Float.isNaN(value) ? NAN : Float.floatToFloat16(value));
        }

        @Override
        void read(MemorySegment bytes, long position, Block block, int count) {
            short[] stored = block.readShorts(bytes, position, count);
            float[] floats = block.floats();
            for (int i = 0; i < count; i++) {
                floats[i] = Float.float16ToFloat(stored[i]);
            }
            if (hasOneNaN) {
                for (int i = 0; i < count; i++) {
                    floats[i] = Float.isNaN(floats[i]) ? FLOAT_NAN : floats[i];
                }
            }
        }

        @Override
        void write(MemorySegment bytes, long position, Block block, int count) {
            float[] floats = block.floats();
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                stored[i] = Float.floatToFloat16(floats[i]);
            }
            if (hasOneNaN) {
                for (int i = 0; i < count; i++) {
                    stored[i] = Float.isNaN(floats[i]) ? NAN : stored[i];
                }
            }
            block.writeShorts(bytes, position, count);
        }
    }

    /// The upper half of a binary32. In runs two elements are an `int` and their floats a `long`, as the JIT vectorises
    /// loops from `int` to `long` and not those from `short` to `int`.
    static final class BFloat16 extends FloatElements {
        /// The value that PyTorch writes for most NaNs.
        static final int NAN = 0x7FC0;
        /// The elements to which PyTorch's vectorised loops convert float32 and float64, with another NaN.
        static final BFloat16 OF_VECTORS = new BFloat16(0xFFFF);

        private static final int INFINITY = 0x7F80_0000;
        private static final long SIGNS = 0x8000_0000_8000_0000L;
        private static final long INFINITIES = 0x7F80_0000_7F80_0000L;

        private final int nan;

        /// @param nan the bits that are written for NaN
        BFloat16(int nan) {
            this.nan = nan;
        }

        @Override
        float get(MemorySegment bytes, long position) {
            return Float.intBitsToFloat(bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES)) << 16);
        }

        @Override
        void set(MemorySegment bytes, long position, float value) {
            bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), (short) round(Float.floatToRawIntBits(value)));
        }

        /// Returns the upper half of a float32, rounded to nearest, ties to even: just under half a unit is added, and
        /// one more if the kept part is odd. A mask, not a branch, picks the NaNs, so that the JIT can vectorise it.
        private int round(int bits) {
            int rounded = (bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16;
            int isNaN = (INFINITY - (bits & Integer.MAX_VALUE)) >> 31;
            return (rounded & ~isNaN) | (nan & isNaN);
        }

        @Override
        Values values() {
            return Values.FLOAT_PAIRS;
        }

        @Override
        void read(MemorySegment bytes, long position, Block block, int count) {
            int[] pairs = block.ints();
            MemorySegment.copy(bytes, Layouts.at(position, Short.BYTES), MemorySegment.ofArray(pairs), 0,
                    (long) Short.BYTES * count);
            long[] floats = block.longs();
            for (int i = 0; i < (count + 1) / 2; i++) {
                long pair = pairs[i];
                floats[i] = ((pair << 16) & 0xFFFF_0000L) | ((pair >> 16) << 48);
            }
        }

        @Override
        void write(MemorySegment bytes, long position, Block block, int count) {
            long[] floats = block.longs();
            if (count % 2 != 0) {
                floats[count / 2] &= 0xFFFF_FFFFL;
            }
            if (roundPairs(floats, block.ints(), (count + 1) / 2)) {
                MemorySegment.copy(MemorySegment.ofArray(block.ints()), 0, bytes, Layouts.at(position, Short.BYTES),
                        (long) Short.BYTES * count);
            } else {
                roundEach(block, count);
                block.writeShorts(bytes, position, count);
            }
        }

        private void roundEach(Block block, int count) {
            int[] bits = block.ints();
            MemorySegment.copy(MemorySegment.ofArray(block.longs()), 0, MemorySegment.ofArray(bits), 0,
                    (long) Float.BYTES * count);
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                stored[i] = (short) (float) round(bits[i]);
            }
        }

        /// Rounds as [#round] does, two numbers at a time. A carry reaches the upper one only from a NaN.
        ///
        /// @return whether no number was a NaN; otherwise the results are wrong
        private static boolean roundPairs(long[] floats, int[] pairs, int count) {
            long signs = 0;
            for (int i = 0; i < count; i++) {
                long bits = floats[i];
                signs |= INFINITIES - (bits & ~SIGNS);
                long rounded = bits + 0x7FFF_0000_7FFFL + ((bits >>> 16) & 0x1_0000_0001L);
                pairs[i] = (int) (((rounded >>> 16) & 0xFFFF) | ((rounded >>> 32) & 0xFFFF_0000L));
            }
            return (signs & SIGNS) == 0;
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
