package io.undercroft.storage;

import java.lang.foreign.MemorySegment;

/// Copies a tensor with the order of some dimensions turned round. A tensor has no negative strides, so this is the one
/// change of geometry that is no view.
final class Flip {
    private final Tensor source;
    private final Tensor target;
    private final long[] strides;
    private final MemorySegment from;
    private final MemorySegment to;

    private Flip(Tensor source, Tensor target, long[] strides) {
        this.source = source;
        this.target = target;
        this.strides = strides;
        this.from = source.segment();
        this.to = target.segment();
    }

    static Tensor of(Tensor tensor, int[] dims) {
        long[] strides = tensor.stride();
        long start = tensor.offset;
        long seen = 0;
        for (int dim : dims) {
            int d = Shape.checkDim(dim, Math.max(tensor.dim(), 1));
            seen = Views.addOnce(seen, d, dims);
            if (d < tensor.dim() && tensor.numel() > 0) {
                start += (tensor.size(d) - 1) * strides[d];
                strides[d] = -strides[d];
            }
        }
        Tensor flipped = Tensors.empty(tensor, tensor.type.resolved(), MemoryFormat.CONTIGUOUS, Allocator.offHeap());
        if (tensor.numel() > 0 && !tensor.device().isMeta()) {
            new Flip(tensor, flipped, strides).run(start);
        }
        // The bits went over as they are stored, so what the flags mean is still to be carried out.
        Tensor marked = flipped.withType(tensor.type);
        return marked.type.isResolved() ? marked : marked.copy();
    }

    /// Goes through the target in order, and through the source like an odometer.
    private void run(long start) {
        Bulk.run(source.storage, () -> copyElements(start));
    }

    private void copyElements(long start) {
        int rank = source.dim();
        long[] index = new long[rank];
        long position = start;
        for (long next = 0; next < source.numel(); next++) {
            copyElement(position, next);
            int d = rank - 1;
            while (d >= 0 && ++index[d] == source.size(d)) {
                position -= (source.size(d) - 1) * strides[d];
                index[d] = 0;
                d--;
            }
            position += d < 0 ? 0 : strides[d];
        }
    }

    private void copyElement(long position, long next) {
        if (source.dtype().isByteSized()) {
            int itemsize = source.itemsize();
            MemorySegment.copy(from, position * itemsize, to, next * itemsize, itemsize);
        } else {
            target.type.elements.setLong(to, next, target.type.elements.getLong(from, position));
        }
    }
}
