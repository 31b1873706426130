package io.undercroft.storage;

import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.Conversion;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/// The geometry of every view that [Tensor] offers. Their meaning is documented there; this class computes sizes,
/// strides and offsets. All rules are PyTorch's.
///
/// A view is two allocations: its [Geometry], made here, and the tensor itself.
final class Views {
    private Views() {}

    static Tensor select(Tensor base, int dim, long index) {
        int d = Shape.checkDim(dim, base.dim());
        return base.viewAt(base.offsetOf(d, base.checkIndex(d, index)), Geometry.without(base.geometry, d));
    }

    static Tensor narrow(Tensor base, int dim, long start, long length) {
        int d = Shape.checkDim(dim, base.dim());
        long size = base.geometry[d];
        long first = start < 0 ? start + size : start;
        if (first < 0 || length < 0 || first > size - length) {
            throw new IndexOutOfBoundsException(
                    "start " + start + " and length " + length + " of dimension " + d + base.ofSize(d));
        }
        long[] geometry = base.geometry.clone();
        geometry[d] = length;
        return base.viewAt(base.offsetOf(d, first), geometry);
    }

    static Tensor slice(Tensor base, int dim, long start, long end, long step) {
        int d = Shape.checkDim(dim, base.dim());
        if (step <= 0) {
            throw new IllegalArgumentException("a slice goes forward: its step is not " + step);
        }
        long size = base.geometry[d];
        long first = clamp(start, 0, size);
        long length = clamp(end, first, size) - first;
        long[] geometry = base.geometry.clone();
        geometry[d] = Math.ceilDiv(length, step);
        geometry[base.dim() + d] = stretched(geometry[base.dim() + d], step);
        return base.viewAt(base.offsetOf(d, first), geometry);
    }

    static Tensor transpose(Tensor base, int first, int second) {
        int rank = base.dim();
        int a = Shape.checkDim(first, Math.max(rank, 1));
        int b = Shape.checkDim(second, Math.max(rank, 1));
        long[] geometry = base.geometry.clone();
        if (rank > 0) {
            geometry[a] = base.geometry[b];
            geometry[b] = base.geometry[a];
            geometry[rank + a] = base.geometry[rank + b];
            geometry[rank + b] = base.geometry[rank + a];
        }
        return base.viewAt(base.offset, geometry);
    }

    static Tensor permute(Tensor base, int[] order) {
        int rank = base.dim();
        if (order.length != rank) {
            throw new IllegalArgumentException(
                    "an order of " + order.length + " dimensions for a tensor that has " + rank);
        }
        long[] geometry = new long[2 * rank];
        long seen = 0;
        for (int d = 0; d < rank; d++) {
            int old = Shape.checkDim(order[d], rank);
            seen = addOnce(seen, old, order);
            geometry[d] = base.geometry[old];
            geometry[rank + d] = base.geometry[rank + old];
        }
        return base.viewAt(base.offset, geometry);
    }

    static Tensor movedim(Tensor base, int source, int destination) {
        int rank = base.dim();
        int from = Shape.checkDim(source, Math.max(rank, 1));
        int to = Shape.checkDim(destination, Math.max(rank, 1));
        if (rank == 0) {
            return base.viewAt(base.offset, base.geometry);
        }
        long[] rest = Geometry.without(base.geometry, from);
        return base.viewAt(base.offset,
                Geometry.with(rest, to, base.geometry[from], base.geometry[rank + from]));
    }

    static @Nullable Tensor viewOrNull(Tensor base, long[] sizes) {
        long[] geometry = ViewStrides.inferSize(sizes, base.numel());
        return ViewStrides.fit(base.geometry, geometry, base.numel()) ? base.viewAt(base.offset, geometry) : null;
    }

    static Tensor view(Tensor base, long[] sizes) {
        Tensor view = viewOrNull(base, sizes);
        if (view == null) {
            throw new IllegalArgumentException("elements of shape " + base.shape() + " and stride "
                    + Arrays.toString(base.stride()) + " cannot be seen as " + Arrays.toString(sizes)
                    + " without a copy; call reshape(), or contiguous() first");
        }
        return view;
    }

    static Tensor expand(Tensor base, long[] sizes) {
        int rank = base.dim();
        int added = sizes.length - rank;
        if (added < 0) {
            throw cannotExpand(base, sizes);
        }
        long[] geometry = Arrays.copyOf(sizes, 2 * sizes.length);
        for (int d = sizes.length - 1; d >= 0; d--) {
            boolean isNew = d < added;
            long old = isNew ? 1 : base.geometry[d - added];
            if (sizes[d] == -1 && !isNew) {
                geometry[d] = old;
            }
            if (geometry[d] == old) {
                geometry[sizes.length + d] = isNew
                        ? strideAround(geometry, d, rank)
                        : base.geometry[rank + d - added];
            } else if (old != 1) {
                throw cannotExpand(base, sizes);
            }
        }
        return base.viewAt(base.offset, geometry);
    }

    static Tensor squeeze(Tensor base) {
        long keep = 0;
        for (int d = 0; d < base.dim(); d++) {
            keep |= base.geometry[d] != 1 ? 1L << d : 0;
        }
        return keeping(base, keep);
    }

    static Tensor squeeze(Tensor base, int[] dims) {
        long seen = 0;
        long dropped = 0;
        for (int dim : dims) {
            int d = Shape.checkDim(dim, Math.max(base.dim(), 1));
            seen = addOnce(seen, d, dims);
            dropped |= d < base.dim() && base.geometry[d] == 1 ? 1L << d : 0;
        }
        return keeping(base, ~dropped);
    }

    static Tensor unsqueeze(Tensor base, int dim) {
        int rank = base.dim();
        int d = Shape.checkDim(dim, rank + 1);
        long stride = d == rank ? 1 : stretched(base.geometry[rank + d], base.geometry[d]);
        return base.viewAt(base.offset, Geometry.with(base.geometry, d, 1, stride));
    }

    static Tensor unfold(Tensor base, int dim, long size, long step) {
        int rank = base.dim();
        int d = Shape.checkDim(dim, Math.max(rank, 1));
        long length = rank == 0 ? 1 : base.geometry[d];
        if (size < 0 || size > length || step <= 0) {
            throw new IllegalArgumentException("windows of size " + size + " and step " + step + " of dimension " + d
                    + " that has size " + length);
        }
        long stride = rank == 0 ? 1 : base.geometry[rank + d];
        long[] geometry = Geometry.with(base.geometry, rank, size, stride);
        if (rank > 0) {
            geometry[d] = (length - size) / step + 1;
            geometry[rank + 1 + d] = stretched(stride, step);
        }
        return base.viewAt(base.offset, geometry);
    }

    static Tensor diagonal(Tensor base, long offset, int dim1, int dim2) {
        int rank = base.dim();
        int a = Shape.checkDim(dim1, rank);
        int b = Shape.checkDim(dim2, rank);
        if (a == b) {
            throw new IllegalArgumentException("a diagonal of dimension " + a + " with itself");
        }
        // Of offset -2^63, which no subtraction survives, only the sign counts.
        long rows = base.geometry[a] - Math.clamp(-Math.max(offset, -Long.MAX_VALUE), 0, base.geometry[a]);
        long columns = base.geometry[b] - Math.clamp(offset, 0, base.geometry[b]);
        long length = Math.min(rows, columns);
        long start = length == 0 ? base.offset : offset >= 0 ? base.offsetOf(b, offset) : base.offsetOf(a, -offset);
        long stride = sum(base.geometry[rank + a], base.geometry[rank + b]);
        long[] rest = Geometry.without(Geometry.without(base.geometry, Math.max(a, b)), Math.min(a, b));
        return base.viewAt(start, Geometry.with(rest, rank - 2, length, stride));
    }

    static Tensor flatten(Tensor base, int startDim, int endDim) {
        int rank = base.dim();
        if (rank == 0) {
            Shape.checkDim(startDim, 1);
            Shape.checkDim(endDim, 1);
            return base.view(1);
        }
        int first = Shape.checkDim(startDim, rank);
        int last = Shape.checkDim(endDim, rank);
        if (first > last) {
            throw new IllegalArgumentException("dimensions from " + first + " to " + last + " are none to flatten");
        }
        if (first == last) {
            return base;
        }
        long[] sizes = new long[rank - (last - first)];
        long joined = 1;
        for (int d = first; d <= last; d++) {
            joined = Shape.times(joined, base.geometry[d], base.shape());
        }
        System.arraycopy(base.geometry, 0, sizes, 0, first);
        sizes[first] = joined;
        System.arraycopy(base.geometry, last + 1, sizes, first + 1, rank - last - 1);
        return base.reshape(sizes);
    }

    // ---- views of another dtype ----

    static Tensor view(Tensor base, DType dtype) {
        if (!base.type.isResolved()) {
            throw new IllegalArgumentException("elements that are negated or conjugated by " + base.flags()
                    + " cannot be seen as " + dtype + "; resolve them first");
        }
        if (dtype.equals(base.dtype())) {
            return base.viewAt(base.offset, base.geometry);
        }
        ElementType type = ElementType.of(dtype);
        if (dtype.bits() == base.dtype().bits()) {
            return Tensor.on(base.storage, type, base.offset, base.geometry);
        }
        if (base.dim() == 0 || base.stride(-1) != 1 || !dtype.isByteSized() || !base.dtype().isByteSized()) {
            throw cannotSee(base, dtype, "the widths differ, so there must be a last dimension of stride 1");
        }
        return dtype.itemsize() < base.itemsize() ? narrower(base, type) : wider(base, type);
    }

    /// Each element becomes several. An offset that no `long` holds is one outside any storage.
    private static Tensor narrower(Tensor base, ElementType type) {
        int ratio = base.itemsize() / type.dtype.itemsize();
        if (ratio * type.dtype.itemsize() != base.itemsize()) {
            throw cannotSee(base, type.dtype, "one width is no multiple of the other");
        }
        long[] geometry = base.geometry.clone();
        int rank = base.dim();
        geometry[rank - 1] = stretched(geometry[rank - 1], ratio);
        for (int d = rank; d < 2 * rank - 1; d++) {
            geometry[d] = stretched(geometry[d], ratio);
        }
        return Tensor.on(base.storage, type, stretched(base.offset, ratio), geometry);
    }

    /// Several elements become one.
    private static Tensor wider(Tensor base, ElementType type) {
        int ratio = type.dtype.itemsize() / base.itemsize();
        if (ratio * base.itemsize() != type.dtype.itemsize()) {
            throw cannotSee(base, type.dtype, "one width is no multiple of the other");
        }
        int rank = base.dim();
        long[] geometry = base.geometry.clone();
        geometry[rank - 1] = divided(base, type.dtype, geometry[rank - 1], ratio);
        for (int d = rank; d < 2 * rank - 1; d++) {
            geometry[d] = divided(base, type.dtype, geometry[d], ratio);
        }
        return Tensor.on(base.storage, type, divided(base, type.dtype, base.offset, ratio), geometry);
    }

    static Tensor viewAsReal(Tensor base) {
        ElementType part = partType(base);
        if (base.is(Flag.CONJ)) {
            throw new IllegalArgumentException("conjugated elements cannot be seen as their parts; call resolveConj()");
        }
        return parts(base, part);
    }

    static Tensor real(Tensor base) {
        if (base.dtype().kind() != DType.Kind.COMPLEX) {
            return base;
        }
        return select(parts(base, partType(base)), -1, 0);
    }

    static Tensor imag(Tensor base) {
        Tensor stored = select(parts(base, partType(base)), -1, 1);
        return base.is(Flag.CONJ) ? stored.withType(stored.type.toggled(Flag.NEG)) : stored;
    }

    static Tensor viewAsComplex(Tensor base) {
        ElementType type = complexType(base);
        int rank = base.dim();
        boolean pairs = rank > 0 && base.size(-1) == 2 && base.stride(-1) == 1;
        boolean even = base.offset % 2 == 0;
        for (int d = rank; d < 2 * rank - 1; d++) {
            even &= base.geometry[d] % 2 == 0;
        }
        if (!pairs || !even) {
            throw cannotSee(base, type.dtype,
                    "the last dimension must have size 2 and stride 1, the other strides and the offset be even");
        }
        long[] geometry = Geometry.without(base.geometry, rank - 1);
        for (int d = rank - 1; d < geometry.length; d++) {
            geometry[d] /= 2;
        }
        return Tensor.on(base.storage, type, base.offset / 2, geometry);
    }

    /// Returns the real and the imaginary parts as they are stored, in a new last dimension; negated where the base is.
    private static Tensor parts(Tensor base, ElementType part) {
        int rank = base.dim();
        long[] geometry = Geometry.with(base.geometry, rank, 2, 1);
        for (int d = rank + 1; d < 2 * rank + 1; d++) {
            geometry[d] = stretched(geometry[d], 2);
        }
        return Tensor.on(base.storage, part, stretched(base.offset, 2), geometry);
    }

    private static ElementType partType(Tensor base) {
        DType dtype = base.dtype();
        if (dtype.kind() != DType.Kind.COMPLEX) {
            throw new IllegalArgumentException("elements of " + dtype + " have no imaginary parts");
        }
        return withoutConj(ElementType.of(Conversion.part(dtype)), base);
    }

    private static ElementType complexType(Tensor base) {
        DType dtype = base.dtype();
        DType pair = DType.values().stream()
                .filter(each -> each.kind() == DType.Kind.COMPLEX && Conversion.part(each).equals(dtype)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("two elements of " + dtype + " are no complex number"));
        return withoutConj(ElementType.of(pair), base);
    }

    /// Returns a type with the flags of a tensor but for the conjugation, which only complex numbers have.
    private static ElementType withoutConj(ElementType type, Tensor base) {
        if (base.flags().isEmpty()) {
            return type;
        }
        ElementType marked = type;
        for (Flag flag : base.flags()) {
            marked = flag == Flag.CONJ ? marked : marked.toggled(flag);
        }
        return marked;
    }

    // ---- parts of the rules ----

    /// Returns the tensor with the dimensions whose bits are set.
    private static Tensor keeping(Tensor base, long keep) {
        int rank = base.dim();
        int kept = rank == 0 ? 0 : Long.bitCount(keep & (-1L >>> (Long.SIZE - rank)));
        long[] geometry = new long[2 * kept];
        int next = 0;
        for (int d = 0; d < rank; d++) {
            if ((keep >> d & 1) != 0) {
                geometry[next] = base.geometry[d];
                geometry[kept + next] = base.geometry[rank + d];
                next++;
            }
        }
        return base.viewAt(base.offset, geometry);
    }

    /// Returns a set of dimensions with one more, which must be new.
    private static long addOnce(long seen, int dim, int[] dims) {
        if ((seen >> dim & 1) != 0) {
            throw new IllegalArgumentException("dimension " + dim + " twice in " + Arrays.toString(dims));
        }
        return seen | 1L << dim;
    }

    /// Returns an index of Python's slices: from the end if negative, then limited.
    private static long clamp(long index, long from, long size) {
        return Math.max(from, Math.min(index < 0 ? index + size : index, size));
    }

    /// Returns the stride that PyTorch gives to a new dimension of size 1: one step spans the dimension inside it.
    private static long strideAround(long[] geometry, int d, int oldRank) {
        return oldRank == 0 ? 0 : stretched(geometry[d + 1], geometry[Geometry.rank(geometry) + d + 1]);
    }

    private static long stretched(long steps, long factor) {
        try {
            return Math.multiplyExact(steps, factor);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "a stride, size or offset of " + steps + " times " + factor + " is more than 2^63-1", e);
        }
    }

    private static long sum(long a, long b) {
        try {
            return Math.addExact(a, b);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("the strides " + a + " and " + b + " add up to more than 2^63-1", e);
        }
    }

    private static long divided(Tensor base, DType dtype, long value, int ratio) {
        if (value % ratio != 0) {
            throw cannotSee(base, dtype,
                    "the last size, the other strides and the offset must be multiples of " + ratio);
        }
        return value / ratio;
    }

    private static IllegalArgumentException cannotSee(Tensor base, DType dtype, String why) {
        return new IllegalArgumentException("elements of " + base.dtype() + ", shape " + base.shape() + ", stride "
                + Arrays.toString(base.stride()) + " and offset " + base.offset + " cannot be seen as " + dtype + ": "
                + why);
    }

    private static IllegalArgumentException cannotExpand(Tensor base, long[] sizes) {
        return new IllegalArgumentException("cannot expand " + base.shape() + " to " + Arrays.toString(sizes));
    }
}
