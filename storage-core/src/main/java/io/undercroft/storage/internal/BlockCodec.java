package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.internal.Block.Values;
import io.undercroft.storage.internal.FloatElements.BFloat16;
import java.lang.foreign.MemorySegment;

/// Reads and writes runs of elements of one dtype, by way of a [Block].
///
/// A position counts elements from the start of the segment. Bytes are little-endian and need no alignment.
sealed interface BlockCodec extends BlockReader, BlockWriter {
    /// {@return the codec of runs of a dtype}
    ///
    /// @param dtype a type that is not complex
    /// @param convention the convention for NaNs
    static BlockCodec of(DType dtype, Convention convention) {
        if (dtype.equals(DType.FLOAT64)) {
            return new Doubles();
        }
        if (dtype.equals(DType.FLOAT32)) {
            return new Floats();
        }
        if (dtype.equals(DType.FLOAT16)) {
            return convention == Convention.TORCH7 ? new Torch7Halves() : new Halves();
        }
        if (dtype.equals(DType.BFLOAT16)) {
            return new BFloats(BFloat16.NAN);
        }
        if (dtype.equals(DType.BOOL)) {
            return new Truths();
        }
        return switch (dtype.kind()) {
            case SIGNED -> dtype.bits() <= 32 ? new SmallIntegers(dtype.bits(), true) : new LargeIntegers(64, true);
            case UNSIGNED -> dtype.bits() <= 16
                    ? new SmallIntegers(dtype.bits(), false)
                    : new LargeIntegers(dtype.bits(), false);
            case FLOATING -> new SingleFloats((FloatElements) Elements.of(dtype));
            case QUANTIZED, BITS, BOOLEAN, COMPLEX -> new SingleLongs(Elements.of(dtype));
        };
    }

    @Override
    default Values values() {
        return switch (this) {
            case Doubles _ -> Values.DOUBLES;
            case Floats _,Halves _,Torch7Halves _,SingleFloats _ -> Values.FLOATS;
            case FloatPairs _,BFloats _ -> Values.FLOAT_PAIRS;
            case SmallIntegers _ -> Values.INTS;
            case Truths _,LargeIntegers _,SingleLongs _ -> Values.LONGS;
        };
    }

    /// float64.
    record Doubles() implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.DOUBLE, Layouts.at(position, Double.BYTES), block.doubles(), 0, count);
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            MemorySegment.copy(block.doubles(), 0, bytes, Layouts.DOUBLE, Layouts.at(position, Double.BYTES), count);
        }
    }

    /// float32.
    record Floats() implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.FLOAT, Layouts.at(position, Float.BYTES), block.floats(), 0, count);
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            MemorySegment.copy(block.floats(), 0, bytes, Layouts.FLOAT, Layouts.at(position, Float.BYTES), count);
        }
    }

    /// float16, with NaNs as the processor converts them: they keep their sign and what fits of their payload.
    record Halves() implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            short[] stored = readShorts(bytes, position, block, count);
            float[] floats = block.floats();
            for (int i = 0; i < count; i++) {
                floats[i] = Float.float16ToFloat(stored[i]);
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            float[] floats = block.floats();
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                stored[i] = Float.floatToFloat16(floats[i]);
            }
            writeShorts(block, bytes, position, count);
        }
    }

    /// The float16 of Torch7, with a single NaN.
    record Torch7Halves() implements BlockCodec {
        private static final short NAN = 0x7FFF;

        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            short[] stored = readShorts(bytes, position, block, count);
            float[] floats = block.floats();
            for (int i = 0; i < count; i++) {
                float value = Float.float16ToFloat(stored[i]);
                floats[i] = Float.isNaN(value) ? Float.intBitsToFloat(0x7FFF_FFFF) : value;
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            float[] floats = block.floats();
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                float value = floats[i];
                stored[i] = Float.isNaN(value) ? NAN : Float.floatToFloat16(value);
            }
            writeShorts(block, bytes, position, count);
        }
    }

    /// float32, in pairs.
    record FloatPairs() implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.at(position, Float.BYTES), MemorySegment.ofArray(block.longs()), 0,
                    (long) Float.BYTES * count);
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            MemorySegment.copy(MemorySegment.ofArray(block.longs()), 0, bytes, Layouts.at(position, Float.BYTES),
                    (long) Float.BYTES * count);
        }
    }

    /// bfloat16: the upper half of a float32. Two elements are an `int` and their floats a `long`, as the JIT
    /// vectorises loops from `int` to `long` and not those from `short` to `int`.
    ///
    /// @param nan the bits that are written for NaN
    record BFloats(int nan) implements BlockCodec {
        private static final long SIGNS = 0x8000_0000_8000_0000L;
        private static final long INFINITIES = 0x7F80_0000_7F80_0000L;

        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
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
        public void write(Block block, MemorySegment bytes, long position, int count) {
            long[] floats = block.longs();
            if (count % 2 != 0) {
                floats[count / 2] &= 0xFFFF_FFFFL;
            }
            if (roundPairs(floats, block.ints(), (count + 1) / 2)) {
                MemorySegment.copy(MemorySegment.ofArray(block.ints()), 0, bytes, Layouts.at(position, Short.BYTES),
                        (long) Short.BYTES * count);
            } else {
                roundEach(block, count);
                writeShorts(block, bytes, position, count);
            }
        }

        private void roundEach(Block block, int count) {
            int[] bits = block.ints();
            MemorySegment.copy(MemorySegment.ofArray(block.longs()), 0, MemorySegment.ofArray(bits), 0,
                    (long) Float.BYTES * count);
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                stored[i] = (short) (float) BFloat16.round(bits[i], nan);
            }
        }

        /// Rounds as [BFloat16#round] does, two numbers at a time. A carry reaches the upper one only from a NaN.
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

    /// Truth values: a byte that is not 0 is true.
    record Truths() implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            byte[] stored = readBytes(bytes, position, block, count);
            long[] longs = block.longs();
            for (int i = 0; i < count; i++) {
                long value = stored[i];
                longs[i] = (value | -value) >>> 63;
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            long[] longs = block.longs();
            byte[] stored = block.storedBytes();
            for (int i = 0; i < count; i++) {
                stored[i] = (byte) ((longs[i] | -longs[i]) >>> 63);
            }
            writeBytes(block, bytes, position, count);
        }
    }

    /// Integers of whole bytes whose values fit 32 bits with a sign.
    ///
    /// @param bits width of an element: 8, 16 or, with a sign, 32
    /// @param signed whether the highest bit is a sign
    record SmallIntegers(int bits, boolean signed) implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            int[] ints = block.ints();
            switch (bits) {
                case 8 -> widen(readBytes(bytes, position, block, count), ints, count);
                case 16 -> widen(readShorts(bytes, position, block, count), ints, count);
                default -> readInts(bytes, position, block, count);
            }
            if (!signed) {
                int mask = -1 >>> (Integer.SIZE - bits);
                for (int i = 0; i < count; i++) {
                    ints[i] &= mask;
                }
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            int[] ints = block.ints();
            switch (bits) {
                case 8 -> {
                    narrow(ints, block.storedBytes(), count);
                    writeBytes(block, bytes, position, count);
                }
                case 16 -> {
                    narrow(ints, block.storedShorts(), count);
                    writeShorts(block, bytes, position, count);
                }
                default -> writeInts(block, bytes, position, count);
            }
        }

        private static void widen(byte[] stored, int[] ints, int count) {
            for (int i = 0; i < count; i++) {
                ints[i] = (int) (float) stored[i];
            }
        }

        private static void widen(short[] stored, int[] ints, int count) {
            for (int i = 0; i < count; i++) {
                ints[i] = (int) (float) stored[i];
            }
        }

        private static void narrow(int[] ints, byte[] stored, int count) {
            for (int i = 0; i < count; i++) {
                stored[i] = (byte) (float) (ints[i] << 24 >> 24);
            }
        }

        private static void narrow(int[] ints, short[] stored, int count) {
            for (int i = 0; i < count; i++) {
                stored[i] = (short) (float) (ints[i] << 16 >> 16);
            }
        }
    }

    /// The other integers of whole bytes.
    ///
    /// @param bits width of an element: 64 or, without a sign, 32
    /// @param signed whether the highest bit is a sign
    record LargeIntegers(int bits, boolean signed) implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            long[] longs = block.longs();
            if (bits == 64) {
                MemorySegment.copy(bytes, Layouts.LONG, Layouts.at(position, Long.BYTES), longs, 0, count);
                return;
            }
            int[] ints = readInts(bytes, position, block, count);
            for (int i = 0; i < count; i++) {
                longs[i] = ints[i] & 0xFFFF_FFFFL;
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            if (bits == 64) {
                MemorySegment.copy(block.longs(), 0, bytes, Layouts.LONG, Layouts.at(position, Long.BYTES), count);
                return;
            }
            block.longsToInts(count);
            writeInts(block, bytes, position, count);
        }
    }

    /// Rare floating-point types, one element at a time.
    ///
    /// @param elements the encoding of an element
    record SingleFloats(FloatElements elements) implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            float[] floats = block.floats();
            for (int i = 0; i < count; i++) {
                floats[i] = elements.get(bytes, position + i);
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            float[] floats = block.floats();
            for (int i = 0; i < count; i++) {
                elements.set(bytes, position + i, floats[i]);
            }
        }
    }

    /// Rare types of integers, and those without numbers, one element at a time.
    ///
    /// @param elements the encoding of an element
    record SingleLongs(Elements elements) implements BlockCodec {
        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            long[] longs = block.longs();
            for (int i = 0; i < count; i++) {
                longs[i] = elements.getLong(bytes, position + i);
            }
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            long[] longs = block.longs();
            for (int i = 0; i < count; i++) {
                elements.setLong(bytes, position + i, longs[i]);
            }
        }
    }

    static byte[] readBytes(MemorySegment bytes, long position, Block block, int count) {
        MemorySegment.copy(bytes, Layouts.BYTE, position, block.storedBytes(), 0, count);
        return block.storedBytes();
    }

    static void writeBytes(Block block, MemorySegment bytes, long position, int count) {
        MemorySegment.copy(block.storedBytes(), 0, bytes, Layouts.BYTE, position, count);
    }

    static short[] readShorts(MemorySegment bytes, long position, Block block, int count) {
        MemorySegment.copy(bytes, Layouts.SHORT, Layouts.at(position, Short.BYTES), block.storedShorts(), 0, count);
        return block.storedShorts();
    }

    static void writeShorts(Block block, MemorySegment bytes, long position, int count) {
        MemorySegment.copy(block.storedShorts(), 0, bytes, Layouts.SHORT, Layouts.at(position, Short.BYTES), count);
    }

    private static int[] readInts(MemorySegment bytes, long position, Block block, int count) {
        MemorySegment.copy(bytes, Layouts.INT, Layouts.at(position, Integer.BYTES), block.ints(), 0, count);
        return block.ints();
    }

    private static void writeInts(Block block, MemorySegment bytes, long position, int count) {
        MemorySegment.copy(block.ints(), 0, bytes, Layouts.INT, Layouts.at(position, Integer.BYTES), count);
    }
}
