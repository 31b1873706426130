package io.undercroft.storage.internal;

import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;

/// Integers of whole bytes. Runs of those whose values fit 32 bits with a sign are the `int`s of a block.
final class IntegerElements extends Elements {
    private final int bits;
    private final boolean isSigned;
    /// Whether they stand for their negatives in two's complement, which for unsigned integers are what is missing to
    /// 2^bits.
    private final boolean isNegated;
    private final FloatToInteger truncation;

    /// @param bits width of an element: 8, 16, 32 or 64
    /// @param isSigned whether the highest bit is a sign
    /// @param truncation the way in which numbers become integers
    IntegerElements(int bits, boolean isSigned, FloatToInteger truncation) {
        this(bits, isSigned, false, truncation);
    }

    private IntegerElements(int bits, boolean isSigned, boolean isNegated, FloatToInteger truncation) {
        this.bits = bits;
        this.isSigned = isSigned;
        this.isNegated = isNegated;
        this.truncation = truncation;
    }

    /// Returns whether floats are read and written without `int`s between.
    boolean areShort() {
        return bits <= 16;
    }

    @Override
    public double getDouble(MemorySegment bytes, long position) {
        long value = getLong(bytes, position);
        return isSigned ? value : Unsigned.toDouble(value);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        long stored = switch (bits) {
            case 8 -> bytes.get(Layouts.BYTE, position);
            case 16 -> bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES));
            case 32 -> bytes.get(Layouts.INT, Layouts.at(position, Integer.BYTES));
            default -> bytes.get(Layouts.LONG, Layouts.at(position, Long.BYTES));
        };
        return wrap(isNegated ? -stored : stored);
    }

    /// Returns the value that the lower bits stand for.
    private long wrap(long value) {
        int spare = Long.SIZE - bits;
        return isSigned ? value << spare >> spare : value << spare >>> spare;
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setLong(bytes, position, truncation.of(value));
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        long stored = isNegated ? -value : value;
        switch (bits) {
            case 8 -> bytes.set(Layouts.BYTE, position, (byte) stored);
            case 16 -> bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), (short) stored);
            case 32 -> bytes.set(Layouts.INT, Layouts.at(position, Integer.BYTES), (int) stored);
            default -> bytes.set(Layouts.LONG, Layouts.at(position, Long.BYTES), stored);
        }
    }

    @Override
    Elements negated() {
        return new IntegerElements(bits, isSigned, !isNegated, truncation);
    }

    @Override
    Values values() {
        return areShort() || (bits == 32 && isSigned) ? Values.INTS : Values.LONGS;
    }

    @Override
    FloatToInteger truncation() {
        return truncation;
    }

    @Override
    void read(MemorySegment bytes, long position, Block block, int count) {
        int[] ints = block.ints();
        switch (bits) {
            case 8 -> widen(block.readBytes(bytes, position, count), ints, count);
            case 16 -> widen(block.readShorts(bytes, position, count), ints, count);
            case 32 -> MemorySegment.copy(bytes, Layouts.INT, Layouts.at(position, Integer.BYTES), ints, 0, count);
            default -> MemorySegment.copy(bytes, Layouts.LONG, Layouts.at(position, Long.BYTES), block.longs(), 0,
                    count);
        }
        if (areShort() && !isSigned) {
            int mask = -1 >>> (Integer.SIZE - bits);
            for (int i = 0; i < count; i++) {
                ints[i] &= mask;
            }
        } else if (bits == 32 && !isSigned) {
            long[] longs = block.longs();
            for (int i = 0; i < count; i++) {
                longs[i] = ints[i] & 0xFFFF_FFFFL;
            }
        }
    }

    @Override
    void write(MemorySegment bytes, long position, Block block, int count) {
        switch (bits) {
            case 8 -> {
                narrow(block.ints(), block.storedBytes(), count);
                block.writeBytes(bytes, position, count);
            }
            case 16 -> {
                narrow(block.ints(), block.storedShorts(), count);
                block.writeShorts(bytes, position, count);
            }
            case 32 -> {
                if (!isSigned) {
                    block.longsToInts(count);
                }
                MemorySegment.copy(block.ints(), 0, bytes, Layouts.INT, Layouts.at(position, Integer.BYTES), count);
            }
            default -> MemorySegment.copy(block.longs(), 0, bytes, Layouts.LONG, Layouts.at(position, Long.BYTES),
                    count);
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

    /// Reads elements of 8 or 16 bits to the floats of a block, without the `int`s between. Those without a sign are
    /// read as signed ones that are less by half of their range.
    void readFloats(MemorySegment bytes, long position, Block block, int count) {
        float[] floats = block.floats();
        if (bits == 8) {
            byte[] stored = block.readBytes(bytes, position, count);
            if (isSigned) {
                toFloats(stored, floats, count);
            } else {
                unsignedToFloats(stored, floats, count);
            }
        } else {
            short[] stored = block.readShorts(bytes, position, count);
            if (isSigned) {
                toFloats(stored, floats, count);
            } else {
                unsignedToFloats(stored, floats, count);
            }
        }
    }

    private static void toFloats(byte[] stored, float[] floats, int count) {
        for (int i = 0; i < count; i++) {
            floats[i] = stored[i];
        }
    }

    private static void toFloats(short[] stored, float[] floats, int count) {
        for (int i = 0; i < count; i++) {
            floats[i] = stored[i];
        }
    }

    private static void unsignedToFloats(byte[] stored, float[] floats, int count) {
        for (int i = 0; i < count; i++) {
            stored[i] ^= Byte.MIN_VALUE;
        }
        for (int i = 0; i < count; i++) {
            floats[i] = stored[i] + 0x1p7f;
        }
    }

    private static void unsignedToFloats(short[] stored, float[] floats, int count) {
        for (int i = 0; i < count; i++) {
            stored[i] ^= Short.MIN_VALUE;
        }
        for (int i = 0; i < count; i++) {
            floats[i] = stored[i] + 0x1p15f;
        }
    }

    /// Writes the floats of a block as elements of 8 or 16 bits, without the `int`s between if all fit those.
    void writeFloats(MemorySegment bytes, long position, Block block, int count) {
        if (!FloatToInteger.fitInts(block, count)) {
            truncation.floatsToInts(block, count);
            write(bytes, position, block, count);
            return;
        }
        float[] floats = block.floats();
        if (bits == 8) {
            byte[] stored = block.storedBytes();
            for (int i = 0; i < count; i++) {
                stored[i] = (byte) floats[i];
            }
            block.writeBytes(bytes, position, count);
        } else {
            short[] stored = block.storedShorts();
            for (int i = 0; i < count; i++) {
                stored[i] = (short) floats[i];
            }
            block.writeShorts(bytes, position, count);
        }
    }
}
