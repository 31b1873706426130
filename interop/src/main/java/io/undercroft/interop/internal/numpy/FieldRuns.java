package io.undercroft.interop.internal.numpy;

import io.undercroft.interop.internal.numpy.ArrayBytes.Part;
import io.undercroft.storage.Shape;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// The runs of bytes that a field has in the records of an array: as many in each record, of one length, at equal
/// distances in each dimension.
public final class FieldRuns {
    private final long offset;
    private final long[] counts;
    private final long[] steps;
    private final long length;

    /// @param offset where the first one starts
    /// @param counts how many there are, in each dimension, outermost first
    /// @param steps the distances between them in bytes, of each dimension
    /// @param length the bytes of each
    public FieldRuns(long offset, long[] counts, long[] steps, long length) {
        this.offset = offset;
        this.counts = counts;
        this.steps = steps;
        this.length = length;
    }

    /// {@return the same runs, those that follow each other without gaps as one}
    public FieldRuns joined() {
        int dims = counts.length;
        long joined = length;
        while (dims > 0 && (counts[dims - 1] == 1 || steps[dims - 1] == joined)) {
            dims--;
            joined *= counts[dims];
        }
        return new FieldRuns(offset, Arrays.copyOf(counts, dims), Arrays.copyOf(steps, dims), joined);
    }

    /// {@return a value that is equal for equal runs}
    Object form() {
        FieldRuns joined = joined();
        return List.of(joined.offset, joined.length, Shape.of(joined.counts),
                Arrays.stream(joined.steps).boxed().toList());
    }

    /// {@return how many bytes all runs have}
    public long nbytes() {
        return Math.multiplyExact(count(), length);
    }

    private long count() {
        return length == 0 ? 0 : Shape.of(counts).numel();
    }

    private long start(long run) {
        return offset + position(run, counts, steps);
    }

    /// {@return the position of an element}
    ///
    /// @param index its index in row-major order
    /// @param sizes the sizes of the dimensions, outermost first
    /// @param strides the distances from one element to the next, of each dimension
    static long position(long index, long[] sizes, long[] strides) {
        long position = 0;
        long rest = index;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            position += rest % sizes[dim] * strides[dim];
            rest /= sizes[dim];
        }
        return position;
    }

    /// {@return what copies the runs out of the parts of the records, which it has to be given in their order}
    ///
    /// @param into as many bytes as the runs have
    public Part gathering(MemorySegment into) {
        return new Part() {
            private final long count = count();
            private long run;

            @Override
            public void accept(long position, MemorySegment bytes) {
                long end = position + bytes.byteSize();
                while (run < count) {
                    long start = start(run);
                    long from = Math.max(start, position);
                    long to = Math.min(start + length, end);
                    if (from < to) {
                        MemorySegment.copy(bytes, from - position, into, run * length + from - start, to - from);
                    }
                    if (start + length > end) {
                        return;
                    }
                    run++;
                }
            }
        };
    }

    /// Copies the runs of some records to their places.
    ///
    /// @param from the bytes of the runs, one after the other
    /// @param into the bytes of the records
    public void scatter(MemorySegment from, MemorySegment into) {
        long count = count();
        for (long run = 0; run < count; run++) {
            MemorySegment.copy(from, run * length, into, start(run), length);
        }
    }
}
