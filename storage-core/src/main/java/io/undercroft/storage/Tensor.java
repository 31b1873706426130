package io.undercroft.storage;

import static io.undercroft.storage.internal.Layouts.DOUBLE;
import static io.undercroft.storage.internal.Layouts.FLOAT;
import static io.undercroft.storage.internal.Layouts.INT;
import static io.undercroft.storage.internal.Layouts.LONG;

import io.undercroft.storage.internal.Layouts;
import io.undercroft.storage.internal.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A strided view of a storage: dtype, shape, strides and storage offset. The counterpart of PyTorch's `TensorImpl`.
///
/// A tensor is immutable, except that its elements, which are in the storage, can be written; writes are visible in
/// every tensor on the same storage. Views ([#select], [#narrow], [#transpose], …) are new tensors on the same storage
/// and copy nothing. ([#set] returns a new tensor; PyTorch's `set_` changes a tensor in place.) Methods behave as those
/// of the same name in PyTorch unless documented otherwise; `fill_` and `copy_` are [#fill] and [#copyFrom].
///
/// Shape, strides and offsets count elements. Methods that create a tensor check that all elements are inside the
/// storage. A tensor without elements may have any offset, as in PyTorch. If the storage is resized later and becomes
/// too small, views can still be created, and every access throws [IllegalStateException].
///
/// A tensor on the meta device has a shape and no elements. Its views and copies are meta tensors. Methods that write
/// all elements do nothing; methods that read or write a single element throw [IllegalStateException].
///
/// A tensor is not a reference to its storage; [Storage] describes when the bytes are freed.
public abstract sealed class Tensor {
    /// The properties of a tensor besides its geometry.
    public enum Flag {
        /// The tensor requires a gradient (`requires_grad` in PyTorch). The flag is kept and saved, and has no effect.
        REQUIRES_GRAD,
        /// The elements are the complex conjugates of the stored numbers (PyTorch's lazy `conj()`).
        CONJ,
        /// The elements are the negatives of the stored numbers (PyTorch's lazy negation bit).
        NEG
    }

    /// Whether NaNs are close to each other in comparisons.
    public enum NaNs {
        /// A NaN is not close to anything, as `equal_nan=False` in PyTorch.
        DIFFERENT,
        /// NaNs are close to each other, as `equal_nan=True` in PyTorch.
        EQUAL
    }

    private static final double DEFAULT_RTOL = 1e-5;
    private static final double DEFAULT_ATOL = 1e-8;

    final Storage storage;
    final ElementType type;
    final long offset;
    /// The sizes, then the strides; see [Geometry].
    final long[] geometry;
    /// The end of the last element in the storage, in bytes; 0 if there are no elements.
    final long end;
    private final long numel;
    private final @Nullable Tensor grad;
    /// Created at the first use. Several threads may create it, which is harmless as shapes are immutable.
    private @Nullable Shape shape;

    /// Creates a tensor whose elements may be outside the storage: [#checkStorageHolds] checks that once for all views,
    /// [#segment] at each access.
    ///
    /// @throws IllegalArgumentException if no storage can hold such a tensor
    private Tensor(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
        this.storage = storage;
        this.type = type;
        this.offset = offset;
        this.geometry = geometry;
        this.grad = grad;
        this.numel = Geometry.numel(geometry);
        if (offset < 0) {
            throw new IllegalArgumentException("the storage offset " + offset + " is negative");
        }
        this.end = numel == 0 ? 0 : end();
    }

    // ---- making ----

    /// Creates a tensor on a storage.
    ///
    /// @param storage the storage of the elements
    /// @param dtype the type of the elements
    /// @param offset the storage offset of the first element, in elements
    /// @param shape the size in each dimension
    /// @param stride the stride in each dimension, in elements, 0 or more
    /// @return the tensor
    /// @throws IllegalArgumentException if the number of strides is not that of the dimensions, a stride is negative,
    ///     or an element is outside the storage
    public static Tensor of(Storage storage, DType dtype, long offset, Shape shape, long... stride) {
        Objects.requireNonNull(storage, "storage");
        return checked(on(storage, ElementType.of(dtype), offset, Geometry.of(shape, stride)));
    }

    /// Creates a tensor on a storage, in row-major order.
    ///
    /// @param storage the storage of the elements
    /// @param dtype the type of the elements
    /// @param offset the storage offset of the first element, in elements
    /// @param shape the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException if an element is outside the storage
    public static Tensor of(Storage storage, DType dtype, long offset, Shape shape) {
        return of(storage, dtype, offset, shape, Objects.requireNonNull(shape, "shape").contiguousStride());
    }

    /// Creates a zeroed tensor on a new storage, in row-major order.
    ///
    /// @param dtype the type of the elements
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException if a size is negative, or the size in bytes is more than 2^63-1
    public static Tensor zeros(DType dtype, long... sizes) {
        return zeros(Allocator.offHeap(), dtype, sizes);
    }

    /// {@return a zeroed tensor on a new storage, in row-major order}
    ///
    /// @param dtype the element type
    /// @param shape the shape
    /// @throws IllegalArgumentException if the size in bytes is more than 2^63-1
    public static Tensor zeros(DType dtype, Shape shape) {
        return zeros(dtype, shape.toArray());
    }

    /// Creates a zeroed tensor on a new storage of an allocator, in row-major order.
    ///
    /// @param allocator the allocator of the bytes
    /// @param dtype the type of the elements
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException if a size is negative, or the size in bytes is more than 2^63-1
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static Tensor zeros(Allocator allocator, DType dtype, long... sizes) {
        Shape shape = Shape.of(sizes);
        return rowMajor(Storage.allocate(Tensors.nbytes(dtype, shape), allocator), ElementType.of(dtype), shape);
    }

    /// Creates a tensor of ones on a new storage.
    ///
    /// @param dtype the type of the elements
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException as [#zeros(DType,long...)]
    public static Tensor ones(DType dtype, long... sizes) {
        return zeros(dtype, sizes).fill(1);
    }

    /// Creates a tensor on a new storage, with all elements set to a number.
    ///
    /// @param dtype the type of the elements
    /// @param value the number; converted as [#setDouble(long\[\],double)] does
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException as [#zeros(DType,long...)]
    public static Tensor full(DType dtype, double value, long... sizes) {
        return zeros(dtype, sizes).fill(value);
    }

    /// Creates a tensor on a new storage, with all elements set to a number.
    ///
    /// @param dtype the type of the elements
    /// @param value the number; converted as [#setLong(long\[\],long)] does
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException as [#zeros(DType,long...)]
    public static Tensor full(DType dtype, long value, long... sizes) {
        return zeros(dtype, sizes).fill(value);
    }

    /// Creates a tensor on a new storage, with all elements set to a number.
    ///
    /// @param dtype the type of the elements
    /// @param value the number; a dtype that is not complex drops the imaginary part
    /// @param sizes the size in each dimension
    /// @return the tensor
    /// @throws IllegalArgumentException as [#zeros(DType,long...)]
    public static Tensor full(DType dtype, Complex value, long... sizes) {
        return zeros(dtype, sizes).fill(value);
    }

    /// Creates a tensor with a shape and no elements, for which nothing is allocated.
    ///
    /// @param dtype the type of the elements
    /// @param sizes the size in each dimension
    /// @return the tensor, on [Device#META]
    /// @throws IllegalArgumentException if a size is negative, or the size in bytes is more than 2^63-1
    public static Tensor meta(DType dtype, long... sizes) {
        Shape shape = Shape.of(sizes);
        return rowMajor(Storage.meta(Tensors.nbytes(dtype, shape)), ElementType.of(dtype), shape);
    }

    /// {@return a one-dimensional tensor of the integers from 0 to `end - 1`}
    ///
    /// @param dtype the type of the elements
    /// @param end the number of elements
    /// @throws IllegalArgumentException if `end` is negative
    public static Tensor arange(DType dtype, long end) {
        return Tensors.arange(dtype, end);
    }

    /// {@return a one-dimensional tensor of the numbers `start`, `start + step`, … before `end`}
    ///
    /// @param dtype the type of the elements
    /// @param start the first number
    /// @param end the end, exclusive
    /// @param step the step, which may be negative
    /// @throws IllegalArgumentException if the step is 0 or has the wrong sign, or there are more than 2^63-1 elements
    public static Tensor arange(DType dtype, double start, double end, double step) {
        return Tensors.arange(dtype, start, end, step);
    }

    /// {@return a float64 tensor without dimensions}
    ///
    /// @param value its element
    public static Tensor scalar(double value) {
        return of(value).view();
    }

    /// {@return an int64 tensor without dimensions}
    ///
    /// @param value its element
    public static Tensor scalar(long value) {
        return of(value).view();
    }

    /// {@return a one-dimensional float32 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(float... values) {
        return Tensors.of(DType.FLOAT32, FLOAT, values, values.length);
    }

    /// {@return a one-dimensional float64 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(double... values) {
        return Tensors.of(DType.FLOAT64, DOUBLE, values, values.length);
    }

    /// {@return a one-dimensional int64 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(long... values) {
        return Tensors.of(DType.INT64, LONG, values, values.length);
    }

    /// {@return a one-dimensional int32 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(int... values) {
        return Tensors.of(DType.INT32, INT, values, values.length);
    }

    /// {@return a one-dimensional int16 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(short... values) {
        return Tensors.of(DType.INT16, Layouts.SHORT, values, values.length);
    }

    /// {@return a one-dimensional int8 tensor of the given values} `view(DType.UINT8)` returns them as unsigned bytes.
    ///
    /// @param values the elements
    public static Tensor of(byte... values) {
        return Tensors.of(DType.INT8, Layouts.BYTE, values, values.length);
    }

    /// {@return a one-dimensional bool tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(boolean... values) {
        return Tensors.of(values);
    }

    /// {@return a one-dimensional complex128 tensor of the given values}
    ///
    /// @param values the elements
    public static Tensor of(Complex... values) {
        return Tensors.of(values);
    }

    /// {@return a float32 tensor of the given values}
    ///
    /// @param values the elements in row-major order; copied
    /// @param sizes the sizes, whose product is the number of values; one may be -1 and is computed from the others
    /// @throws IllegalArgumentException if the number of values is not the product of the sizes
    public static Tensor of(float[] values, long... sizes) {
        return of(values).view(sizes);
    }

    /// {@return a float64 tensor of the given values}
    ///
    /// @param values the elements in row-major order; copied
    /// @param sizes the sizes, whose product is the number of values; one may be -1 and is computed from the others
    /// @throws IllegalArgumentException if the number of values is not the product of the sizes
    public static Tensor of(double[] values, long... sizes) {
        return of(values).view(sizes);
    }

    /// {@return an int64 tensor of the given values}
    ///
    /// @param values the elements in row-major order; copied
    /// @param sizes the sizes, whose product is the number of values; one may be -1 and is computed from the others
    /// @throws IllegalArgumentException if the number of values is not the product of the sizes
    public static Tensor of(long[] values, long... sizes) {
        return of(values).view(sizes);
    }

    /// {@return an int32 tensor of the given values}
    ///
    /// @param values the elements in row-major order; copied
    /// @param sizes the sizes, whose product is the number of values; one may be -1 and is computed from the others
    /// @throws IllegalArgumentException if the number of values is not the product of the sizes
    public static Tensor of(int[] values, long... sizes) {
        return of(values).view(sizes);
    }

    // ---- what it is ----

    /// {@return the storage of the elements, which is the same object for all views}
    public Storage storage() {
        return storage;
    }

    /// {@return the type of the elements}
    public DType dtype() {
        return type.dtype;
    }

    /// {@return the device of the elements}
    public Device device() {
        return storage.device();
    }

    /// {@return the memory layout: [Layout#STRIDED]} Tensors of the other layouts have separate types, such as
    /// [SparseCooTensor].
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

    /// Returns the shape that the elements have when they are [converted][#to(DType)] to a dtype: this shape, except
    /// that the last dimension counts numbers and not [blocks][DType#blocks]. A block without dimensions has one then.
    ///
    /// @param dtype the dtype
    /// @return the shape
    /// @throws IllegalArgumentException if the last size is more than 2^63-1
    public Shape shapeAs(DType dtype) {
        return Tensors.shape(this, dtype);
    }

    /// {@return the number of dimensions}
    public int dim() {
        return Geometry.rank(geometry);
    }

    /// {@return the size of one dimension, in elements}
    ///
    /// @param dim the dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long size(int dim) {
        return geometry[Shape.checkDim(dim, dim())];
    }

    /// {@return the strides, in elements, in a new array}
    public long[] stride() {
        return Geometry.strides(geometry);
    }

    /// {@return the stride of one dimension, in elements}
    ///
    /// @param dim the dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long stride(int dim) {
        return geometry[dim() + Shape.checkDim(dim, dim())];
    }

    /// {@return the offset of the first element in the storage, in elements}
    public long storageOffset() {
        return offset;
    }

    /// {@return the number of elements}
    public long numel() {
        return numel;
    }

    /// {@return the size of one element in bytes; 1 for elements narrower than a byte}
    public int itemsize() {
        return type.dtype.itemsize();
    }

    /// {@return the size of the elements in bytes when they are contiguous, whatever their strides are}
    ///
    /// @throws ArithmeticException if it is more than 2^63-1, which is possible only for strides of 0 and overlapping
    ///     elements
    public long nbytes() {
        return type.dtype.nbytes(numel);
    }

    /// {@return the address of the first element (`data_ptr` in PyTorch), on the storage's device; 0 for a meta tensor
    /// and for one without elements}
    ///
    /// @throws UnsupportedOperationException if the bytes are on the heap, where the garbage collector moves them
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

    /// {@return whether both have the same storage, dtype, shape, strides and offset (`is_set_to` in PyTorch, which
    /// does not compare the dtype)}
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
    /// @param flag the flag
    public boolean is(Flag flag) {
        return type.flags.contains(flag);
    }

    /// {@return whether the elements are in row-major order without gaps} As in PyTorch, strides of dimensions of size
    /// 1 are not compared, and an empty tensor is contiguous.
    public boolean isContiguous() {
        return numel == 0 || Geometry.isDense(geometry, null);
    }

    /// {@return whether the elements are in an order without gaps} As in PyTorch, this is false if the format is for
    /// another number of dimensions.
    ///
    /// @param format the order
    public boolean isContiguous(MemoryFormat format) {
        return format == MemoryFormat.CONTIGUOUS
                ? isContiguous()
                : format.fits(dim()) && Geometry.isDense(geometry, format.order());
    }

    // ---- reading ----

    /// {@return one element as a double} Integers of more than 53 bits are rounded. A complex element loses its
    /// imaginary part.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public double getDouble(long... index) {
        return doubleAt(position(index));
    }

    /// {@return one element of a tensor of one dimension, as [#getDouble(long...)]}
    ///
    /// @param i its index, negative from the end
    public double getDouble(long i) {
        return doubleAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [#getDouble(long...)]}
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    public double getDouble(long i, long j) {
        return doubleAt(position(i, j));
    }

    /// {@return one element as [#getDouble(long...)], rounded to a float}
    ///
    /// @param index one index for each dimension, negative from the end
    public float getFloat(long... index) {
        return floatAt(position(index));
    }

    /// {@return one element of a tensor of one dimension, as [#getFloat(long...)]}
    ///
    /// @param i its index, negative from the end
    public float getFloat(long i) {
        return floatAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [#getFloat(long...)]}
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    public float getFloat(long i, long j) {
        return floatAt(position(i, j));
    }

    /// {@return one element as a long} Floating-point elements are converted as by a cast in Java: they lose their
    /// fraction and are limited to the range of `long`. A uint64 element is returned as its 64 bits, to be read as an
    /// unsigned long.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public long getLong(long... index) {
        return longAt(position(index));
    }

    /// {@return one element of a tensor of one dimension, as [#getLong(long...)]}
    ///
    /// @param i its index, negative from the end
    public long getLong(long i) {
        return longAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [#getLong(long...)]}
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    public long getLong(long i, long j) {
        return longAt(position(i, j));
    }

    /// {@return one element as an `int`, converted as [#getLong(long...)] does}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws ArithmeticException if the element does not fit into an `int`
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public int getInt(long... index) {
        return Math.toIntExact(getLong(index));
    }

    /// {@return one element as a complex number; its imaginary part is 0 unless the dtype is complex}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public Complex getComplex(long... index) {
        return complexAt(segment(), position(index));
    }

    /// {@return whether one element is not zero; NaN is not}
    ///
    /// @param index one index for each dimension, negative from the end
    public boolean getBoolean(long... index) {
        Complex value = getComplex(index);
        return value.real() != 0 || value.imaginary() != 0;
    }

    // ---- writing ----

    /// Writes one element, converted to its dtype as by PyTorch's `to`. Floating-point dtypes round to nearest, ties to
    /// even. Integer dtypes drop the fraction and then the upper bits, as C does: 300.7 becomes 44 as uint8. Numbers
    /// that do not fit 64 bits (for int8, int16, uint16 and int32: 32 bits) and NaN become the lowest integer of that
    /// width first. In C, such conversions are undefined; this is the result on x86-64.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value the value
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setDouble(long[] index, double value) {
        setDoubleAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setDouble(long\[\],double)].
    ///
    /// @param i its index, negative from the end
    /// @param value the value
    public void setDouble(long i, double value) {
        setDoubleAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setDouble(long\[\],double)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value the value
    public void setDouble(long i, long j, double value) {
        setDoubleAt(position(i, j), value);
    }

    /// Writes one element, converted as [#setDouble(long\[\],double)] does.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value the value
    /// @throws IndexOutOfBoundsException as [#setDouble(long\[\],double)], which throws the same exceptions
    public void setFloat(long[] index, float value) {
        setDoubleAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, converted as [#setDouble(long\[\],double)] does.
    ///
    /// @param i its index, negative from the end
    /// @param value the value
    public void setFloat(long i, float value) {
        setDoubleAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, converted as [#setDouble(long\[\],double)] does.
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value the value
    public void setFloat(long i, long j, float value) {
        setDoubleAt(position(i, j), value);
    }

    /// Writes one element, converted to its dtype as by PyTorch's `to`: integer dtypes drop the upper bits (300 becomes
    /// 44 as uint8), floating-point dtypes round to nearest.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value the value
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setLong(long[] index, long value) {
        setLongAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setLong(long\[\],long)].
    ///
    /// @param i its index, negative from the end
    /// @param value the value
    public void setLong(long i, long value) {
        setLongAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setLong(long\[\],long)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value the value
    public void setLong(long i, long j, long value) {
        setLongAt(position(i, j), value);
    }

    /// Writes one element. A dtype that is not complex drops the imaginary part; a bool element is true if either part
    /// is not 0.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value the value
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype is not numeric or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setComplex(long[] index, Complex value) {
        setComplexAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setComplex(long\[\],Complex)].
    ///
    /// @param i its index, negative from the end
    /// @param value the value
    public void setComplex(long i, Complex value) {
        setComplexAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setComplex(long\[\],Complex)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value the value
    public void setComplex(long i, long j, Complex value) {
        setComplexAt(position(i, j), value);
    }

    /// Returns an accessor for loops over many elements. It is faster than the methods that take indices, which check
    /// the tensor for each element.
    ///
    /// @return an accessor, valid until the storage is freed or resized
    /// @throws IllegalArgumentException if there are not 1 or 2 dimensions
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta), is on a device that the host cannot
    ///     access, or has become too small
    public TensorAccessor accessor() {
        return new TensorAccessor(this);
    }

    // ---- bytes ----

    /// Returns the bytes of the elements of a contiguous tensor, without a copy.
    ///
    /// @return the bytes of the elements in the storage. The segment is read-only if the storage is, and must not be
    ///     used after the storage is freed, resized or collected
    /// @throws IllegalStateException if the tensor is not contiguous, has [Flag#CONJ] or [Flag#NEG], or starts inside a
    ///     byte ([#contiguous()] returns one that does not); or if the storage was freed, has no bytes or has become
    ///     too small
    public MemorySegment bytes() {
        if (!isOneRun()) {
            throw new IllegalStateException("the elements of this tensor of shape " + shape() + ", stride "
                    + Arrays.toString(stride()) + " and flags " + flags()
                    + " are not one run of stored bytes; call contiguous() first");
        }
        MemorySegment all = segment();
        return numel() == 0 ? all.asSlice(0, 0) : all.asSlice(firstByte(), nbytes());
    }

    /// Copies the elements in row-major order to a segment. Elements of a conjugated or negated tensor are resolved.
    ///
    /// @param target a segment of [#nbytes] bytes
    /// @throws IllegalArgumentException if the segment has another size
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void copyTo(MemorySegment target) {
        if (target.byteSize() != nbytes()) {
            throw new IllegalArgumentException(
                    "a target of " + target.byteSize() + " bytes for elements of " + nbytes());
        }
        BulkAccess.run(storage, () -> StridedCopy.copy(side(segment()), shape().toArray(), target));
    }

    // ---- arrays and buffers ----

    /// {@return the elements in row-major order, [converted][#to(DType)] to float32}
    ///
    /// @throws IllegalArgumentException if there are too many for an array
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public float[] toFloatArray() {
        return TensorArrays.toArray(this, DType.FLOAT32, FLOAT, float[]::new);
    }

    /// {@return the elements in row-major order, [converted][#to(DType)] to float64; otherwise as [#toFloatArray]}
    public double[] toDoubleArray() {
        return TensorArrays.toArray(this, DType.FLOAT64, DOUBLE, double[]::new);
    }

    /// {@return the elements in row-major order, [converted][#to(DType)] to int64; otherwise as [#toFloatArray]}
    public long[] toLongArray() {
        return TensorArrays.toArray(this, DType.INT64, LONG, long[]::new);
    }

    /// {@return the elements in row-major order, [converted][#to(DType)] to int32; otherwise as [#toFloatArray]}
    public int[] toIntArray() {
        return TensorArrays.toArray(this, DType.INT32, INT, int[]::new);
    }

    /// {@return the elements in row-major order, [converted][#to(DType)] to int16; otherwise as [#toFloatArray]}
    public short[] toShortArray() {
        return TensorArrays.toArray(this, DType.INT16, Layouts.SHORT, short[]::new);
    }

    /// {@return the elements in row-major order, [converted][#to(DType)] to int8; otherwise as [#toFloatArray]}
    public byte[] toByteArray() {
        return TensorArrays.toArray(this, DType.INT8, Layouts.BYTE, byte[]::new);
    }

    /// {@return the [bytes][#bytes] of the elements as a little-endian buffer, without a copy} Its views have their
    /// element type, for instance `asByteBuffer().asFloatBuffer()`.
    ///
    /// @throws IllegalStateException as [#bytes]
    /// @throws UnsupportedOperationException if there are more than 2^31-1 bytes
    public ByteBuffer asByteBuffer() {
        return TensorArrays.buffer(this);
    }

    // ---- flags and gradient ----

    /// {@return a tensor on the same elements with exactly these flags}
    ///
    /// @param wanted the flags
    /// @throws IllegalArgumentException if [Flag#CONJ] is set and the dtype is not complex, or [Flag#NEG] is set and
    ///     the dtype is bool, quantized or bits
    @CheckReturnValue
    public Tensor withFlags(Set<Flag> wanted) {
        return on(storage, type.with(wanted), offset, geometry, grad);
    }

    /// {@return the gradient, if the tensor has one} It is never computed. As in PyTorch, views and copies have none,
    /// and it is not saved with the tensor.
    public Optional<Tensor> grad() {
        return Optional.ofNullable(grad);
    }

    /// {@return this tensor with a gradient (PyTorch sets it in place)} [Flag#REQUIRES_GRAD] is not changed, as in
    /// PyTorch.
    ///
    /// @param gradient a tensor of the same shape, dtype and device, usually on a separate storage
    /// @throws IllegalArgumentException if the shape, dtype or device differs, or the gradient is this tensor
    @CheckReturnValue
    public Tensor withGrad(Tensor gradient) {
        if (gradient == this) {
            throw new IllegalArgumentException("a tensor cannot be its own gradient");
        }
        boolean fits = isSameSize(gradient) && dtype().equals(gradient.dtype()) && device().equals(gradient.device());
        if (!fits) {
            throw new IllegalArgumentException("a gradient of " + gradient.shape() + ", " + gradient.dtype() + " on "
                    + gradient.device() + " for a tensor of " + shape() + ", " + dtype() + " on " + device());
        }
        return on(storage, type, offset, geometry, gradient);
    }

    // ---- views ----

    /// {@return the slice at one index of a dimension, which is removed}
    ///
    /// @param dim the dimension, negative from the end
    /// @param index the index, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension or index
    @CheckReturnValue
    public Tensor select(int dim, long index) {
        return Views.select(this, dim, index);
    }

    /// {@return a range of indices of a dimension}
    ///
    /// @param dim the dimension, negative from the end
    /// @param start the first index, negative from the end
    /// @param length the number of indices
    /// @throws IndexOutOfBoundsException if the range is not inside the dimension
    @CheckReturnValue
    public Tensor narrow(int dim, long start, long length) {
        return Views.narrow(this, dim, start, length);
    }

    /// {@return every `step`-th index of a dimension, as Python's `start:end:step`} Negative bounds count from the end;
    /// bounds are limited to the dimension.
    ///
    /// @param dim the dimension, negative from the end
    /// @param start the first index
    /// @param end the end, exclusive; `Long.MAX_VALUE` for all
    /// @param step the step, 1 or more
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if the step is not positive
    @CheckReturnValue
    public Tensor slice(int dim, long start, long end, long step) {
        return Views.slice(this, dim, start, end, step);
    }

    /// {@return the tensor with two dimensions exchanged} For a tensor without dimensions, 0 and -1 are allowed, as in
    /// PyTorch.
    ///
    /// @param first a dimension, negative from the end
    /// @param second another dimension
    /// @throws IndexOutOfBoundsException if there is no such dimension
    @CheckReturnValue
    public Tensor transpose(int first, int second) {
        return Views.transpose(this, first, second);
    }

    /// {@return a tensor of two dimensions with its dimensions exchanged; one with fewer dimensions unchanged}
    ///
    /// @throws IllegalArgumentException if there are more than two dimensions
    @CheckReturnValue
    public Tensor t() {
        if (dim() > 2) {
            throw new IllegalArgumentException("t() is for at most 2 dimensions, not " + dim());
        }
        return dim() == 2 ? transpose(0, 1) : viewAt(offset, geometry);
    }

    /// {@return the tensor with its dimensions in another order}
    ///
    /// @param order for each new dimension, the old one; each exactly once
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if `order` is not a permutation of the dimensions
    @CheckReturnValue
    public Tensor permute(int... order) {
        return Views.permute(this, order);
    }

    /// {@return the tensor with one dimension moved and the others in their order}
    ///
    /// @param source the dimension, negative from the end
    /// @param destination its new number, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    @CheckReturnValue
    public Tensor movedim(int source, int destination) {
        return Views.movedim(this, source, destination);
    }

    /// Returns the same elements in another shape, if strides can express the shape without a copy.
    ///
    /// @param sizes the new sizes; one may be -1 and is computed from the others
    /// @return the view
    /// @throws IllegalArgumentException if the number of elements differs, or no strides express the shape ([#reshape]
    ///     copies then)
    @CheckReturnValue
    public Tensor view(long... sizes) {
        return Views.view(this, sizes);
    }

    /// Returns the same elements in another shape, as [#view(long...)].
    ///
    /// @param shape the new shape
    /// @return the view
    /// @throws IllegalArgumentException as [#view(long...)]
    @CheckReturnValue
    public Tensor view(Shape shape) {
        return view(shape.toArray());
    }

    /// Returns the same bytes as elements of another dtype. If the widths differ, the last dimension changes its size,
    /// and must have stride 1. If the dtype is wider, the size of the last dimension, the other strides and the offset
    /// must be multiples of the ratio of the widths.
    ///
    /// @param dtype the new dtype
    /// @return the view
    /// @throws IllegalArgumentException if these conditions are not met, or the tensor is negated or conjugated by a
    ///     flag
    @CheckReturnValue
    public Tensor view(DType dtype) {
        return Views.view(this, dtype);
    }

    /// Returns the same elements in another shape: a [view][#view(long...)] if possible, otherwise a copy.
    ///
    /// @param sizes the new sizes; one may be -1 and is computed from the others
    /// @return the view or the copy
    /// @throws IllegalArgumentException if the number of elements differs
    @CheckReturnValue
    public Tensor reshape(long... sizes) {
        Tensor view = Views.viewOrNull(this, sizes);
        return view != null ? view : copy().view(sizes);
    }

    /// {@return the elements in one dimension: a view if possible, otherwise a copy}
    @CheckReturnValue
    public Tensor flatten() {
        return flatten(0, -1);
    }

    /// {@return the tensor with adjacent dimensions joined to one: a view if possible, otherwise a copy}
    ///
    /// @param startDim the first of the dimensions, negative from the end
    /// @param endDim the last of the dimensions
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if the last comes before the first
    @CheckReturnValue
    public Tensor flatten(int startDim, int endDim) {
        return Views.flatten(this, startDim, endDim);
    }

    /// {@return the tensor without its dimensions of size 1}
    @CheckReturnValue
    public Tensor squeeze() {
        return Views.squeeze(this);
    }

    /// {@return the tensor without the given dimensions that have size 1}
    ///
    /// @param dims the dimensions, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if a dimension is given twice
    @CheckReturnValue
    public Tensor squeeze(int... dims) {
        return Views.squeeze(this, dims);
    }

    /// {@return the tensor with a new dimension of size 1}
    ///
    /// @param dim the number of the new dimension, from 0 to the present number of dimensions, negative from the end
    /// @throws IndexOutOfBoundsException if the number is out of that range
    @CheckReturnValue
    public Tensor unsqueeze(int dim) {
        return Views.unsqueeze(this, dim);
    }

    /// {@return the tensor with dimensions of size 1 expanded, by stride 0, and new dimensions inserted at the front}
    ///
    /// @param sizes the new sizes; -1 keeps a size
    /// @throws IllegalArgumentException if a size other than 1 would change, or there are fewer dimensions than before
    @CheckReturnValue
    public Tensor expand(long... sizes) {
        return Views.expand(this, sizes);
    }

    /// {@return the windows of a dimension, which may overlap, in a new last dimension}
    ///
    /// @param dim the dimension, negative from the end; in the result it counts the windows
    /// @param size the number of indices of a window, 0 or more
    /// @param step the number of indices from one window to the next, 1 or more
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if the dimension is shorter than a window, or size or step are out of range
    @CheckReturnValue
    public Tensor unfold(int dim, long size, long step) {
        return Views.unfold(this, dim, size, step);
    }

    /// {@return the main diagonal of the first two dimensions, in a new last dimension}
    ///
    /// @throws IndexOutOfBoundsException if there are fewer than two dimensions
    @CheckReturnValue
    public Tensor diagonal() {
        return diagonal(0, 0, 1);
    }

    /// {@return a diagonal of two dimensions, in a new last dimension}
    ///
    /// @param diagonalOffset 0 for the main diagonal, positive for diagonals above it, negative for those below it; a
    ///     diagonal outside the matrix is empty
    /// @param dim1 the dimension of the rows, negative from the end
    /// @param dim2 the dimension of the columns
    /// @throws IndexOutOfBoundsException if there is no such dimension
    /// @throws IllegalArgumentException if both dimensions are the same
    @CheckReturnValue
    public Tensor diagonal(long diagonalOffset, int dim1, int dim2) {
        return Views.diagonal(this, diagonalOffset, dim1, dim2);
    }

    /// {@return a tensor of any geometry on the same storage (`as_strided` in PyTorch)}
    ///
    /// @param sizes the size in each dimension
    /// @param steps the stride in each dimension, in elements
    /// @param storageOffset the offset of the first element in the storage, in elements
    /// @throws IllegalArgumentException if an element is outside the storage
    @CheckReturnValue
    public Tensor asStrided(Shape sizes, long[] steps, long storageOffset) {
        return set(storage, storageOffset, sizes, steps);
    }

    /// {@return a tensor of the same dtype on another storage (`set_` in PyTorch, which changes the tensor)}
    ///
    /// @param source the storage
    /// @param storageOffset the offset of the first element in the storage, in elements
    /// @param sizes the size in each dimension
    /// @param steps the stride in each dimension, in elements
    /// @throws IllegalArgumentException if an element is outside the storage (PyTorch resizes the storage)
    @CheckReturnValue
    public Tensor set(Storage source, long storageOffset, Shape sizes, long... steps) {
        return checked(on(source, type, storageOffset, Geometry.of(sizes, steps)));
    }

    /// {@return a one-dimensional tensor of the same dtype on all of another storage} Bytes at the end that do not make
    /// a whole element are ignored.
    ///
    /// @param source the storage
    @CheckReturnValue
    public Tensor set(Storage source) {
        return on(source, type, 0, new long[]{Tensors.elementsIn(source.nbytes(), dtype()), 1});
    }

    // ---- views of numbers ----

    /// {@return the complex conjugates of the elements, without a copy, by [Flag#CONJ]; this tensor if they are real}
    @CheckReturnValue
    public Tensor conj() {
        return dtype().kind() == DType.Kind.COMPLEX ? withType(type.toggled(Flag.CONJ)) : this;
    }

    /// {@return the negatives of the elements, without a copy, by [Flag#NEG]} (PyTorch's `neg` copies; its `_neg_view`
    /// is this.)
    ///
    /// @throws IllegalArgumentException if the dtype is bool, quantized or bits
    @CheckReturnValue
    public Tensor neg() {
        return withType(type.toggled(Flag.NEG));
    }

    /// {@return this tensor if it does not have [Flag#CONJ], otherwise a copy that stores the conjugates}
    @CheckReturnValue
    public Tensor resolveConj() {
        return is(Flag.CONJ) ? copy() : this;
    }

    /// {@return this tensor if it does not have [Flag#NEG], otherwise a copy that stores the negatives}
    @CheckReturnValue
    public Tensor resolveNeg() {
        return is(Flag.NEG) ? copy() : this;
    }

    /// {@return the real parts, as a view; this tensor if the elements are real}
    @CheckReturnValue
    public Tensor real() {
        return Views.real(this);
    }

    /// {@return the imaginary parts, as a view}
    ///
    /// @throws IllegalArgumentException if the elements are not complex
    @CheckReturnValue
    public Tensor imag() {
        return Views.imag(this);
    }

    /// {@return real and imaginary parts in a new last dimension of size 2, as a view}
    ///
    /// @throws IllegalArgumentException if the elements are not complex, or conjugated by a flag
    @CheckReturnValue
    public Tensor viewAsReal() {
        return Views.viewAsReal(this);
    }

    /// {@return the pairs of the last dimension as complex numbers, as a view}
    ///
    /// @throws IllegalArgumentException if the dtype is not float16, float32 or float64, the last dimension does not
    ///     have size 2 and stride 1, or another stride or the offset is odd
    @CheckReturnValue
    public Tensor viewAsComplex() {
        return Views.viewAsComplex(this);
    }

    // ---- copies ----

    /// {@return this tensor if [#bytes] can return its bytes, otherwise a [#copy()]}
    ///
    /// @throws IllegalStateException if a copy is needed and the storage was freed or has become too small
    @CheckReturnValue
    public Tensor contiguous() {
        return isOneRun() ? this : copy();
    }

    /// {@return this tensor if it is [contiguous][#isContiguous(MemoryFormat)] in an order and has neither [Flag#CONJ]
    /// nor [Flag#NEG], otherwise a copy in that order}
    ///
    /// @param format the order
    /// @throws IllegalArgumentException if the format is for another number of dimensions
    /// @throws IllegalStateException if a copy is needed and the storage was freed or has become too small
    @CheckReturnValue
    public Tensor contiguous(MemoryFormat format) {
        return type.isResolved() && startsOnByte() && isContiguous(format) ? this : copy(format);
    }

    /// {@return a copy of the elements in row-major order on a new storage} Elements of a conjugated or negated tensor
    /// are resolved. (PyTorch's `clone` keeps the strides of a tensor that is dense in another order;
    /// [#copy(MemoryFormat)] copies to other orders.)
    ///
    /// @throws IllegalStateException if the storage was freed or has become too small
    @CheckReturnValue
    public Tensor copy() {
        return copy(MemoryFormat.CONTIGUOUS);
    }

    /// {@return a copy of the elements in a given order on a new storage, as [#copy()]}
    ///
    /// @param format the order
    /// @throws IllegalArgumentException if the format is for another number of dimensions
    /// @throws IllegalStateException if the storage was freed or has become too small
    @CheckReturnValue
    public Tensor copy(MemoryFormat format) {
        return Tensors.empty(this, type.resolved(), format, Allocator.offHeap()).copyFrom(this);
    }

    /// {@return a copy of the elements in row-major order in memory of an allocator, as [#copy()]} The copy of a meta
    /// tensor is a meta tensor.
    ///
    /// @param allocator the allocator of the bytes
    /// @throws IllegalStateException if the storage was freed or has become too small
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    @CheckReturnValue
    public Tensor copy(Allocator allocator) {
        return Tensors.empty(this, type.resolved(), MemoryFormat.CONTIGUOUS, allocator).copyFrom(this);
    }

    /// Copies all elements of another tensor into this one (`copy_` in PyTorch). They are expanded to this shape and
    /// converted to this dtype. The tensors may overlap. [Blocks][DType#blocks] are decoded; they are not
    /// expanded, and this tensor has the shape [#shapeAs] of the source.
    ///
    /// @param source the tensor to copy
    /// @return this tensor
    /// @throws IllegalArgumentException if the source cannot be expanded to this shape, or this tensor has a dimension
    ///     of stride 0 and size 2 or more
    /// @throws UnsupportedOperationException if the dtypes differ and one is not numeric, or this storage is read-only
    /// @throws IllegalStateException if a storage was freed or has become too small, or the source is a meta tensor and
    ///     this one is not
    public Tensor copyFrom(Tensor source) {
        Tensors.copy(source, this);
        return this;
    }

    /// Copies elements of this dtype in row-major order into this tensor.
    ///
    /// @param source a segment of [#nbytes] bytes, little-endian
    /// @return this tensor
    /// @throws IllegalArgumentException if the segment has another size
    /// @throws UnsupportedOperationException if the storage is read-only
    /// @throws IllegalStateException if the storage was freed or has become too small
    public Tensor copyFrom(MemorySegment source) {
        if (source.byteSize() != nbytes()) {
            throw new IllegalArgumentException(
                    "a source of " + source.byteSize() + " bytes for elements of " + nbytes());
        }
        return copyFrom(rowMajor(Storage.wrap(source), ElementType.of(dtype()), shape()));
    }

    /// Sets all elements to one number, converted as [#setDouble(long\[\],double)] does.
    ///
    /// @param value the value
    /// @return this tensor
    /// @throws IllegalArgumentException if this tensor has a dimension of stride 0 and size 2 or more
    /// @throws UnsupportedOperationException if the dtype is not numeric or the storage is read-only
    /// @throws IllegalStateException if the storage was freed or has become too small
    public Tensor fill(double value) {
        return fill(of(value));
    }

    /// Sets all elements to one integer, converted as [#setLong(long\[\],long)] does; otherwise as [#fill(double)].
    ///
    /// @param value the value
    /// @return this tensor
    public Tensor fill(long value) {
        return fill(of(value));
    }

    /// Sets all elements to one complex number, converted as [#setComplex(long\[\],Complex)] does; otherwise as
    /// [#fill(double)].
    ///
    /// @param value the value
    /// @return this tensor
    public Tensor fill(Complex value) {
        return fill(of(value));
    }

    /// Returns the elements converted to another dtype, as by PyTorch's `to`.
    ///
    /// [Blocks][DType#blocks] are decoded to float32, as `gguf.dequantize` does, and then converted; the result has the
    /// shape [#shapeAs]. Only the blocks of this tensor are read: `select(0, row).to(DType.FLOAT32)` decodes one row.
    ///
    /// @param dtype the new dtype
    /// @return this tensor if it has that dtype, otherwise a row-major copy
    /// @throws UnsupportedOperationException if one of the dtypes is not numeric, or the new one is one of blocks
    /// @throws IllegalStateException if the storage was freed or has become too small
    @CheckReturnValue
    public Tensor to(DType dtype) {
        return dtype.equals(dtype()) ? this : Tensors.converted(this, dtype);
    }

    /// Returns the elements on another device. The copy has the elements of this tensor only, in row-major order;
    /// [StorageCopier] copies several tensors and keeps them on one storage. A copy from a device keeps the strides, as
    /// devices copy contiguous bytes: its storage has all bytes from the first element to the last. On [Device#META]
    /// nothing is copied, and the result has the same strides on a storage of the same size. (PyTorch keeps only the
    /// order of the strides.)
    ///
    /// @param device the target device
    /// @return this tensor if it is on that device, otherwise a tensor on a new storage
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta), or there is no such device
    @CheckReturnValue
    public Tensor to(Device device) {
        return device.equals(device()) ? this : Tensors.moved(this, device);
    }

    /// {@return this tensor if it is in host memory, otherwise a copy in host memory}
    ///
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    @CheckReturnValue
    public Tensor cpu() {
        return to(Device.CPU);
    }

    /// {@return this tensor if it is on the first CUDA device, otherwise a copy on it, as [#to(Device)]}
    ///
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta), or there is no such device
    @CheckReturnValue
    public Tensor cuda() {
        return to(Device.cuda(0));
    }

    /// {@return whether the elements are on a CUDA device}
    public boolean isCuda() {
        return device().isCuda();
    }

    /// {@return this tensor if it is in pinned host memory, otherwise a row-major copy in pinned host memory}
    ///
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta), or there is no pinned memory
    @CheckReturnValue
    public Tensor pinMemory() {
        return isPinned() ? this : Tensors.pinned(this);
    }

    /// {@return whether the elements are in pinned host memory}
    public boolean isPinned() {
        return storage.isPinned();
    }

    // ---- sharing between processes ----

    /// Moves the storage to memory that other processes can attach (`share_memory_` in PyTorch), as
    /// [Storage#shareMemory]. All tensors on the storage then use the shared memory. A gradient is not moved, as in
    /// PyTorch.
    ///
    /// @return this tensor
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta), or there is no shared memory on its
    ///     device
    /// @throws OutOfMemoryError if there is not enough shared memory; nothing has changed then
    public Tensor shareMemory() {
        storage.shareMemory();
        return this;
    }

    /// {@return whether writes are visible to other processes (`is_shared` in PyTorch)}
    ///
    /// @throws IllegalStateException if the storage was freed
    public boolean isShared() {
        return storage.isShared();
    }

    // ---- comparing ----

    /// {@return whether both tensors have the same dtype, shape and bits of all elements} NaNs with the same bits are
    /// equal; 0.0 and -0.0 are not. [#equal] compares numbers.
    ///
    /// @param other another tensor
    /// @throws IllegalStateException if a storage was freed, has no bytes (meta) or has become too small
    public boolean contentEquals(Tensor other) {
        return dtype().equals(other.dtype()) && isSameSize(other) && Comparison.sameBits(this, other);
    }

    /// {@return whether both tensors have the same shape and equal numbers (`torch.equal`)} NaN does not equal any
    /// number; 0.0 equals -0.0. Different dtypes are converted to a common dtype first, as in PyTorch.
    ///
    /// @param other another tensor
    /// @throws IllegalArgumentException if the dtypes have no common dtype, for instance int32 and uint32
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if a storage was freed, has no bytes (meta) or has become too small
    public boolean equal(Tensor other) {
        return isSameSize(other) && Comparison.allEqual(this, other);
    }

    /// {@return a bool tensor that says for each element whether it equals that of another tensor, as by [#equal]} The
    /// tensors are expanded to a common shape.
    ///
    /// @param other another tensor
    /// @throws IllegalArgumentException if there is no common shape, or no common dtype
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if a storage was freed, has no bytes or has become too small
    @CheckReturnValue
    public Tensor eq(Tensor other) {
        return Comparison.eachEqual(this, other);
    }

    /// {@return the result of [#isClose(Tensor,double,double,NaNs)] with PyTorch's defaults: 1e-5, 1e-8,
    /// [NaNs#DIFFERENT]}
    ///
    /// @param other another tensor
    @CheckReturnValue
    public Tensor isClose(Tensor other) {
        return isClose(other, DEFAULT_RTOL, DEFAULT_ATOL, NaNs.DIFFERENT);
    }

    /// Compares each element with that of another tensor. Two elements are close if they are equal, or finite with
    /// `abs(this - other) <= atol + abs(rtol * other)`. As in PyTorch, each step is rounded to the dtype, and integers
    /// are converted to float32. The tensors are expanded to a common shape.
    ///
    /// @param other the tensor to compare with, of the same dtype
    /// @param rtol the tolerance relative to `other`
    /// @param atol the absolute tolerance
    /// @param nans whether NaNs are close to each other
    /// @return a bool tensor
    /// @throws IllegalArgumentException if the dtypes differ, there is no common shape, or a tolerance is negative
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if a storage was freed, has no bytes or has become too small
    @CheckReturnValue
    public Tensor isClose(Tensor other, double rtol, double atol, NaNs nans) {
        return Comparison.eachClose(this, other, new Comparison.Tolerance(rtol, atol, nans));
    }

    /// {@return whether all elements are close, as [#isClose(Tensor)]}
    ///
    /// @param other another tensor
    public boolean allClose(Tensor other) {
        return allClose(other, DEFAULT_RTOL, DEFAULT_ATOL, NaNs.DIFFERENT);
    }

    /// {@return whether all elements are close, as [#isClose(Tensor,double,double,NaNs)]}
    ///
    /// @param other the tensor to compare with
    /// @param rtol the tolerance relative to `other`
    /// @param atol the absolute tolerance
    /// @param nans whether NaNs are close to each other
    public boolean allClose(Tensor other, double rtol, double atol, NaNs nans) {
        return Comparison.allClose(this, other, new Comparison.Tolerance(rtol, atol, nans));
    }

    /// {@return the only element of a tensor of one element: a [Double] for floating-point and quantized dtypes,
    /// otherwise a [Long]}
    ///
    /// @throws IllegalStateException if the tensor does not have exactly one element
    /// @throws UnsupportedOperationException if the dtype is not numeric, or complex
    public Number item() {
        if (numel() != 1) {
            throw new IllegalStateException(
                    "a tensor of " + numel() + " elements has no single item; take one by its index");
        }
        long[] first = new long[shape().rank()];
        return switch (dtype().kind()) {
            case FLOATING, QUANTIZED -> (Number) getDouble(first);
            case COMPLEX -> throw new UnsupportedOperationException(
                    "an element of " + dtype() + " is no single number; use getComplex");
            case SIGNED, UNSIGNED, BOOLEAN, BITS -> (Number) getLong(first);
        };
    }

    /// {@return the elements as PyTorch prints them; of more than 1000 only those at the ends} Makes deferred bytes. If
    /// there are no bytes (meta, freed, or a storage that has become too small), the size is printed.
    @Override
    public String toString() {
        return toString(dtype());
    }

    /// Returns the elements converted to another dtype, as [#toString()] prints them. Only the elements that are
    /// printed are converted.
    ///
    /// @param dtype the dtype that they are converted to
    /// @return the same as `to(dtype).toString()`
    /// @throws UnsupportedOperationException if one of the dtypes is not numeric
    public String toString(DType dtype) {
        return BulkAccess.ask(storage, () -> TensorPrinter.print(this, dtype));
    }

    // ---- for this package ----

    /// Creates a tensor of the class for its dtype and flags. Its elements may be outside the storage;
    /// [#checkStorageHolds] checks that.
    static Tensor on(Storage storage, ElementType type, long offset, long[] geometry) {
        return on(storage, type, offset, geometry, null);
    }

    private static Tensor on(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
        return switch (type.access) {
            case FLOAT -> new OfFloat(storage, type, offset, geometry, grad);
            case DOUBLE -> new OfDouble(storage, type, offset, geometry, grad);
            case INT -> new OfInt(storage, type, offset, geometry, grad);
            case LONG -> new OfLong(storage, type, offset, geometry, grad);
            case OTHER -> new OfOther(storage, type, offset, geometry, grad);
        };
    }

    /// Creates a tensor of row-major order at the start of a storage.
    static Tensor rowMajor(Storage storage, ElementType type, Shape shape) {
        return on(storage, type, 0, Geometry.rowMajor(shape));
    }

    /// Returns a view of the same type. It has no gradient.
    Tensor viewAt(long newOffset, long[] newGeometry) {
        return on(storage, type, newOffset, newGeometry);
    }

    /// Returns a tensor of the same geometry on another storage.
    ///
    /// @throws IllegalArgumentException if the storage is too small
    Tensor withStorage(Storage other) {
        return checked(on(other, type, offset, geometry));
    }

    /// Returns a view of the same geometry that reads its elements as another type.
    Tensor withType(ElementType other) {
        return on(storage, other, offset, geometry);
    }

    private Tensor fill(Tensor value) {
        Tensors.fill(this, value.view());
        return this;
    }

    private static Tensor checked(Tensor tensor) {
        tensor.checkStorageHolds();
        return tensor;
    }

    /// Returns whether the elements are one run of stored bytes in row-major order.
    boolean isOneRun() {
        return type.isResolved() && startsOnByte() && isContiguous();
    }

    /// Returns whether the first element does not start inside a byte.
    boolean startsOnByte() {
        DType dtype = type.dtype;
        return numel == 0 || dtype.isByteSized() || offset * dtype.bits() % 8 == 0;
    }

    /// Returns the first byte of a window that starts on one.
    long firstByte() {
        DType dtype = type.dtype;
        return dtype.isByteSized() ? offset * dtype.itemsize() : offset * dtype.bits() / 8;
    }

    /// Returns the bytes of the storage, after a check that they have all elements.
    MemorySegment segment() {
        return checkHolds(storage.segment());
    }

    /// Returns the bytes of the storage for writing, after a check that they have all elements.
    MemorySegment writable() {
        return checkHolds(storage.writable());
    }

    /// Returns the elements as they are copied.
    ///
    /// @param bytes the bytes of the storage
    StridedCopy.Side side(MemorySegment bytes) {
        return new StridedCopy.Side(type.dtype, type.lazy, bytes, offset, stride());
    }

    private MemorySegment checkHolds(MemorySegment bytes) {
        checkHolds(bytes.byteSize());
        return bytes;
    }

    /// @throws IllegalStateException if an element lies outside a storage that now has so many bytes
    void checkHolds(long nbytes) {
        if (nbytes < end) {
            throw new IllegalStateException(
                    window() + " needs " + end + " bytes of a storage that was resized to " + nbytes);
        }
    }

    /// @throws IllegalArgumentException if an element lies outside the storage
    void checkStorageHolds() {
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

    /// Returns the geometry, for messages.
    private String window() {
        return "shape " + Arrays.toString(Geometry.sizes(geometry)) + ", stride " + Arrays.toString(stride())
                + " and offset " + offset + " of " + type.dtype;
    }

    // ---- places ----

    /// Returns the storage offset of an index of one dimension. It can overflow only for strides that no element uses.
    long offsetOf(int d, long index) {
        long step = geometry[dim() + d];
        try {
            return Math.addExact(offset, Math.multiplyExact(index, step));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("index " + index + " of stride " + step + " and offset " + offset
                    + " give an offset of more than 2^63-1", e);
        }
    }

    /// Returns an index of a dimension, counted from the start.
    long checkIndex(int d, long index) {
        long size = geometry[d];
        long counted = index < 0 ? index + size : index;
        if (counted < 0 || counted >= size) {
            throw new IndexOutOfBoundsException("index " + index + " of dimension " + d + ofSize(d));
        }
        return counted;
    }

    String ofSize(int d) {
        return " that has size " + geometry[d];
    }

    /// Returns the storage offset of an element, in elements.
    long position(long i) {
        checkIndices(1);
        return offset + checkIndex(0, i) * geometry[1];
    }

    /// Returns the storage offset of an element, in elements.
    long position(long i, long j) {
        checkIndices(2);
        return offset + checkIndex(0, i) * geometry[2] + checkIndex(1, j) * geometry[3];
    }

    /// Returns the storage offset of an element, in elements.
    long position(long[] index) {
        checkIndices(index.length);
        long position = offset;
        for (int d = 0; d < index.length; d++) {
            position += checkIndex(d, index[d]) * geometry[index.length + d];
        }
        return position;
    }

    private void checkIndices(int count) {
        if (geometry.length != 2 * count) {
            throw indexCount(count, dim());
        }
    }

    /// {@return the exception for an element that is named by too few or too many indices}
    ///
    /// @param count the number of indices
    /// @param dim the number of dimensions
    static IndexOutOfBoundsException indexCount(int count, int dim) {
        return new IndexOutOfBoundsException(count + (count == 1 ? " index" : " indices") + " for a tensor with " + dim
                + (dim == 1 ? " dimension" : " dimensions"));
    }

    // ---- elements ----

    private float floatAt(long position) {
        MemorySegment bytes = segment();
        return this instanceof OfFloat
                ? bytes.get(FLOAT, position * Float.BYTES)
                : (float) type.elements.getDouble(bytes, position);
    }

    private double doubleAt(long position) {
        MemorySegment bytes = segment();
        if (this instanceof OfDouble) {
            return bytes.get(DOUBLE, position * Double.BYTES);
        }
        return this instanceof OfFloat
                ? bytes.get(FLOAT, position * Float.BYTES)
                : type.elements.getDouble(bytes, position);
    }

    private long longAt(long position) {
        MemorySegment bytes = segment();
        if (this instanceof OfLong) {
            return bytes.get(LONG, position * Long.BYTES);
        }
        return this instanceof OfInt
                ? bytes.get(INT, position * Integer.BYTES)
                : type.elements.getLong(bytes, position);
    }

    private void setDoubleAt(long position, double value) {
        MemorySegment bytes = writable();
        if (this instanceof OfFloat) {
            bytes.set(FLOAT, position * Float.BYTES, (float) value);
        } else if (this instanceof OfDouble) {
            bytes.set(DOUBLE, position * Double.BYTES, value);
        } else {
            type.elements.setDouble(bytes, position, value);
        }
    }

    private void setLongAt(long position, long value) {
        MemorySegment bytes = writable();
        if (this instanceof OfLong) {
            bytes.set(LONG, position * Long.BYTES, value);
        } else if (this instanceof OfInt) {
            bytes.set(INT, position * Integer.BYTES, (int) value);
        } else {
            type.elements.setLong(bytes, position, value);
        }
    }

    private void setComplexAt(long position, Complex value) {
        type.elements.setComplex(writable(), position, value.real(), value.imaginary());
    }

    private Complex complexAt(MemorySegment bytes, long position) {
        return new Complex(type.elements.getDouble(bytes, position), type.elements.getImaginary(bytes, position));
    }

    // The most common dtypes are read and written here and not through Elements, of which a program may use a dozen
    // kinds: the compiler cannot inline such a call, and would read all of a tensor's fields again after each one. The
    // class of the tensor determines the dtype. The compiler knows that an object's class stays the same, so it checks
    // once before a loop; a field it would check for each element.

    /// Elements of float32 as they are stored.
    private static final class OfFloat extends Tensor {
        private OfFloat(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
            super(storage, type, offset, geometry, grad);
        }
    }

    /// Elements of float64 as they are stored.
    private static final class OfDouble extends Tensor {
        private OfDouble(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
            super(storage, type, offset, geometry, grad);
        }
    }

    /// Elements of int32 as they are stored.
    private static final class OfInt extends Tensor {
        private OfInt(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
            super(storage, type, offset, geometry, grad);
        }
    }

    /// Elements of int64 as they are stored.
    private static final class OfLong extends Tensor {
        private OfLong(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
            super(storage, type, offset, geometry, grad);
        }
    }

    /// All other elements.
    private static final class OfOther extends Tensor {
        private OfOther(Storage storage, ElementType type, long offset, long[] geometry, @Nullable Tensor grad) {
            super(storage, type, offset, geometry, grad);
        }
    }
}
