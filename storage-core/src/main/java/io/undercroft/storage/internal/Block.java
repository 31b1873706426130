package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.ArrayBlockingQueue;
import org.jspecify.annotations.Nullable;

/// A few elements that are converted from one dtype to another, as Java values of one of three types.
///
/// They are heap arrays on purpose: the JIT vectorises loops over arrays, independent of the kinds of memory segments
/// that the program uses, and a block fits in the first-level cache. The loops here and in [Elements] have the
/// simplest forms that JDK 25 vectorises, which is why some convert in two steps: between `int` and the narrower types
/// only through `float` (exact for values of 24 bits) or `long`. No loop accesses a memory segment: until C2 has
/// compiled it, which takes up to a second, such a loop takes a thousand times as long. To read the bits of
/// floating-point numbers, they are copied to an array of integers.
final class Block {
    /// The maximum number of values in a block.
    static final int VALUES = 2048;
    /// The maximum size of the elements of a block in bytes. With it, the arrays of a block and the elements on both
    /// sides fit in the first-level cache.
    private static final int BYTES = 8192;
    /// The most bytes of blocks with as many numbers: five for four numbers, of Q8_1; and 8, which are read at once.
    private static final int MOST_BYTES = VALUES * 5 / 4 + Long.BYTES;
    /// Blocks that no conversion uses. They are reused because new arrays are in no cache, and a conversion of a few
    /// thousand elements takes half as long without new arrays.
    private static final ArrayBlockingQueue<Block> SPARE = new ArrayBlockingQueue<>(8);

    /// The Java type that can represent all values of a dtype.
    enum Values {
        /// Integers that fit 32 bits with a sign.
        INTS,
        /// Other integers and truth values; those of uint64 from 2^63 on are negative.
        LONGS,
        /// Floating-point numbers of up to 32 bits.
        FLOATS,
        /// The same numbers in their stored form, two in a `long`, the first in its lower half. The upper half of the
        /// last `long` is undefined if their count is odd.
        FLOAT_PAIRS,
        /// Floating-point numbers of 64 bits.
        DOUBLES;

        /// {@return whether the values are floats, in pairs or not}
        boolean areFloats() {
            return this == FLOATS || this == FLOAT_PAIRS;
        }
    }

    /// An operation on the first values of a block.
    interface Step {
        /// Applies the operation.
        ///
        /// @param block the block
        /// @param count the number of values
        void apply(Block block, int count);

        /// {@return this step and then another one}
        ///
        /// @param next the other one
        default Step then(Step next) {
            return (block, count) -> {
                apply(block, count);
                next.apply(block, count);
            };
        }
    }

    private int @Nullable [] ints;
    private long @Nullable [] longs;
    private float @Nullable [] floats;
    private float @Nullable [] factors;
    private double @Nullable [] doubles;
    private byte @Nullable [] storedBytes;
    private byte @Nullable [] storedBlocks;
    private short @Nullable [] storedShorts;

    private Block() {}

    /// {@return a block whose values are undefined} Its arrays are allocated when they are first needed, since a
    /// conversion uses few of them.
    static Block take() {
        Block spare = SPARE.poll();
        return spare == null ? new Block() : spare;
    }

    /// {@return the number of elements of a block, a multiple of eight}
    ///
    /// @param itemsize the size of the elements in bytes, of the larger ones if they are converted
    /// @param parts the number of values of an element: 2 if it is complex
    static int elements(int itemsize, int parts) {
        return Math.min(VALUES / parts, BYTES / itemsize);
    }

    /// Releases this block for use by other conversions.
    void release() {
        SPARE.offer(this);
    }

    int[] ints() {
        if (ints == null) {
            ints = new int[VALUES];
        }
        return ints;
    }

    long[] longs() {
        if (longs == null) {
            longs = new long[VALUES];
        }
        return longs;
    }

    float[] floats() {
        if (floats == null) {
            floats = new float[VALUES];
        }
        return floats;
    }

    double[] doubles() {
        if (doubles == null) {
            doubles = new double[VALUES];
        }
        return doubles;
    }

    /// Elements of one byte as they are stored.
    byte[] storedBytes() {
        if (storedBytes == null) {
            storedBytes = new byte[VALUES];
        }
        return storedBytes;
    }

    /// Elements of two bytes as they are stored.
    short[] storedShorts() {
        if (storedShorts == null) {
            storedShorts = new short[VALUES];
        }
        return storedShorts;
    }

    /// Numbers that others are multiplied by.
    float[] factors() {
        if (factors == null) {
            factors = new float[VALUES];
        }
        return factors;
    }

    /// Blocks of numbers as they are stored.
    byte[] storedBlocks() {
        if (storedBlocks == null) {
            storedBlocks = new byte[MOST_BYTES];
        }
        return storedBlocks;
    }

    /// Reads elements of one byte, and returns them as they are stored.
    byte[] readBytes(MemorySegment bytes, long position, int count) {
        MemorySegment.copy(bytes, Layouts.BYTE, position, storedBytes(), 0, count);
        return storedBytes();
    }

    /// Writes elements of one byte.
    void writeBytes(MemorySegment bytes, long position, int count) {
        MemorySegment.copy(storedBytes(), 0, bytes, Layouts.BYTE, position, count);
    }

    /// Reads elements of two bytes, and returns them as they are stored.
    short[] readShorts(MemorySegment bytes, long position, int count) {
        MemorySegment.copy(bytes, Layouts.SHORT, Layouts.at(position, Short.BYTES), storedShorts(), 0, count);
        return storedShorts();
    }

    /// Writes elements of two bytes.
    void writeShorts(MemorySegment bytes, long position, int count) {
        MemorySegment.copy(storedShorts(), 0, bytes, Layouts.SHORT, Layouts.at(position, Short.BYTES), count);
    }

    void intsToLongs(int count) {
        int[] ints = ints();
        long[] longs = longs();
        for (int i = 0; i < count; i++) {
            longs[i] = ints[i];
        }
    }

    void intsToFloats(int count) {
        int[] ints = ints();
        float[] floats = floats();
        for (int i = 0; i < count; i++) {
            floats[i] = (float) ints[i];
        }
    }

    void intsToDoubles(int count) {
        int[] ints = ints();
        double[] doubles = doubles();
        for (int i = 0; i < count; i++) {
            doubles[i] = ints[i];
        }
    }

    /// Keeps the lower bits of each.
    void longsToInts(int count) {
        int[] ints = ints();
        long[] longs = longs();
        for (int i = 0; i < count; i++) {
            ints[i] = (int) longs[i];
        }
    }

    void longsToFloats(int count) {
        long[] longs = longs();
        float[] floats = floats();
        for (int i = 0; i < count; i++) {
            floats[i] = (float) longs[i];
        }
    }

    void longsToDoubles(int count) {
        long[] longs = longs();
        double[] doubles = doubles();
        for (int i = 0; i < count; i++) {
            doubles[i] = (double) longs[i];
        }
    }

    void unsignedLongsToFloats(int count) {
        long[] longs = longs();
        float[] floats = floats();
        for (int i = 0; i < count; i++) {
            floats[i] = Unsigned.toFloat(longs[i]);
        }
    }

    void unsignedLongsToDoubles(int count) {
        long[] longs = longs();
        double[] doubles = doubles();
        for (int i = 0; i < count; i++) {
            doubles[i] = Unsigned.toDouble(longs[i]);
        }
    }

    void floatsToDoubles(int count) {
        float[] floats = floats();
        double[] doubles = doubles();
        for (int i = 0; i < count; i++) {
            doubles[i] = floats[i];
        }
    }

    void doublesToFloats(int count) {
        float[] floats = floats();
        double[] doubles = doubles();
        for (int i = 0; i < count; i++) {
            floats[i] = (float) doubles[i];
        }
    }

    void pairsToFloats(int count) {
        MemorySegment.copy(MemorySegment.ofArray(longs()), 0, MemorySegment.ofArray(floats()), 0, 4L * count);
    }

    void floatsToPairs(int count) {
        MemorySegment.copy(MemorySegment.ofArray(floats()), 0, MemorySegment.ofArray(longs()), 0, 4L * count);
    }

    /// Keeps one part of each complex number.
    ///
    /// @param parts the values that are its parts, floats or doubles
    /// @param isEither whether to keep a part that is not 0, if there is one; otherwise the real part
    /// @param count the number of complex numbers
    void keepOneOfTwo(Values parts, boolean isEither, int count) {
        if (parts == Values.FLOATS) {
            float[] floats = floats();
            for (int i = 0; i < count; i++) {
                floats[i] = isEither && floats[2 * i] == 0 ? floats[2 * i + 1] : floats[2 * i];
            }
        } else {
            double[] doubles = doubles();
            for (int i = 0; i < count; i++) {
                doubles[i] = isEither && doubles[2 * i] == 0 ? doubles[2 * i + 1] : doubles[2 * i];
            }
        }
    }

    /// Makes each value a complex number. Runs backwards, so that no value is overwritten before it is moved.
    ///
    /// @param parts the values that become its parts
    /// @param count the number of values
    void addImaginary(Values parts, int count) {
        if (parts == Values.FLOATS) {
            float[] floats = floats();
            for (int i = count - 1; i >= 0; i--) {
                floats[2 * i] = floats[i];
                floats[2 * i + 1] = 0;
            }
        } else {
            double[] doubles = doubles();
            for (int i = count - 1; i >= 0; i--) {
                doubles[2 * i] = doubles[i];
                doubles[2 * i + 1] = 0;
            }
        }
    }
}
