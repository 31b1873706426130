package io.undercroft.storage;

import io.undercroft.storage.internal.Elements;
import io.undercroft.storage.internal.StridedCopy;
import io.undercroft.storage.internal.TensorPrinter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/// A strided window on a storage: dtype, shape, strides and storage offset. The counterpart of PyTorch's `TensorImpl`.
///
/// A tensor is immutable metadata; only the elements that it stands on can be written, and every tensor on the same
/// storage sees it. Views ([#select], [#narrow], [#transpose], …) are new tensors on the same storage and copy
/// nothing. (PyTorch's `set_` changes a tensor in place; ours, [#set], makes a new one, so that a tensor can be used by
/// many threads.)
///
/// Shape, strides and offsets count elements. No element can lie outside the storage: that is checked when a tensor is
/// made. A tensor without elements may have any offset, as in PyTorch, and reads nothing.
///
/// A tensor does not count as a reference to its storage; see [Storage] for who gives the bytes back.
public final class Tensor {
    /// What is true of a tensor beyond its geometry.
    public enum Flag {
        /// The tensor takes part in differentiation (`requires_grad` in PyTorch); carried, not acted upon.
        REQUIRES_GRAD,
        /// The elements are the complex conjugates of what is stored (PyTorch's lazy `conj()`).
        CONJ,
        /// The elements are the negatives of what is stored (PyTorch's lazy negation bit).
        NEG
    }

    private final Storage storage;
    private final DType dtype;
    private final long offset;
    private final Shape shape;
    private final long[] stride;
    private final Set<Flag> flags;
    private final Elements elements;

    private Tensor(Storage storage, DType dtype, long offset, Shape shape, long[] stride, Set<Flag> flags) {
        this.storage = storage;
        this.dtype = dtype;
        this.offset = offset;
        this.shape = shape;
        this.stride = stride;
        this.flags = flags;
        this.elements = Elements.of(dtype, flags);
        checkInside();
    }

    /// A tensor on a storage.
    ///
    /// @param storage what it stands on
    /// @param dtype type of the elements
    /// @param offset storage offset of the first element, in elements
    /// @param shape size in each dimension
    /// @param stride elements from one index to the next in each dimension; 0 repeats, negative is not allowed
    /// @return the tensor
    /// @throws IllegalArgumentException if the strides do not fit the shape or an element would lie outside the storage
    public static Tensor of(Storage storage, DType dtype, long offset, Shape shape, long... stride) {
        return new Tensor(Objects.requireNonNull(storage, "storage"), Objects.requireNonNull(dtype, "dtype"), offset,
                Objects.requireNonNull(shape, "shape"), stride.clone(), Collections.emptySet());
    }

    /// A zeroed tensor on a storage of its own, in row-major order.
    ///
    /// @param dtype type of the elements
    /// @param sizes size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException if a size is negative, or the bytes are more than 2^63-1
    public static Tensor zeros(DType dtype, long... sizes) {
        return onNewStorage(dtype, Shape.of(sizes));
    }

    /// {@return a one-dimensional float32 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(float... values) {
        return of(DType.FLOAT32, ValueLayout.JAVA_FLOAT_UNALIGNED, values, values.length);
    }

    /// {@return a one-dimensional float64 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(double... values) {
        return of(DType.FLOAT64, ValueLayout.JAVA_DOUBLE_UNALIGNED, values, values.length);
    }

    /// {@return a one-dimensional int64 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(long... values) {
        return of(DType.INT64, ValueLayout.JAVA_LONG_UNALIGNED, values, values.length);
    }

    /// {@return a one-dimensional int32 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(int... values) {
        return of(DType.INT32, ValueLayout.JAVA_INT_UNALIGNED, values, values.length);
    }

    /// {@return what the tensor stands on; the same object for all its views}
    public Storage storage() {
        return storage;
    }

    /// {@return the type of the elements}
    public DType dtype() {
        return dtype;
    }

    /// {@return where the elements live}
    public Device device() {
        return storage.device();
    }

    /// {@return the size in each dimension}
    public Shape shape() {
        return shape;
    }

    /// {@return the number of dimensions}
    public int dim() {
        return shape.rank();
    }

    /// {@return the size of one dimension, in elements}
    ///
    /// @param dim from 0, or from -1 backwards
    public long size(int dim) {
        return shape.size(dim);
    }

    /// {@return the strides, in elements, in a fresh array}
    public long[] stride() {
        return stride.clone();
    }

    /// {@return the stride of one dimension, in elements}
    ///
    /// @param dim from 0, or from -1 backwards
    public long stride(int dim) {
        return stride[Shape.checkDim(dim, stride.length)];
    }

    /// {@return where the first element lies in the storage, in elements}
    public long storageOffset() {
        return offset;
    }

    /// {@return the number of elements}
    public long numel() {
        return shape.numel();
    }

    /// {@return the flags that are set}
    public Set<Flag> flags() {
        return flags;
    }

    /// {@return whether a flag is set}
    ///
    /// @param flag which one
    public boolean is(Flag flag) {
        return flags.contains(flag);
    }

    /// {@return a tensor on the same elements with exactly these flags}
    ///
    /// @param wanted the flags
    /// @throws IllegalArgumentException if [Flag#CONJ] is wanted of elements that are not complex, or [Flag#NEG] of elements
    ///     that are no numbers
    public Tensor withFlags(Set<Flag> wanted) {
        checkFlags(wanted);
        Set<Flag> copy = EnumSet.noneOf(Flag.class);
        copy.addAll(wanted);
        return new Tensor(storage, dtype, offset, shape, stride, Collections.unmodifiableSet(copy));
    }

    /// {@return whether the elements lie in row-major order without gaps} As in PyTorch, dimensions of size 1 do not
    /// matter, and an empty tensor is contiguous.
    public boolean isContiguous() {
        if (numel() == 0) {
            return true;
        }
        long expected = 1;
        for (int d = dim() - 1; d >= 0; d--) {
            if (shape.size(d) != 1) {
                if (stride[d] != expected) {
                    return false;
                }
                expected *= shape.size(d);
            }
        }
        return true;
    }

    // ---- views ----

    /// {@return the slice at one index of a dimension, which goes away}
    ///
    /// @param dim which dimension, negative from the end
    /// @param index from 0, or from -1 backwards
    /// @throws IndexOutOfBoundsException if there is no such dimension or index
    public Tensor select(int dim, long index) {
        int d = Shape.checkDim(dim, dim());
        return viewAt(offsetOf(d, checkIndex(d, index)), Shape.of(without(shape.toArray(), d)), without(stride, d));
    }

    /// {@return the part of a dimension from `start` on}
    ///
    /// @param dim which dimension, negative from the end
    /// @param start first index, negative from the end
    /// @param length how many
    /// @throws IndexOutOfBoundsException if that is not inside the dimension
    public Tensor narrow(int dim, long start, long length) {
        int d = Shape.checkDim(dim, dim());
        long first = start < 0 ? start + shape.size(d) : start;
        if (first < 0 || length < 0 || first > shape.size(d) - length) {
            throw new IndexOutOfBoundsException(
                    "start " + start + " and length " + length + " of dimension " + d + ofSize(d));
        }
        long[] sizes = shape.toArray();
        sizes[d] = length;
        return viewAt(offsetOf(d, first), Shape.of(sizes), stride);
    }

    /// {@return the tensor with two dimensions swapped} A tensor without dimensions takes 0 and -1, as in PyTorch.
    ///
    /// @param first a dimension, negative from the end
    /// @param second another
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public Tensor transpose(int first, int second) {
        int a = Shape.checkDim(first, Math.max(dim(), 1));
        int b = Shape.checkDim(second, Math.max(dim(), 1));
        int[] order = new int[dim()];
        Arrays.setAll(order, d -> d == a ? b : d == b ? a : d);
        return permute(order);
    }

    /// {@return the tensor with its dimensions in another order}
    ///
    /// @param order for each new dimension, the old one; each exactly once
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if `order` is not a permutation of the dimensions
    public Tensor permute(int... order) {
        if (order.length != dim()) {
            throw new IllegalArgumentException(
                    "an order of " + order.length + " dimensions for a tensor that has " + dim());
        }
        long[] sizes = new long[dim()];
        long[] steps = new long[dim()];
        boolean[] seen = new boolean[dim()];
        for (int d = 0; d < order.length; d++) {
            int old = Shape.checkDim(order[d], dim());
            if (seen[old]) {
                throw new IllegalArgumentException(
                        "dimension " + old + " twice in the order " + Arrays.toString(order));
            }
            seen[old] = true;
            sizes[d] = shape.size(old);
            steps[d] = stride[old];
        }
        return viewAt(offset, Shape.of(sizes), steps);
    }

    /// The same elements in another shape, if strides can say it without a copy.
    ///
    /// @param sizes the new sizes; one may be -1 and is found from the others
    /// @return the view
    /// @throws IllegalArgumentException if the number of elements differs, or the elements lie such that only a copy
    ///     would do ([#contiguous] first)
    public Tensor view(long... sizes) {
        Shape wanted = ViewStrides.inferSize(sizes, numel());
        return viewAt(offset, wanted, ViewStrides.of(shape, stride, wanted));
    }

    /// {@return the tensor with dimensions of size 1 repeated, by stride 0, and new dimensions put in front}
    ///
    /// @param sizes the new sizes; -1 keeps the old one
    /// @throws IllegalArgumentException if a dimension that is not 1 would have to change, or there are fewer than
    ///     before
    public Tensor expand(long... sizes) {
        int added = sizes.length - dim();
        if (added < 0) {
            throw cannotExpand(sizes);
        }
        long[] target = sizes.clone();
        long[] steps = new long[sizes.length];
        for (int d = sizes.length - 1; d >= 0; d--) {
            boolean isNew = d < added;
            long old = isNew ? 1 : shape.size(d - added);
            target[d] = sizes[d] == -1 && !isNew ? old : sizes[d];
            if (target[d] == old) {
                steps[d] = isNew ? strideAround(target, steps, d) : stride[d - added];
            } else if (old != 1) {
                throw cannotExpand(sizes);
            }
        }
        return viewAt(offset, Shape.of(target), steps);
    }

    /// {@return a tensor of any geometry on the same storage (`as_strided` in PyTorch)}
    ///
    /// @param sizes size in each dimension
    /// @param steps stride in each dimension, in elements
    /// @param storageOffset where the first element lies, in elements of the storage
    /// @throws IllegalArgumentException if an element would lie outside the storage
    public Tensor asStrided(Shape sizes, long[] steps, long storageOffset) {
        return viewAt(storageOffset, sizes, steps);
    }

    /// {@return a tensor of the same dtype on another storage (`set_` in PyTorch, which changes the tensor instead)}
    ///
    /// @param source what it stands on
    /// @param storageOffset where the first element lies, in elements
    /// @param sizes size in each dimension
    /// @param steps stride in each dimension, in elements
    /// @throws IllegalArgumentException if an element would lie outside the storage (PyTorch grows the storage instead)
    public Tensor set(Storage source, long storageOffset, Shape sizes, long... steps) {
        return new Tensor(source, dtype, storageOffset, sizes, steps.clone(), flags);
    }

    // ---- elements ----

    /// {@return one element as a double} Integers are rounded if they have more than 53 bits; of a complex element it
    /// is the real part.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public double getDouble(long... index) {
        return elements.getDouble(storage.segment(), position(index));
    }

    /// {@return one element as a float, rounded from [#getDouble]}
    ///
    /// @param index one index for each dimension, negative from the end
    public float getFloat(long... index) {
        return (float) getDouble(index);
    }

    /// {@return one element as a long} Floating-point elements lose their fraction and are limited to the range of
    /// `long`, as a Java cast does it. A uint64 from 2^63 on comes as its 64 bits, for [Long#toUnsignedString] and its
    /// like.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public long getLong(long... index) {
        return elements.getLong(storage.segment(), position(index));
    }

    /// {@return one element as a complex number; its imaginary part is 0 unless the dtype is complex}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public Complex getComplex(long... index) {
        long position = position(index);
        MemorySegment bytes = storage.segment();
        return new Complex(elements.getDouble(bytes, position), elements.getImaginary(bytes, position));
    }

    /// {@return whether one element is not zero; NaN is not}
    ///
    /// @param index one index for each dimension, negative from the end
    public boolean getBoolean(long... index) {
        Complex value = getComplex(index);
        return value.real() != 0 || value.imaginary() != 0;
    }

    /// Writes one element, converted to its dtype as PyTorch's `to` converts: floating-point dtypes round to nearest,
    /// ties to even; integer dtypes drop the fraction and then the upper bits, as C does by way of a 64-bit integer
    /// (300.7 is 44 as uint8, where a Java cast would give 255). What does not fit 64 bits, where C leaves the answer
    /// open, is limited to the range of `long` first, and NaN counts as 0.
    ///
    /// @param value what to write
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public void setDouble(double value, long... index) {
        elements.setDouble(storage.writable(), position(index), value);
    }

    /// Writes one element; integers too wide for the dtype lose their upper bits, as in C.
    ///
    /// @param value what to write
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public void setLong(long value, long... index) {
        elements.setLong(storage.writable(), position(index), value);
    }

    /// Writes one element; a dtype that is not complex drops the imaginary part.
    ///
    /// @param value what to write
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public void setComplex(Complex value, long... index) {
        elements.setComplex(storage.writable(), position(index), value.real(), value.imaginary());
    }

    // ---- bytes ----

    /// The bytes of the elements, of a tensor that is contiguous and whose flags do not change what is stored.
    ///
    /// @return exactly the elements' bytes, in the storage; writing there writes the tensor. It is read-only if the
    ///     storage is, and must not be used after the storage is freed
    /// @throws IllegalStateException if the elements are not one run of stored bytes ([#contiguous] first): the tensor
    ///     is not contiguous, or negated or conjugated, or starts inside a byte; or if the storage was freed or has no
    ///     bytes
    public MemorySegment bytes() {
        if (!isOneRun()) {
            throw new IllegalStateException("the elements of this tensor of shape " + shape + ", stride "
                    + Arrays.toString(stride) + " and flags " + flags
                    + " are not one run of stored bytes; call contiguous() first");
        }
        MemorySegment all = storage.segment();
        return numel() == 0 ? all.asSlice(0, 0) : all.asSlice(firstByte(), dtype.nbytes(numel()));
    }

    /// {@return this tensor if [#bytes] can be had of it, else a [#copy]}
    ///
    /// @throws IllegalStateException if a copy is needed and the storage was freed or has no bytes (meta)
    public Tensor contiguous() {
        return isOneRun() ? this : copy();
    }

    /// {@return the same elements in row-major order on a storage of their own (`clone` in PyTorch)} Conjugation and
    /// negation are carried out.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Tensor copy() {
        Set<Flag> kept = is(Flag.REQUIRES_GRAD) ? EnumSet.of(Flag.REQUIRES_GRAD) : Set.of();
        if (device().isMeta()) {
            Storage nothing = Storage.meta(nbytes(dtype, shape));
            return of(nothing, dtype, 0, shape, shape.contiguousStride()).withFlags(kept);
        }
        Tensor copy = onNewStorage(dtype, shape).withFlags(kept);
        StridedCopy.copy(this, copy.storage.segment());
        return copy;
    }

    /// Copies the elements in row-major order, conjugation and negation carried out, to memory that the caller owns.
    ///
    /// @param target as many bytes as `dtype().nbytes(numel())`
    /// @throws IllegalArgumentException if the target has another size
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public void copyTo(MemorySegment target) {
        if (target.byteSize() != dtype.nbytes(numel())) {
            throw new IllegalArgumentException("a target of " + target.byteSize() + " bytes for elements of "
                    + dtype.nbytes(numel()));
        }
        StridedCopy.copy(this, target);
    }

    /// {@return whether both have the same dtype, shape and elements, bit for bit} NaNs with the same bits are equal,
    /// 0.0 and -0.0 are not; strides and identity do not matter.
    ///
    /// @param other another tensor
    public boolean contentEquals(Tensor other) {
        return dtype.equals(other.dtype) && shape.equals(other.shape)
                && wholeBytes().mismatch(other.wholeBytes()) < 0;
    }

    /// {@return the elements as PyTorch prints them: of more than 1000 only the ends} Bytes that are not there yet are
    /// fetched; without any (meta, or freed) the size is printed instead.
    @Override
    public String toString() {
        return TensorPrinter.print(this);
    }

    private static Tensor of(DType dtype, ValueLayout layout, Object array, int length) {
        Tensor tensor = zeros(dtype, length);
        MemorySegment.copy(array, 0, tensor.bytes(), layout.withOrder(ByteOrder.LITTLE_ENDIAN), 0, length);
        return tensor;
    }

    private void checkFlags(Set<Flag> wanted) {
        if (wanted.contains(Flag.CONJ) && dtype.kind() != DType.Kind.COMPLEX) {
            throw new IllegalArgumentException("only complex elements have conjugates, not " + dtype.name());
        }
        boolean numbers = switch (dtype.kind()) {
            case FLOATING, SIGNED, UNSIGNED, COMPLEX -> true;
            case BOOLEAN, QUANTIZED, BITS -> false;
        };
        if (wanted.contains(Flag.NEG) && !numbers) {
            throw new IllegalArgumentException("elements of " + dtype.name() + " cannot be negated");
        }
    }

    private static Tensor onNewStorage(DType dtype, Shape shape) {
        Storage storage = Storage.allocate(nbytes(dtype, shape));
        return new Tensor(storage, dtype, 0, shape, shape.contiguousStride(), Collections.emptySet());
    }

    private static long nbytes(DType dtype, Shape shape) {
        try {
            return dtype.nbytes(shape.numel());
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "the shape " + shape + " of " + dtype + " has more than 2^63-1 bytes", e);
        }
    }

    private IllegalArgumentException cannotExpand(long[] sizes) {
        return new IllegalArgumentException("cannot expand " + shape + " to " + Arrays.toString(sizes));
    }

    /// The stride that PyTorch gives to a new dimension of size 1: one step goes past the dimension inside it.
    private long strideAround(long[] sizes, long[] steps, int d) {
        return dim() == 0 ? 0 : sizes[d + 1] * steps[d + 1];
    }

    private Tensor viewAt(long newOffset, Shape sizes, long[] steps) {
        return new Tensor(storage, dtype, newOffset, sizes, steps.clone(), flags);
    }

    /// The elements' bytes; bits that no element fills are 0.
    private MemorySegment wholeBytes() {
        return (dtype.isByteSized() ? contiguous() : copy()).bytes();
    }

    /// The first byte of a tensor that starts on one.
    private long firstByte() {
        return dtype.isByteSized() ? offset * dtype.itemsize() : offset * dtype.bits() / 8;
    }

    private boolean isOneRun() {
        boolean startsOnByte = numel() == 0 || dtype.isByteSized() || offset * dtype.bits() % 8 == 0;
        return isContiguous() && startsOnByte && !is(Flag.NEG) && !is(Flag.CONJ);
    }

    /// The storage offset of an element, in elements.
    private long position(long[] index) {
        if (index.length != dim()) {
            throw new IndexOutOfBoundsException(index.length + " indices for a tensor of " + dim() + " dimensions");
        }
        long position = offset;
        for (int d = 0; d < index.length; d++) {
            position += checkIndex(d, index[d]) * stride[d];
        }
        return position;
    }

    private long checkIndex(int d, long index) {
        long counted = index < 0 ? index + shape.size(d) : index;
        if (counted < 0 || counted >= shape.size(d)) {
            throw new IndexOutOfBoundsException("index " + index + " of dimension " + d + ofSize(d));
        }
        return counted;
    }

    private String ofSize(int d) {
        return " that has size " + shape.size(d);
    }

    /// The storage offset of an index of one dimension. Only strides that no element is reached by can make it
    /// overflow.
    private long offsetOf(int d, long index) {
        try {
            return Math.addExact(offset, Math.multiplyExact(index, stride[d]));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("index " + index + " of stride " + stride[d] + " and offset " + offset
                    + " give an offset of more than 2^63-1", e);
        }
    }

    private void checkInside() {
        if (stride.length != dim()) {
            throw new IllegalArgumentException(stride.length + " strides for the shape " + shape);
        }
        if (offset < 0) {
            throw new IllegalArgumentException("the storage offset " + offset + " is negative");
        }
        for (long step : stride) {
            if (step < 0) {
                throw new IllegalArgumentException("the stride " + step + " is negative");
            }
        }
        if (numel() > 0) {
            checkEnd();
        }
    }

    private void checkEnd() {
        String end = "a byte beyond 2^63-1";
        try {
            long nbytes = dtype.nbytes(Math.addExact(lastPosition(), 1));
            if (nbytes <= storage.nbytes()) {
                return;
            }
            end = "byte " + nbytes;
        } catch (ArithmeticException e) {
            // The end is too far away to be counted, and so outside any storage.
        }
        throw new IllegalArgumentException("shape " + shape + ", stride " + Arrays.toString(stride) + " and offset "
                + offset + " of " + dtype + " reach " + end + " of a storage of " + storage.nbytes() + " bytes");
    }

    private long lastPosition() {
        long last = offset;
        for (int d = 0; d < stride.length; d++) {
            last = Math.addExact(last, Math.multiplyExact(shape.size(d) - 1, stride[d]));
        }
        return last;
    }

    private static long[] without(long[] values, int dim) {
        long[] rest = new long[values.length - 1];
        System.arraycopy(values, 0, rest, 0, dim);
        System.arraycopy(values, dim + 1, rest, dim, rest.length - dim);
        return rest;
    }
}
