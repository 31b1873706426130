package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.internal.Grid.Visitor;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/// Moves the elements of one layout to another without conversion: by runs, by transposed tiles, or through a small
/// array.
///
/// @param dtype the type of the elements
/// @param source the storage that contains them
/// @param target the destination; not overlapping the source
record ElementMover(DType dtype, MemorySegment source, MemorySegment target) {
    /// Elements of the side of a square tile; as many as there are in one are the longest run.
    private static final int SIDE = 32;
    /// Bytes of the shortest runs that are worth a copy each.
    private static final long LONG_RUN = 64;
    /// Bytes of the longest copies: JDK 25 writes past the cache from some megabytes on, which spares reading the
    /// target.
    private static final long LONGEST_RUN = 8 << 20;

    /// The way in which tiles are moved.
    ///
    /// @param grid the tiles
    /// @param way makes what moves them, one for each thread
    private record Plan(Grid grid, Supplier<Visitor> way) {}

    /// Moves all elements of two layouts, by several threads if they are many.
    ///
    /// @param tiles the layouts
    /// @param from position of the first element in the source
    /// @param to position of the first element in the target
    void move(Tiles tiles, long from, long to) {
        Plan plan = plan(tiles);
        ParallelRanges.Work work = (first, end) -> plan.grid.forEach(first, end, from, to, plan.way.get());
        if (dtype.isByteSized() && tiles.areApartInTarget()) {
            ParallelRanges.run(plan.grid.count(), plan.grid.tileSize() * dtype.itemsize(), work, source, target);
        } else {
            work.run(0, plan.grid.count());
        }
    }

    private Plan plan(Tiles tiles) {
        int itemsize = dtype.itemsize();
        if (!dtype.isByteSized()) {
            return new Plan(tiles.cut(tiles.size(0), 1), () -> (f, t, width, height) -> copyBits(tiles, f, t, width));
        }
        boolean haveLongRuns = tiles.haveRuns() && tiles.size(0) * itemsize >= LONG_RUN;
        if (haveLongRuns || itemsize >= LONG_RUN) {
            return new Plan(tiles.cut(haveLongRuns ? LONGEST_RUN / itemsize : 1, 1), () -> this::copyRun);
        } else if (tiles.areTransposed()) {
            return new Plan(Transposer.cut(tiles, itemsize), () -> turner(tiles));
        }
        return new Plan(tiles.areCrossed() ? tiles.cut(SIDE, SIDE) : tiles.cut(SIDE * SIDE, SIDE),
                () -> stepper(tiles));
    }

    private void copyRun(long from, long to, long width, long height) {
        MemorySegment.copy(source, nbytes(from), target, nbytes(to), nbytes(width));
    }

    private Visitor turner(Tiles tiles) {
        Transposer transposer = new Transposer(dtype.itemsize());
        long fromStep = nbytes(tiles.sourceStride(0));
        long toStep = nbytes(tiles.targetStride(1));
        return (from, to, width, height) -> transposer.turn(source, nbytes(from), fromStep, target, nbytes(to), toStep,
                (int) width, (int) height);
    }

    private Visitor stepper(Tiles tiles) {
        GatherScatter stepping = new GatherScatter(dtype.itemsize());
        byte[] run = new byte[(int) nbytes(Math.min(tiles.size(0), SIDE * SIDE))];
        long fromStep = nbytes(tiles.sourceStride(0));
        long toStep = nbytes(tiles.targetStride(0));
        return (from, to, width, height) -> {
            for (long y = 0; y < height; y++) {
                stepping.read(source, nbytes(from + y * tiles.sourceStride(1)), fromStep, run, (int) width);
                stepping.write(run, target, nbytes(to + y * tiles.targetStride(1)), toStep, (int) width);
            }
        };
    }

    private long nbytes(long elements) {
        return elements * dtype.itemsize();
    }

    /// For elements that end inside a byte. Such types are rare, so simplicity matters more than speed.
    private void copyBits(Tiles tiles, long from, long to, long count) {
        long bits = dtype.bits();
        for (long i = 0; i < count; i++) {
            copyBits((from + i * tiles.sourceStride(0)) * bits, (to + i * tiles.targetStride(0)) * bits, bits);
        }
    }

    private void copyBits(long from, long to, long count) {
        long whole = from % 8 == 0 && to % 8 == 0 ? count / 8 : 0;
        MemorySegment.copy(source, from / 8, target, to / 8, whole);
        for (long bit = 8 * whole; bit < count; bit++) {
            copyBit(from + bit, to + bit);
        }
    }

    private void copyBit(long from, long to) {
        int value = source.get(Layouts.BYTE, from / 8) >> (from % 8) & 1;
        int others = target.get(Layouts.BYTE, to / 8) & ~(1 << to % 8);
        target.set(Layouts.BYTE, to / 8, (byte) (others | value << to % 8));
    }
}
