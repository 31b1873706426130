package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Turns tiles of a matrix: what lay in rows then lies in columns.
///
/// Rows are copied to an array that stays in the first-level cache, turned there, and copied on. So memory is touched by
/// runs only, also where the strides are powers of two, whose elements compete for a few places in the cache.
abstract sealed class Transposer {
    /// Rows and columns of a full tile.
    final int side;
    private final int itemsize;
    private final MemorySegment rows;
    private final MemorySegment columns;

    private Transposer(int side, int itemsize, MemorySegment rows, MemorySegment columns) {
        this.side = side;
        this.itemsize = itemsize;
        this.rows = rows;
        this.columns = columns;
    }

    /// {@return whether there is a transposer for elements}
    ///
    /// @param itemsize bytes of an element
    static boolean exists(int itemsize) {
        return itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
    }

    /// {@return a transposer for elements}
    ///
    /// @param itemsize bytes of an element: 1, 2, 4 or 8
    static Transposer of(int itemsize) {
        return switch (itemsize) {
            case 1 -> new Bytes(new byte[64 * 64], new byte[64 * 64]);
            case 2 -> new Shorts(new short[64 * 64], new short[64 * 64]);
            case 4 -> new Ints(new int[64 * 64], new int[64 * 64]);
            case 8 -> new Longs(new long[32 * 32], new long[32 * 32]);
            default -> throw new IllegalArgumentException("elements of " + itemsize + " bytes");
        };
    }

    /// Turns one tile. Offsets and steps are in bytes.
    ///
    /// @param source where it is
    /// @param from offset of its first row there
    /// @param fromStep from one row to the next
    /// @param target where it goes
    /// @param to offset of its first column there, which is a run
    /// @param toStep from one column to the next
    /// @param width number of its rows, at most [#side]
    /// @param height number of its columns, at most [#side]
    final void turn(MemorySegment source, long from, long fromStep, MemorySegment target, long to, long toStep,
            long width, long height) {
        long pitch = (long) side * itemsize;
        for (long row = 0; row < width; row++) {
            MemorySegment.copy(source, from + row * fromStep, rows, row * pitch, height * itemsize);
        }
        turn();
        for (long column = 0; column < height; column++) {
            MemorySegment.copy(columns, column * pitch, target, to + column * toStep, width * itemsize);
        }
    }

    /// Turns a full tile in the cache. What lies beyond the edges of a smaller one goes along and is not read.
    abstract void turn();

    /// Elements of one byte, eight rows and columns at a time: each row is a `long`, and the eight are turned by swapping
    /// blocks of 1, 2 and 4 bytes.
    private static final class Bytes extends Transposer {
        private static final long EVERY_SECOND_BYTE = 0x00FF_00FF_00FF_00FFL;
        private static final long EVERY_SECOND_SHORT = 0x0000_FFFF_0000_FFFFL;
        private static final long EVERY_SECOND_INT = 0x0000_0000_FFFF_FFFFL;

        private final byte[] rows;
        private final byte[] columns;
        private final long[] eight = new long[8];

        Bytes(byte[] rows, byte[] columns) {
            super(64, Byte.BYTES, MemorySegment.ofArray(rows), MemorySegment.ofArray(columns));
            this.rows = rows;
            this.columns = columns;
        }

        @Override
        void turn() {
            MemorySegment from = MemorySegment.ofArray(rows);
            MemorySegment to = MemorySegment.ofArray(columns);
            for (int row = 0; row < 64; row += 8) {
                for (int column = 0; column < 64; column += 8) {
                    for (int i = 0; i < 8; i++) {
                        eight[i] = from.get(Layouts.LONG, (row + i) * 64L + column);
                    }
                    turnEight();
                    for (int i = 0; i < 8; i++) {
                        to.set(Layouts.LONG, (column + i) * 64L + row, eight[i]);
                    }
                }
            }
        }

        private void turnEight() {
            for (int i = 0; i < 8; i += 2) {
                swap(i, i + 1, Byte.SIZE, EVERY_SECOND_BYTE);
            }
            for (int i = 0; i < 8; i += 4) {
                swap(i, i + 2, Short.SIZE, EVERY_SECOND_SHORT);
                swap(i + 1, i + 3, Short.SIZE, EVERY_SECOND_SHORT);
            }
            for (int i = 0; i < 4; i++) {
                swap(i, i + 4, Integer.SIZE, EVERY_SECOND_INT);
            }
        }

        /// Swaps the upper blocks of one row with the lower blocks of another.
        private void swap(int first, int second, int width, long lower) {
            long difference = (eight[first] >>> width ^ eight[second]) & lower;
            eight[first] ^= difference << width;
            eight[second] ^= difference;
        }
    }

    /// Elements of two bytes.
    private static final class Shorts extends Transposer {
        private final short[] rows;
        private final short[] columns;

        Shorts(short[] rows, short[] columns) {
            super(64, Short.BYTES, MemorySegment.ofArray(rows), MemorySegment.ofArray(columns));
            this.rows = rows;
            this.columns = columns;
        }

        @Override
        void turn() {
            for (int column = 0; column < 64; column++) {
                for (int row = 0; row < 64; row++) {
                    columns[column * 64 + row] = rows[row * 64 + column];
                }
            }
        }
    }

    /// Elements of four bytes.
    private static final class Ints extends Transposer {
        private final int[] rows;
        private final int[] columns;

        Ints(int[] rows, int[] columns) {
            super(64, Integer.BYTES, MemorySegment.ofArray(rows), MemorySegment.ofArray(columns));
            this.rows = rows;
            this.columns = columns;
        }

        @Override
        void turn() {
            for (int column = 0; column < 64; column++) {
                for (int row = 0; row < 64; row++) {
                    columns[column * 64 + row] = rows[row * 64 + column];
                }
            }
        }
    }

    /// Elements of eight bytes.
    private static final class Longs extends Transposer {
        private final long[] rows;
        private final long[] columns;

        Longs(long[] rows, long[] columns) {
            super(32, Long.BYTES, MemorySegment.ofArray(rows), MemorySegment.ofArray(columns));
            this.rows = rows;
            this.columns = columns;
        }

        @Override
        void turn() {
            for (int column = 0; column < 32; column++) {
                for (int row = 0; row < 32; row++) {
                    columns[column * 32 + row] = rows[row * 32 + column];
                }
            }
        }
    }
}
