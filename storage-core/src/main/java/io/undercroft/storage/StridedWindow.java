package io.undercroft.storage;

import io.undercroft.storage.Tensor.Flag;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What a [Tensor] is before any element is looked at: a storage, a window of it, and a type. The first of the three
/// layers of a tensor; its public methods are the tensor's.
abstract sealed class StridedWindow permits ElementAccess {
    final Storage storage;
    final ElementType type;
    final long offset;
    /// The sizes, then the strides; see [Geometry].
    final long[] geometry;
    private final long numel;
    /// The first byte of the storage that no element needs; 0 if there are no elements.
    final long end;
    /// Made at first need. Several threads may make it at once, which does no harm: a shape is immutable.
    private @Nullable Shape shape;

    /// A window that may reach outside its storage: [#checkStorageHolds] looks at that once for all views, [#segment]
    /// at each access.
    ///
    /// @throws IllegalArgumentException if no storage can hold such a window
    StridedWindow(Storage storage, ElementType type, long offset, long[] geometry) {
        this.storage = storage;
        this.type = type;
        this.offset = offset;
        this.geometry = geometry;
        this.numel = Geometry.numel(geometry);
        if (offset < 0) {
            throw new IllegalArgumentException("the storage offset " + offset + " is negative");
        }
        this.end = numel == 0 ? 0 : end();
    }

    /// {@return what the tensor uses; the same object for all its views}
    public Storage storage() {
        return storage;
    }

    /// {@return the type of the elements}
    public DType dtype() {
        return type.dtype;
    }

    /// {@return where the elements live}
    public Device device() {
        return storage.device();
    }

    /// {@return how the elements lie: [Layout#STRIDED], which every tensor with one storage is} The other layouts have
    /// holders of their own, such as [SparseCooTensor].
    public Layout layout() {
        return Layout.STRIDED;
    }

    /// {@return the size in each dimension}
    public Shape shape() {
        Shape made = shape;
        if (made == null) {
            made = Geometry.shape(geometry);
            shape = made;
        }
        return made;
    }

    /// {@return the number of dimensions}
    public int dim() {
        return Geometry.rank(geometry);
    }

    /// {@return the size of one dimension, in elements}
    ///
    /// @param dim from 0, or from -1 backwards
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long size(int dim) {
        return geometry[Shape.checkDim(dim, dim())];
    }

    /// {@return the strides, in elements, in a fresh array}
    public long[] stride() {
        return Geometry.strides(geometry);
    }

    /// {@return the stride of one dimension, in elements}
    ///
    /// @param dim from 0, or from -1 backwards
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long stride(int dim) {
        return geometry[dim() + Shape.checkDim(dim, dim())];
    }

    /// {@return where the first element lies in the storage, in elements}
    public long storageOffset() {
        return offset;
    }

    /// {@return the number of elements}
    public long numel() {
        return numel;
    }

    /// {@return the bytes of one element; 1 for elements narrower than a byte}
    public int itemsize() {
        return type.dtype.itemsize();
    }

    /// {@return the bytes that the elements take when they lie without gaps, whatever their strides are now}
    ///
    /// @throws ArithmeticException if that is more than 2^63-1, which only a tensor that repeats elements can bring
    ///     about
    public long nbytes() {
        return type.dtype.nbytes(numel);
    }

    /// {@return the address of the first element (`data_ptr` in PyTorch), on the storage's device; 0 for a meta tensor
    /// and for one without elements}
    ///
    /// @throws UnsupportedOperationException if the bytes lie on the heap, where the garbage collector moves them
    /// @throws IllegalStateException if the storage was freed or has become too small, or the tensor starts inside a
    ///     byte
    public long dataPtr() {
        if (numel() == 0 || device().isMeta()) {
            return 0;
        }
        if (!startsOnByte()) {
            throw new IllegalStateException("this tensor starts inside a byte, at element " + offset);
        }
        checkHolds(storage.nbytes());
        return storage.dataPtr() + firstByte();
    }

    /// {@return whether both are the same window of the same storage, dtype included (`is_set_to` in PyTorch, which
    /// leaves the dtype out)}
    ///
    /// @param other another tensor
    public boolean isSetTo(Tensor other) {
        return storage == other.storage && offset == other.offset && dtype().equals(other.dtype())
                && Arrays.equals(geometry, other.geometry);
    }

    /// {@return whether both have the same shape}
    ///
    /// @param other another tensor
    public boolean isSameSize(Tensor other) {
        return shape().equals(other.shape());
    }

    /// {@return the flags that are set}
    public Set<Flag> flags() {
        return type.flags;
    }

    /// {@return whether a flag is set}
    ///
    /// @param flag which one
    public boolean is(Flag flag) {
        return type.flags.contains(flag);
    }

    /// {@return whether the elements lie in row-major order without gaps} As in PyTorch, dimensions of size 1 do not
    /// matter, and an empty tensor is contiguous.
    public boolean isContiguous() {
        return numel == 0 || Geometry.isRowMajor(geometry);
    }

    /// {@return whether the elements lie in a given order without gaps} As in PyTorch, a tensor that has not the
    /// dimensions of the format does not lie in it.
    ///
    /// @param format the order
    public boolean isContiguous(MemoryFormat format) {
        return format == MemoryFormat.CONTIGUOUS
                ? isContiguous()
                : format.fits(dim()) && Geometry.isDense(geometry, format.order());
    }

    /// Whether the elements are one run of stored bytes in row-major order.
    final boolean isOneRun() {
        return type.isResolved() && startsOnByte() && isContiguous();
    }

    /// Whether the first element does not start inside a byte.
    final boolean startsOnByte() {
        DType dtype = type.dtype;
        return numel == 0 || dtype.isByteSized() || offset * dtype.bits() % 8 == 0;
    }

    /// The first byte of a window that starts on one.
    final long firstByte() {
        DType dtype = type.dtype;
        return dtype.isByteSized() ? offset * dtype.itemsize() : offset * dtype.bits() / 8;
    }

    /// The storage's bytes, all elements among them.
    final MemorySegment segment() {
        return checkHolds(storage.segment());
    }

    /// The storage's bytes for writing, all elements among them.
    final MemorySegment writable() {
        return checkHolds(storage.writable());
    }

    private MemorySegment checkHolds(MemorySegment bytes) {
        checkHolds(bytes.byteSize());
        return bytes;
    }

    /// @throws IllegalStateException if an element lies outside a storage that now has so many bytes
    final void checkHolds(long nbytes) {
        if (nbytes < end) {
            throw new IllegalStateException(
                    window() + " needs " + end + " bytes of a storage that was resized to " + nbytes);
        }
    }

    /// @throws IllegalArgumentException if an element lies outside the storage
    final void checkStorageHolds() {
        if (end > storage.nbytes()) {
            throw outside("byte " + end);
        }
    }

    private long end() {
        try {
            return type.dtype.nbytes(Math.addExact(Math.addExact(offset, Geometry.reach(geometry)), 1));
        } catch (ArithmeticException e) {
            throw outside("a byte beyond 2^63-1");
        }
    }

    private IllegalArgumentException outside(String byteReached) {
        return new IllegalArgumentException(
                window() + " reach " + byteReached + " of a storage of " + storage.nbytes() + " bytes");
    }

    /// The geometry, for messages.
    private String window() {
        return "shape " + Arrays.toString(Geometry.sizes(geometry)) + ", stride " + Arrays.toString(stride())
                + " and offset " + offset + " of " + type.dtype;
    }

    // ---- places ----

    /// The storage offset of an index of one dimension. Only strides that no element is reached by can make it
    /// overflow.
    final long offsetOf(int d, long index) {
        long step = geometry[dim() + d];
        try {
            return Math.addExact(offset, Math.multiplyExact(index, step));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("index " + index + " of stride " + step + " and offset " + offset
                    + " give an offset of more than 2^63-1", e);
        }
    }

    /// An index of a dimension, counted from the start.
    final long checkIndex(int d, long index) {
        long size = geometry[d];
        long counted = index < 0 ? index + size : index;
        if (counted < 0 || counted >= size) {
            throw new IndexOutOfBoundsException("index " + index + " of dimension " + d + ofSize(d));
        }
        return counted;
    }

    final String ofSize(int d) {
        return " that has size " + geometry[d];
    }

    /// The storage offset of an element, in elements.
    final long position(long i) {
        checkIndices(1);
        return offset + checkIndex(0, i) * geometry[1];
    }

    /// The storage offset of an element, in elements.
    final long position(long i, long j) {
        checkIndices(2);
        return offset + checkIndex(0, i) * geometry[2] + checkIndex(1, j) * geometry[3];
    }

    /// The storage offset of an element, in elements.
    final long position(long[] index) {
        checkIndices(index.length);
        long position = offset;
        for (int d = 0; d < index.length; d++) {
            position += checkIndex(d, index[d]) * geometry[index.length + d];
        }
        return position;
    }

    private void checkIndices(int count) {
        if (geometry.length != 2 * count) {
            throw new IndexOutOfBoundsException(count + " indices for a tensor of " + dim() + " dimensions");
        }
    }
}
