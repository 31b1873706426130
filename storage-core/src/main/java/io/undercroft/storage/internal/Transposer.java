package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Transposes tiles of a matrix.
///
/// Rows are copied to an array that stays in the cache, transposed there, and copied to the target. So memory is
/// accessed by runs only, also where the strides are powers of two, whose elements compete for a few places in the
/// cache. Rows that begin in the same cache line or the next are copied at once, with the bytes between them.
final class Transposer {
    /// Bytes of each of the two arrays.
    private static final int CAPACITY = 16 * 1024;
    /// The usual number of columns of a tile.
    private static final int SIDE = 64;
    /// Bytes of a cache line.
    private static final int LINE = 64;

    private final int itemsize;
    private final GatherScatter stepping;
    private final byte[] rows = new byte[CAPACITY];
    private final byte[] columns = new byte[CAPACITY];

    /// Creates a transposer.
    ///
    /// @param itemsize bytes of an element
    Transposer(int itemsize) {
        this.itemsize = itemsize;
        this.stepping = new GatherScatter(itemsize);
    }

    /// {@return layouts cut to tiles that fit the arrays}
    ///
    /// @param tiles layouts that are [transposed][Tiles#areTransposed]
    /// @param itemsize bytes of an element
    static Grid cut(Tiles tiles, int itemsize) {
        long step = tiles.sourceStride(0) * itemsize;
        long height = Math.min(tiles.size(1), Math.max(SIDE, CAPACITY / itemsize / tiles.size(0)));
        return tiles.cut(CAPACITY / Math.max(height * itemsize, step <= LINE ? step : 0), height);
    }

    /// Transposes one tile of [#cut]. Offsets and steps are in bytes.
    ///
    /// @param source the storage that contains it
    /// @param from offset of its first row there
    /// @param fromStep from one row to the next
    /// @param target the target
    /// @param to offset of its first column there, which is a run
    /// @param toStep from one column to the next
    /// @param width number of its rows
    /// @param height number of its columns
    void turn(MemorySegment source, long from, long fromStep, MemorySegment target, long to, long toStep, int width,
            int height) {
        int pitch = fromStep <= LINE ? (int) fromStep : height * itemsize;
        read(source, from, fromStep, pitch, width, height * itemsize);
        for (int column = 0; column < height; column++) {
            stepping.gather(rows, column * itemsize, pitch, columns, column * width * itemsize, width);
        }
        write(target, to, toStep, width * itemsize, height);
    }

    private void read(MemorySegment source, long from, long step, int pitch, int count, int length) {
        if (pitch == step) {
            MemorySegment.copy(source, Layouts.BYTE, from, rows, 0, (count - 1) * pitch + length);
            return;
        }
        for (int row = 0; row < count; row++) {
            MemorySegment.copy(source, Layouts.BYTE, from + row * step, rows, row * pitch, length);
        }
    }

    private void write(MemorySegment target, long to, long step, int length, int count) {
        if (length == step) {
            MemorySegment.copy(columns, 0, target, Layouts.BYTE, to, count * length);
            return;
        }
        for (int column = 0; column < count; column++) {
            MemorySegment.copy(columns, column * length, target, Layouts.BYTE, to + column * step, length);
        }
    }
}
