package io.undercroft.interop.internal;

import io.undercroft.storage.Tensor;
import java.util.Iterator;
import java.util.stream.LongStream;

/// A tensor, divided into views of some megabytes in row-major order, so that its elements can be copied without memory
/// for all of them, for any shape and strides.
///
/// Immutable and safe for any thread.
public final class TensorSlices implements Iterable<Tensor> {
    /// The most bytes of a slab, unless a single element has more.
    private static final long NBYTES = 1 << 23;
    /// The most bytes of a slab whose rows are gathered.
    private static final long MOST_NBYTES = 8 * NBYTES;
    /// The size of a cache line. If neighbours in a row are apart, those in a column are often adjacent, and with a
    /// slab of less than a line of each column every line would be loaded into the cache several times.
    private static final long LINE = 64;

    private final Tensor tensor;
    /// The dimension that is divided. A slab has one index of each dimension before it, and all of those after it.
    private final int cut;
    /// The number of indices of that dimension in a slab.
    private final long length;
    private final long rowBytes;

    private TensorSlices(Tensor tensor, int cut, long length, long rowBytes) {
        this.tensor = tensor;
        this.cut = cut;
        this.length = length;
        this.rowBytes = rowBytes;
    }

    /// {@return a tensor, cut}
    ///
    /// @param tensor a tensor of elements of whole bytes
    public static TensorSlices of(Tensor tensor) {
        Tensor whole = tensor.dim() == 0 ? tensor.unsqueeze(0) : tensor;
        int cut = whole.dim() - 1;
        long most = nbytes(whole.size(cut), whole.stride(cut));
        long rowBytes = whole.itemsize();
        while (cut > 0 && whole.numel() > 0 && whole.size(cut) <= most / rowBytes) {
            rowBytes *= whole.size(cut);
            cut--;
        }
        return new TensorSlices(whole, cut, Math.clamp(most / rowBytes, 1, Math.max(1, whole.size(cut))), rowBytes);
    }

    private static long nbytes(long columns, long stride) {
        return stride > 1 ? Math.clamp(Math.min(columns, MOST_NBYTES) * LINE, NBYTES, MOST_NBYTES) : NBYTES;
    }

    /// {@return the bytes of the largest slab, if its elements are contiguous}
    public long largest() {
        return length * rowBytes;
    }

    @Override
    public Iterator<Tensor> iterator() {
        long count = runs();
        for (int dim = 0; dim < cut; dim++) {
            count *= tensor.size(dim);
        }
        return LongStream.range(0, count).mapToObj(this::slab).iterator();
    }

    /// {@return the number of slabs of the divided dimension}
    private long runs() {
        return Math.ceilDiv(tensor.size(cut), length);
    }

    private Tensor slab(long number) {
        Tensor slab = tensor;
        long outer = number / runs();
        for (int dim = cut - 1; dim >= 0; dim--) {
            slab = slab.select(dim, outer % tensor.size(dim));
            outer /= tensor.size(dim);
        }
        long start = number % runs() * length;
        return slab.narrow(0, start, Math.min(length, tensor.size(cut) - start));
    }
}
