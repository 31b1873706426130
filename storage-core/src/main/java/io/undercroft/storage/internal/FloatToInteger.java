package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Conversions of floating-point numbers to integers. In C the result is undefined where the number does not fit; these
/// are the results of the instructions that C compilers choose on x86-64, and so those of PyTorch and Torch7. The
/// integer is then truncated to the width of its dtype: 300.7 is 44 as uint8, where a Java cast would give 255.
enum FloatToInteger {
    /// Through a 32-bit integer: a number that does not fit, and NaN, is -2^31.
    TO_INT(0x1p31) {
        @Override
        long of(double value) {
            return value > -0x1p31 - 1 && value < 0x1p31 ? (long) value : Integer.MIN_VALUE;
        }
    },
    /// Through a 64-bit integer: a number that does not fit, and NaN, is -2^63.
    TO_LONG(0x1p63) {
        @Override
        long of(double value) {
            return value < 0x1p63 ? (long) value : Long.MIN_VALUE;
        }
    },
    /// Through an unsigned 64-bit integer, which is computed from a signed one: a number that does not fit the upper
    /// half either is 0.
    TO_UNSIGNED_LONG(0x1p63) {
        @Override
        long of(double value) {
            return value >= 0x1p63 ? TO_LONG.of(value - 0x1p63) ^ Long.MIN_VALUE : TO_LONG.of(value);
        }
    },
    /// 0 for 0, and 1 for all else, NaN too.
    TO_TRUTH(0) {
        @Override
        long of(double value) {
            return value == 0 ? 0 : 1;
        }
    };

    private static final int BITS_OF_2_31 = Float.floatToRawIntBits(0x1p31f);

    /// Numbers nearer to 0 than this are truncated as Java truncates them.
    private final long plainBelow;

    FloatToInteger(double plainBelow) {
        this.plainBelow = Double.doubleToRawLongBits(plainBelow);
    }

    /// {@return the truncation of numbers for integers in PyTorch}
    ///
    /// @param bits their width
    /// @param signed whether they have a sign
    static FloatToInteger of(int bits, boolean signed) {
        return switch (bits) {
            case 64 -> signed ? TO_LONG : TO_UNSIGNED_LONG;
            case 32 -> signed ? TO_INT : TO_LONG;
            case 16 -> TO_INT;
            default -> signed ? TO_INT : TO_LONG;
        };
    }

    /// {@return the integer for a number, of which a dtype narrower than 64 bits takes the lower bits}
    ///
    /// @param value the number
    abstract long of(double value);

    /// Truncates the doubles of a block to its longs.
    void doublesToLongs(Block block, int count) {
        double[] values = block.doubles();
        long[] integers = block.longs();
        if (arePlain(values, integers, count)) {
            for (int i = 0; i < count; i++) {
                integers[i] = (long) values[i];
            }
        } else {
            for (int i = 0; i < count; i++) {
                integers[i] = of(values[i]);
            }
        }
    }

    /// Truncates the floats of a block to its longs.
    void floatsToLongs(Block block, int count) {
        float[] values = block.floats();
        long[] integers = block.longs();
        if (this != TO_TRUTH && fitInts(block, count)) {
            for (int i = 0; i < count; i++) {
                integers[i] = (long) values[i];
            }
        } else {
            for (int i = 0; i < count; i++) {
                integers[i] = of(values[i]);
            }
        }
    }

    /// Truncates the floats of a block to its ints, which receive the lower 32 bits of the integers.
    void floatsToInts(Block block, int count) {
        float[] values = block.floats();
        int[] integers = block.ints();
        if (fitInts(block, count)) {
            for (int i = 0; i < count; i++) {
                integers[i] = (int) values[i];
            }
        } else {
            for (int i = 0; i < count; i++) {
                integers[i] = (int) of(values[i]);
            }
        }
    }

    /// Returns whether all numbers are nearer to 0 than 2^31, so that every truncation except [#TO_TRUTH] is that of
    /// Java. Compares bits, like the next method. The `int`s of the block become those of its floats.
    static boolean fitInts(Block block, int count) {
        int[] bits = block.ints();
        MemorySegment.copy(MemorySegment.ofArray(block.floats()), 0, MemorySegment.ofArray(bits), 0, 4L * count);
        int signs = 0;
        for (int i = 0; i < count; i++) {
            signs |= BITS_OF_2_31 - 1 - (bits[i] & Integer.MAX_VALUE);
        }
        return signs >= 0;
    }

    /// Returns whether all are below the limit. Looks at bits because the JIT vectorises that, and not a comparison of
    /// doubles.
    ///
    /// @param bits gets the bits of the numbers
    private boolean arePlain(double[] values, long[] bits, int count) {
        MemorySegment.copy(MemorySegment.ofArray(values), 0, MemorySegment.ofArray(bits), 0, 8L * count);
        long signs = 0;
        for (int i = 0; i < count; i++) {
            signs |= plainBelow - 1 - (bits[i] & Long.MAX_VALUE);
        }
        return signs >= 0;
    }
}
