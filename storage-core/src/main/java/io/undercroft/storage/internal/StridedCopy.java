package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.lang.foreign.MemorySegment;

/// Copies the elements of a tensor, in row-major order, to bytes without gaps.
///
/// Dimensions that lie one inside the other without a gap are joined first, so that a copy is made of as few and as
/// long runs as the strides allow. The innermost dimension is one [MemorySegment#copy] if its elements are adjacent,
/// else a loop over elements; the outer ones are counted like an odometer. The heap holds a few numbers for each
/// dimension, whatever the size of the tensor.
public final class StridedCopy {
    private final DType dtype;
    private final MemorySegment source;
    private final MemorySegment target;
    /// Sizes and strides of the joined dimensions, innermost first.
    private final long[] sizes;
    private final long[] strides;
    private final int rank;

    private StridedCopy(Tensor tensor, MemorySegment target) {
        this.dtype = tensor.dtype();
        this.source = tensor.storage().segment();
        this.target = target;
        this.sizes = new long[tensor.dim() + 1];
        this.strides = new long[tensor.dim() + 1];
        this.rank = join(tensor);
    }

    /// Copies all elements and carries out negation and conjugation. Bits of the last byte that no element fills stay
    /// as they are.
    ///
    /// @param tensor what to copy
    /// @param target where to, not overlapping the tensor's storage; the first element goes to byte 0
    /// @throws IndexOutOfBoundsException if the target is too small
    public static void copy(Tensor tensor, MemorySegment target) {
        if (tensor.numel() == 0) {
            return;
        }
        new StridedCopy(tensor, target).run(tensor.storageOffset());
        resolve(tensor, target);
    }

    /// Joins the dimensions; those of size 1 go away.
    private int join(Tensor tensor) {
        int last = 0;
        sizes[0] = 1;
        strides[0] = 1;
        for (int d = tensor.dim() - 1; d >= 0; d--) {
            long size = tensor.size(d);
            long stride = tensor.stride(d);
            if (size == 1) {
                continue;
            }
            if (sizes[last] == 1) {
                sizes[last] = size;
                strides[last] = stride;
            } else if (stride == sizes[last] * strides[last]) {
                sizes[last] *= size;
            } else {
                last++;
                sizes[last] = size;
                strides[last] = stride;
            }
        }
        return last + 1;
    }

    private void run(long offset) {
        long[] index = new long[rank];
        long from = offset;
        long to = 0;
        while (true) {
            copyInnermost(from, to);
            to += sizes[0];
            int d = 1;
            while (d < rank && index[d] == sizes[d] - 1) {
                from -= index[d] * strides[d];
                index[d] = 0;
                d++;
            }
            if (d == rank) {
                return;
            }
            index[d]++;
            from += strides[d];
        }
    }

    private void copyInnermost(long from, long to) {
        if (!dtype.isByteSized()) {
            copyBits(from, to);
            return;
        }
        int itemsize = dtype.itemsize();
        if (strides[0] == 1) {
            MemorySegment.copy(source, from * itemsize, target, to * itemsize, sizes[0] * itemsize);
            return;
        }
        long step = strides[0] * itemsize;
        switch (itemsize) {
            case 1 -> copyBytes(from, to, step);
            case 2 -> copyShorts(from * itemsize, to * itemsize, step);
            case 4 -> copyInts(from * itemsize, to * itemsize, step);
            case 8 -> copyLongs(from * itemsize, to * itemsize, step);
            default -> copyWide(from * itemsize, to * itemsize, step);
        }
    }

    private void copyBytes(long from, long to, long step) {
        for (long i = 0; i < sizes[0]; i++) {
            target.set(Layouts.BYTE, to + i, source.get(Layouts.BYTE, from + i * step));
        }
    }

    private void copyShorts(long from, long to, long step) {
        for (long i = 0; i < sizes[0]; i++) {
            target.set(Layouts.SHORT, to + i * Short.BYTES, source.get(Layouts.SHORT, from + i * step));
        }
    }

    private void copyInts(long from, long to, long step) {
        for (long i = 0; i < sizes[0]; i++) {
            target.set(Layouts.INT, to + i * Integer.BYTES, source.get(Layouts.INT, from + i * step));
        }
    }

    private void copyLongs(long from, long to, long step) {
        for (long i = 0; i < sizes[0]; i++) {
            target.set(Layouts.LONG, to + i * Long.BYTES, source.get(Layouts.LONG, from + i * step));
        }
    }

    private void copyWide(long from, long to, long step) {
        int itemsize = dtype.itemsize();
        for (long i = 0; i < sizes[0]; i++) {
            MemorySegment.copy(source, from + i * step, target, to + i * itemsize, itemsize);
        }
    }

    /// For elements that end inside a byte. Such types are rare and small, so plainness is worth more than speed here.
    private void copyBits(long from, long to) {
        int bits = dtype.bits();
        for (long i = 0; i < sizes[0]; i++) {
            for (int bit = 0; bit < bits; bit++) {
                copyBit((from + i * strides[0]) * bits + bit, (to + i) * bits + bit);
            }
        }
    }

    private void copyBit(long from, long to) {
        int value = source.get(Layouts.BYTE, from / 8) >> (from % 8) & 1;
        int others = target.get(Layouts.BYTE, to / 8) & ~(1 << to % 8);
        target.set(Layouts.BYTE, to / 8, (byte) (others | value << to % 8));
    }

    private static void resolve(Tensor tensor, MemorySegment target) {
        if (!tensor.is(Flag.NEG) && !tensor.is(Flag.CONJ)) {
            return;
        }
        Elements stored = Elements.of(tensor.dtype());
        Elements meant = Elements.of(tensor.dtype(), tensor.flags());
        boolean inexact = tensor.dtype().kind() == Kind.FLOATING || tensor.dtype().kind() == Kind.COMPLEX;
        for (long position = 0; position < tensor.numel(); position++) {
            if (inexact) {
                stored.setComplex(target, position, meant.getDouble(target, position),
                        meant.getImaginary(target, position));
            } else {
                stored.setLong(target, position, meant.getLong(target, position));
            }
        }
    }
}
