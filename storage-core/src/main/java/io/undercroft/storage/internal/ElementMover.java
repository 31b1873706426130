package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import java.lang.foreign.MemorySegment;

/// Moves the bits of one element at a time, of the elements of a tile.
///
/// @param dtype the type of the elements
/// @param source where they are
/// @param target where they go; not overlapping the source
record ElementMover(DType dtype, MemorySegment source, MemorySegment target) {
    private static final int TILE = 32;
    private static final long LONG_RUN = 64;

    /// Moves all elements of two layouts.
    ///
    /// @param tiles the layouts
    /// @param from position of the first element in the source
    /// @param to position of the first element in the target
    void move(Tiles tiles, long from, long to) {
        int itemsize = dtype.itemsize();
        if (!dtype.isByteSized()) {
            tiles.forEach(from, to, tiles.size(0), 1, (f, t, width, height) -> copyBits(tiles, f, t, width));
        } else if (tiles.haveRuns() && tiles.size(0) * itemsize >= LONG_RUN) {
            tiles.forEach(from, to, tiles.size(0), 1, (f, t, width, height) -> MemorySegment.copy(source, f * itemsize,
                    target, t * itemsize, width * itemsize));
        } else if (tiles.areTransposed() && Transposer.exists(itemsize)) {
            Transposer transposer = Transposer.of(itemsize);
            tiles.forEach(from, to, transposer.side, transposer.side,
                    (f, t, width, height) -> transposer.turn(source, f * itemsize, tiles.sourceStride(0) * itemsize,
                            target, t * itemsize, tiles.targetStride(1) * itemsize, width, height));
        } else if (tiles.areCrossed()) {
            tiles.forEach(from, to, TILE, TILE, (f, t, width, height) -> tile(tiles, f, t, width, height));
        } else {
            tiles.forEach(from, to, tiles.size(0), 1, (f, t, width, height) -> tile(tiles, f, t, width, height));
        }
    }

    private void tile(Tiles tiles, long from, long to, long width, long height) {
        int itemsize = dtype.itemsize();
        long fromStep = tiles.sourceStride(0) * itemsize;
        long toStep = tiles.targetStride(0) * itemsize;
        for (long y = 0; y < height; y++) {
            long rowFrom = (from + y * tiles.sourceStride(1)) * itemsize;
            long rowTo = (to + y * tiles.targetStride(1)) * itemsize;
            switch (itemsize) {
                case 1 -> copyBytes(rowFrom, fromStep, rowTo, toStep, width);
                case 2 -> copyShorts(rowFrom, fromStep, rowTo, toStep, width);
                case 4 -> copyInts(rowFrom, fromStep, rowTo, toStep, width);
                case 8 -> copyLongs(rowFrom, fromStep, rowTo, toStep, width);
                default -> copyWide(rowFrom, fromStep, rowTo, toStep, width);
            }
        }
    }

    private void copyBytes(long from, long fromStep, long to, long toStep, long count) {
        for (long i = 0; i < count; i++) {
            target.set(Layouts.BYTE, to + i * toStep, source.get(Layouts.BYTE, from + i * fromStep));
        }
    }

    private void copyShorts(long from, long fromStep, long to, long toStep, long count) {
        for (long i = 0; i < count; i++) {
            target.set(Layouts.SHORT, to + i * toStep, source.get(Layouts.SHORT, from + i * fromStep));
        }
    }

    private void copyInts(long from, long fromStep, long to, long toStep, long count) {
        for (long i = 0; i < count; i++) {
            target.set(Layouts.INT, to + i * toStep, source.get(Layouts.INT, from + i * fromStep));
        }
    }

    private void copyLongs(long from, long fromStep, long to, long toStep, long count) {
        for (long i = 0; i < count; i++) {
            target.set(Layouts.LONG, to + i * toStep, source.get(Layouts.LONG, from + i * fromStep));
        }
    }

    private void copyWide(long from, long fromStep, long to, long toStep, long count) {
        for (long i = 0; i < count; i++) {
            MemorySegment.copy(source, from + i * fromStep, target, to + i * toStep, dtype.itemsize());
        }
    }

    /// For elements that end inside a byte. Such types are rare and small, so plainness is worth more than speed here.
    private void copyBits(Tiles tiles, long from, long to, long count) {
        int bits = dtype.bits();
        for (long i = 0; i < count; i++) {
            for (int bit = 0; bit < bits; bit++) {
                copyBit((from + i * tiles.sourceStride(0)) * bits + bit, (to + i * tiles.targetStride(0)) * bits + bit);
            }
        }
    }

    private void copyBit(long from, long to) {
        int value = source.get(Layouts.BYTE, from / 8) >> (from % 8) & 1;
        int others = target.get(Layouts.BYTE, to / 8) & ~(1 << to % 8);
        target.set(Layouts.BYTE, to / 8, (byte) (others | value << to % 8));
    }
}
