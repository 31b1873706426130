package io.undercroft.storage;

import static io.undercroft.storage.internal.Layouts.DOUBLE;
import static io.undercroft.storage.internal.Layouts.FLOAT;
import static io.undercroft.storage.internal.Layouts.INT;
import static io.undercroft.storage.internal.Layouts.LONG;

import io.undercroft.storage.internal.Layouts;
import io.undercroft.storage.internal.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/// How the elements of a [Tensor] are read and written, one by one and in bulk. The second of the three layers of a
/// tensor; its public methods are the tensor's.
///
/// There are methods for one and two indices besides those for any number, so that loops make no arrays.
///
/// The most common dtypes are read here and not through [Elements][io.undercroft.storage.internal.Elements], of which a
/// program may use a dozen kinds: the compiler cannot inline such a call, and would read all of a tensor's fields again
/// after each one. Which dtype it is, the class of the tensor tells. The compiler knows that an object's class stays
/// the same, so it asks once before a loop; a field it would ask for each element.
abstract sealed class ElementAccess extends StridedWindow permits Tensor {
    ElementAccess(Storage storage, ElementType type, long offset, long[] geometry) {
        super(storage, type, offset, geometry);
    }

    // ---- reading ----

    /// {@return one element as a double} Integers are rounded if they have more than 53 bits; of a complex element it
    /// is the real part.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
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

    /// {@return one element as a float, rounded from [#getDouble(long...)]}
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

    /// {@return one element as a long} Floating-point elements lose their fraction and are limited to the range of
    /// `long`, as a Java cast does it. A uint64 from 2^63 on comes as its 64 bits, for [Long#toUnsignedString] and its
    /// like.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
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
    /// @throws UnsupportedOperationException if the dtype has no numbers
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public int getInt(long... index) {
        return Math.toIntExact(getLong(index));
    }

    /// {@return one element as a complex number; its imaginary part is 0 unless the dtype is complex}
    ///
    /// @param index one index for each dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers
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

    /// Writes one element, converted to its dtype as PyTorch's `to` converts: floating-point dtypes round to nearest,
    /// ties to even; integer dtypes drop the fraction and then the upper bits, as C does (300.7 is 44 as uint8, where a
    /// Java cast would give 255). What does not fit 64 bits, and for int8, int16, uint16 and int32 what does not fit
    /// 32 bits, counts as the lowest integer of that width, as does NaN; so it is on x86-64, while C leaves the answer
    /// open.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value what to write
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setDouble(long[] index, double value) {
        setDoubleAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setDouble(long[],double)].
    ///
    /// @param i its index, negative from the end
    /// @param value what to write
    public void setDouble(long i, double value) {
        setDoubleAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setDouble(long[],double)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value what to write
    public void setDouble(long i, long j, double value) {
        setDoubleAt(position(i, j), value);
    }

    /// Writes one element; integers too wide for the dtype lose their upper bits, as in C.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value what to write
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setLong(long[] index, long value) {
        setLongAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setLong(long[],long)].
    ///
    /// @param i its index, negative from the end
    /// @param value what to write
    public void setLong(long i, long value) {
        setLongAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setLong(long[],long)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value what to write
    public void setLong(long i, long j, long value) {
        setLongAt(position(i, j), value);
    }

    /// Writes one element; a dtype that is not complex drops the imaginary part.
    ///
    /// @param index one index for each dimension, negative from the end
    /// @param value what to write
    /// @throws IndexOutOfBoundsException if there is no such element
    /// @throws UnsupportedOperationException if the dtype has no numbers or the storage is read-only
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void setComplex(long[] index, Complex value) {
        setComplexAt(position(index), value);
    }

    /// Writes one element of a tensor of one dimension, as [#setComplex(long[],Complex)].
    ///
    /// @param i its index, negative from the end
    /// @param value what to write
    public void setComplex(long i, Complex value) {
        setComplexAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [#setComplex(long[],Complex)].
    ///
    /// @param i its index in the first dimension, negative from the end
    /// @param j its index in the second
    /// @param value what to write
    public void setComplex(long i, long j, Complex value) {
        setComplexAt(position(i, j), value);
    }

    // ---- bytes ----

    /// The bytes of the elements, of a tensor that is contiguous and whose flags do not change what is stored.
    ///
    /// @return exactly the elements' bytes, in the storage; writing there writes the tensor. It is read-only if the
    ///     storage is, and must not be used after the storage is freed, resized or collected
    /// @throws IllegalStateException if the elements are not one run of stored bytes ([Tensor#contiguous()] first): the
    ///     tensor is not contiguous, or negated or conjugated, or starts inside a byte; or if the storage was freed,
    ///     has no bytes or has become too small
    public MemorySegment bytes() {
        if (!isOneRun()) {
            throw new IllegalStateException("the elements of this tensor of shape " + shape() + ", stride "
                    + Arrays.toString(stride()) + " and flags " + flags()
                    + " are not one run of stored bytes; call contiguous() first");
        }
        MemorySegment all = segment();
        return numel() == 0 ? all.asSlice(0, 0) : all.asSlice(firstByte(), nbytes());
    }

    /// Copies the elements in row-major order, conjugation and negation carried out, to memory that the caller owns.
    ///
    /// @param target as many bytes as [#nbytes]
    /// @throws IllegalArgumentException if the target has another size
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public void copyTo(MemorySegment target) {
        if (target.byteSize() != nbytes()) {
            throw new IllegalArgumentException(
                    "a target of " + target.byteSize() + " bytes for elements of " + nbytes());
        }
        Bulk.run(storage, () -> StridedCopy.copy(tensor(), segment(), target));
    }

    // ---- arrays and buffers ----

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to float32}
    ///
    /// @throws IllegalArgumentException if there are more than an array can hold
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or has become too small
    public float[] toFloatArray() {
        return TensorArrays.toArray(tensor(), DType.FLOAT32, Layouts.FLOAT, float[]::new);
    }

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to float64; otherwise as
    /// [#toFloatArray]}
    public double[] toDoubleArray() {
        return TensorArrays.toArray(tensor(), DType.FLOAT64, Layouts.DOUBLE, double[]::new);
    }

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to int64; otherwise as
    /// [#toFloatArray]}
    public long[] toLongArray() {
        return TensorArrays.toArray(tensor(), DType.INT64, Layouts.LONG, long[]::new);
    }

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to int32; otherwise as
    /// [#toFloatArray]}
    public int[] toIntArray() {
        return TensorArrays.toArray(tensor(), DType.INT32, Layouts.INT, int[]::new);
    }

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to int16; otherwise as
    /// [#toFloatArray]}
    public short[] toShortArray() {
        return TensorArrays.toArray(tensor(), DType.INT16, Layouts.SHORT, short[]::new);
    }

    /// {@return the elements in row-major order, as [converted][Tensor#to(DType)] to int8; otherwise as
    /// [#toFloatArray]}
    public byte[] toByteArray() {
        return TensorArrays.toArray(tensor(), DType.INT8, Layouts.BYTE, byte[]::new);
    }

    /// {@return the bytes of the elements as a little-endian buffer, without a copy} As [#bytes], with an end at 2^31-1
    /// bytes.
    ///
    /// @throws IllegalStateException as [#bytes]
    /// @throws UnsupportedOperationException if there are more bytes than a buffer can have
    public ByteBuffer asByteBuffer() {
        return TensorArrays.buffer(tensor());
    }

    /// {@return the elements of a float32 tensor as a buffer, without a copy}
    ///
    /// @throws IllegalArgumentException if the dtype is another one
    /// @throws IllegalStateException as [#bytes]
    /// @throws UnsupportedOperationException as [#asByteBuffer]
    public FloatBuffer asFloatBuffer() {
        return TensorArrays.buffer(tensor(), DType.FLOAT32).asFloatBuffer();
    }

    /// {@return the elements of a float64 tensor as a buffer, as [#asFloatBuffer]}
    public DoubleBuffer asDoubleBuffer() {
        return TensorArrays.buffer(tensor(), DType.FLOAT64).asDoubleBuffer();
    }

    /// {@return the elements of an int64 tensor as a buffer, as [#asFloatBuffer]}
    public LongBuffer asLongBuffer() {
        return TensorArrays.buffer(tensor(), DType.INT64).asLongBuffer();
    }

    /// {@return the elements of an int32 tensor as a buffer, as [#asFloatBuffer]}
    public IntBuffer asIntBuffer() {
        return TensorArrays.buffer(tensor(), DType.INT32).asIntBuffer();
    }

    /// {@return the elements of an int16 tensor as a buffer, as [#asFloatBuffer]}
    public ShortBuffer asShortBuffer() {
        return TensorArrays.buffer(tensor(), DType.INT16).asShortBuffer();
    }

    private Tensor tensor() {
        return (Tensor) this;
    }

    private float floatAt(long position) {
        MemorySegment bytes = segment();
        return this instanceof Tensor.OfFloat
                ? bytes.get(FLOAT, position * Float.BYTES)
                : (float) type.elements.getDouble(bytes, position);
    }

    private double doubleAt(long position) {
        MemorySegment bytes = segment();
        if (this instanceof Tensor.OfDouble) {
            return bytes.get(DOUBLE, position * Double.BYTES);
        }
        return this instanceof Tensor.OfFloat
                ? bytes.get(FLOAT, position * Float.BYTES)
                : type.elements.getDouble(bytes, position);
    }

    private long longAt(long position) {
        MemorySegment bytes = segment();
        if (this instanceof Tensor.OfLong) {
            return bytes.get(LONG, position * Long.BYTES);
        }
        return this instanceof Tensor.OfInt
                ? bytes.get(INT, position * Integer.BYTES)
                : type.elements.getLong(bytes, position);
    }

    private void setDoubleAt(long position, double value) {
        MemorySegment bytes = writable();
        if (this instanceof Tensor.OfFloat) {
            bytes.set(FLOAT, position * Float.BYTES, (float) value);
        } else if (this instanceof Tensor.OfDouble) {
            bytes.set(DOUBLE, position * Double.BYTES, value);
        } else {
            type.elements.setDouble(bytes, position, value);
        }
    }

    private void setLongAt(long position, long value) {
        MemorySegment bytes = writable();
        if (this instanceof Tensor.OfLong) {
            bytes.set(LONG, position * Long.BYTES, value);
        } else if (this instanceof Tensor.OfInt) {
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
}
