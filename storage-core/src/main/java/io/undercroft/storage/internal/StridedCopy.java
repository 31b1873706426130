package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.stream.LongStream;

/// Copies the elements of a tensor to another one, or in row-major order to bytes without gaps.
///
/// Elements that keep their bits are moved at once, by runs if they have any ([Tiles], [ElementMover]). Others are
/// copied in tiles through a small buffer, where they are contiguous while they are converted. Several threads share
/// large copies ([ParallelRanges]).
public final class StridedCopy {
    /// The most elements of a tile that is converted, and the side of a square one.
    private static final int TILE = 4096;
    private static final int TILE_SIDE = 64;
    /// The minimum number of adjacent elements that are converted in place, and the maximum at once.
    private static final int LONG_RUN = 256;
    private static final int LONGEST_RUN = 1 << 16;

    private final Side source;
    private final Side target;
    private final Tiles tiles;

    private StridedCopy(Side source, Side target, long[] sizes) {
        this.source = source;
        this.target = target;
        this.tiles = Tiles.of(sizes, source.stride, target.stride);
    }

    /// The elements of one of the two tensors: where they are, and what they mean.
    public static final class Side {
        private final DType dtype;
        private final LazyFlags lazy;
        private final MemorySegment bytes;
        private final long offset;
        private final long[] stride;

        /// The elements of a tensor.
        ///
        /// @param dtype their type
        /// @param lazy what they mean compared with what is stored
        /// @param bytes the bytes of the storage, as many as the tensor needs; for writing if it is the target
        /// @param offset the position of the first element
        /// @param stride the distances between neighbours in elements, one for each dimension
        public Side(DType dtype, LazyFlags lazy, MemorySegment bytes, long offset, long... stride) {
            this.dtype = dtype;
            this.lazy = lazy;
            this.bytes = bytes;
            this.offset = offset;
            this.stride = stride;
        }

        /// Contiguous elements.
        static Side of(DType dtype, MemorySegment bytes, long[] sizes) {
            return new Side(dtype, LazyFlags.NONE, bytes, 0, contiguousStride(sizes));
        }

        /// Some elements of the same tensor.
        Side tile(long first, long... tileStride) {
            return new Side(dtype, lazy, bytes, first, tileStride);
        }

        /// Returns the bytes from the first element to the last.
        MemorySegment extent(long[] sizes) {
            long last = 0;
            for (int d = 0; d < sizes.length; d++) {
                last += (sizes[d] - 1) * stride[d];
            }
            long start = offset * dtype.bits() / 8;
            return bytes.asSlice(start, dtype.nbytes(offset + last + 1) - start);
        }
    }

    /// Copies all elements in row-major order and carries out negation and conjugation. Unused bits of the last byte
    /// are not changed.
    ///
    /// @param source the elements to copy
    /// @param sizes the shape
    /// @param target the destination, not overlapping the source; the first element is written to byte 0
    /// @throws IndexOutOfBoundsException if the target is too small
    public static void copy(Side source, long[] sizes, MemorySegment target) {
        long numel = numel(sizes);
        if (numel > 0) {
            move(source, Side.of(source.dtype, target, sizes), sizes);
            source.lazy.resolve(source.dtype, target, numel);
        }
    }

    /// Copies all elements to those of another tensor, converted to its dtype as PyTorch converts ([Conversion]).
    /// Negation and conjugation of both are carried out: the target then has the values that the source had before,
    /// also where their bytes overlap (PyTorch leaves the outcome of that open).
    ///
    /// @param source the elements to copy
    /// @param target the destination
    /// @param sizes the shape of both
    /// @throws IllegalArgumentException if elements of the target share their place by stride 0
    /// @throws UnsupportedOperationException if the dtypes differ and one of them has no numbers
    public static void copy(Side source, Side target, long[] sizes) {
        long numel = numel(sizes);
        if (numel == 0) {
            return;
        }
        checkApart(target, sizes);
        if (!source.dtype.equals(target.dtype)) {
            // Before memory for some of the elements is allocated.
            Elements.checkNumbers(source.dtype);
            Elements.checkNumbers(target.dtype);
        }
        if (source.extent(sizes).asOverlappingSlice(target.extent(sizes)).isEmpty()) {
            copyApart(source, target, sizes);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            Side aside = Side.of(source.dtype, arena.allocate(source.dtype.nbytes(numel)), sizes);
            copy(source, sizes, aside.bytes);
            copyApart(aside, target, sizes);
        }
    }

    private static long numel(long... sizes) {
        return LongStream.of(sizes).reduce(1, (a, b) -> a * b);
    }

    private static void checkApart(Side target, long... sizes) {
        for (int d = 0; d < sizes.length; d++) {
            if (target.stride[d] == 0 && sizes[d] > 1) {
                throw new IllegalArgumentException("stride 0 of dimension " + d + " puts " + sizes[d]
                        + " elements of the target in one place; copy it first");
            }
        }
    }

    private static void copyApart(Side source, Side target, long[] sizes) {
        if (source.dtype.equals(target.dtype) && source.lazy.equals(target.lazy)) {
            move(source, target, sizes);
        } else {
            new StridedCopy(source, target, sizes).run();
        }
    }

    private static void move(Side source, Side target, long[] sizes) {
        Tiles tiles = Tiles.of(sizes, source.stride, target.stride);
        new ElementMover(source.dtype, source.bytes, target.bytes).move(tiles, source.offset, target.offset);
    }

    private void run() {
        boolean whereTheyAre = areLongRuns();
        Grid grid = whereTheyAre ? tiles.cut(LONGEST_RUN, 1) : grid();
        ParallelRanges.Work work = (first, end) -> grid.forEach(first, end, source.offset, target.offset,
                whereTheyAre ? this::convertRun : buffered());
        if (source.dtype.isByteSized() && target.dtype.isByteSized() && tiles.areApartInTarget()) {
            long itemsize = Math.max(source.dtype.itemsize(), target.dtype.itemsize());
            ParallelRanges.run(grid.count(), grid.tileSize() * itemsize, work, source.bytes, target.bytes);
        } else {
            work.run(0, grid.count());
        }
    }

    /// Returns whether elements can be converted in place.
    private boolean areLongRuns() {
        boolean asStored = source.lazy.areNone() && target.lazy.areNone();
        boolean byteSized = source.dtype.isByteSized() && target.dtype.isByteSized();
        return asStored && byteSized && tiles.haveRuns() && tiles.size(0) >= LONG_RUN;
    }

    /// Tiles that fit a buffer.
    private Grid grid() {
        if (tiles.areCrossed()) {
            return tiles.cut(TILE_SIDE, TILE_SIDE);
        }
        long width = Math.min(tiles.size(0), TILE);
        return tiles.cut(width, TILE / width);
    }

    private void convertRun(long from, long to, long width, long height) {
        Conversion.convert(source.dtype, source.bytes.asSlice(from * source.dtype.itemsize()), target.dtype,
                target.bytes.asSlice(to * target.dtype.itemsize()), width, Convention.PYTORCH);
    }

    /// Returns the converter of tiles through its own buffers.
    private Grid.Visitor buffered() {
        MemorySegment read = MemorySegment.ofArray(new byte[TILE * source.dtype.itemsize()]);
        MemorySegment converted = MemorySegment.ofArray(new byte[TILE * target.dtype.itemsize()]);
        return (from, to, width, height) -> convert(from, to, new long[]{height, width}, read, converted);
    }

    private void convert(long from, long to, long[] sizes, MemorySegment read, MemorySegment converted) {
        long numel = sizes[0] * sizes[1];
        move(source.tile(from, tiles.sourceStride(1), tiles.sourceStride(0)), Side.of(source.dtype, read, sizes),
                sizes);
        source.lazy.resolve(source.dtype, read, numel);
        Conversion.convert(source.dtype, read, target.dtype, converted, numel, Convention.PYTORCH);
        target.lazy.resolve(target.dtype, converted, numel);
        move(Side.of(target.dtype, converted, sizes),
                target.tile(to, tiles.targetStride(1), tiles.targetStride(0)), sizes);
    }

    private static long[] contiguousStride(long[] sizes) {
        long[] stride = new long[sizes.length];
        long step = 1;
        for (int d = sizes.length - 1; d >= 0; d--) {
            stride[d] = step;
            step *= sizes[d];
        }
        return stride;
    }
}
