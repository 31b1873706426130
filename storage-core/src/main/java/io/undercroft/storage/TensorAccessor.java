package io.undercroft.storage;

import static io.undercroft.storage.internal.Layouts.DOUBLE;
import static io.undercroft.storage.internal.Layouts.FLOAT;
import static io.undercroft.storage.internal.Layouts.INT;
import static io.undercroft.storage.internal.Layouts.LONG;

import io.undercroft.storage.ElementType.Access;
import io.undercroft.storage.internal.Elements;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/// The elements of a tensor of one or two dimensions, for loops over many of them (`TensorAccessor` in PyTorch's C++).
/// Programs that iterate over elements should use an accessor.
///
/// Its methods convert elements as the methods of [Tensor] with the same names, but the tensor is checked once and not
/// for each element. A loop over float32 elements as floats or doubles, float64 elements as doubles, or int32 or int64
/// elements as longs takes as long as a loop over a [MemorySegment]. Elements of other dtypes should be converted by
/// [Tensor#to(DType)] first.
///
/// ```java
/// TensorAccessor a = matrix.accessor();
/// for (long i = 0; i < a.size(0); i++) {
///     for (long j = 0; j < a.size(1); j++) {
///         a.setFloat(i, j, 2 * a.getFloat(i, j));
///     }
/// }
/// ```
///
/// Indices count from 0; negative indices are out of bounds. An accessor keeps the tensor reachable. It must not be
/// used after the storage is freed or resized. It may be used by several threads.
///
/// All methods throw an [IndexOutOfBoundsException] if there is no such element, and an [UnsupportedOperationException]
/// if the dtype is not numeric or an element of a read-only storage is written.
public final class TensorAccessor {
    private final Tensor tensor;
    private final MemorySegment bytes;
    private final boolean isReadOnly;
    private final Access access;
    private final Elements elements;
    private final int dim;
    private final long offset;
    private final long rows;
    private final long columns;
    private final long rowStride;
    private final long columnStride;

    TensorAccessor(Tensor tensor) {
        this.dim = tensor.dim();
        if (dim != 1 && dim != 2) {
            throw new IllegalArgumentException("a tensor of shape " + tensor.shape()
                    + " has no accessor, which is for 1 or 2 dimensions; call flatten() or select() first");
        }
        this.tensor = tensor;
        this.bytes = tensor.segment();
        this.isReadOnly = bytes.isReadOnly();
        this.access = tensor.type.access;
        this.elements = tensor.type.elements;
        this.offset = tensor.offset;
        // A tensor of one dimension is one row.
        this.rows = dim == 2 ? tensor.size(0) : 1;
        this.columns = tensor.size(-1);
        this.rowStride = dim == 2 ? tensor.stride(0) : 0;
        this.columnStride = tensor.stride(-1);
    }

    /// {@return the size of a dimension}
    ///
    /// @param d the dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long size(int d) {
        return tensor.size(d);
    }

    /// {@return one element of a tensor of one dimension, as [Tensor#getFloat(long)]}
    ///
    /// @param i its index
    public float getFloat(long i) {
        return floatAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [Tensor#getFloat(long,long)]}
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    public float getFloat(long i, long j) {
        return floatAt(position(i, j));
    }

    /// {@return one element of a tensor of one dimension, as [Tensor#getDouble(long)]}
    ///
    /// @param i its index
    public double getDouble(long i) {
        return doubleAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [Tensor#getDouble(long,long)]}
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    public double getDouble(long i, long j) {
        return doubleAt(position(i, j));
    }

    /// {@return one element of a tensor of one dimension, as [Tensor#getLong(long)]}
    ///
    /// @param i its index
    public long getLong(long i) {
        return longAt(position(i));
    }

    /// {@return one element of a tensor of two dimensions, as [Tensor#getLong(long,long)]}
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    public long getLong(long i, long j) {
        return longAt(position(i, j));
    }

    /// Writes one element of a tensor of one dimension, as [Tensor#setFloat(long,float)].
    ///
    /// @param i its index
    /// @param value the value
    public void setFloat(long i, float value) {
        setFloatAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [Tensor#setFloat(long,long,float)].
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    /// @param value the value
    public void setFloat(long i, long j, float value) {
        setFloatAt(position(i, j), value);
    }

    /// Writes one element of a tensor of one dimension, as [Tensor#setDouble(long,double)].
    ///
    /// @param i its index
    /// @param value the value
    public void setDouble(long i, double value) {
        setDoubleAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [Tensor#setDouble(long,long,double)].
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    /// @param value the value
    public void setDouble(long i, long j, double value) {
        setDoubleAt(position(i, j), value);
    }

    /// Writes one element of a tensor of one dimension, as [Tensor#setLong(long,long)].
    ///
    /// @param i its index
    /// @param value the value
    public void setLong(long i, long value) {
        setLongAt(position(i), value);
    }

    /// Writes one element of a tensor of two dimensions, as [Tensor#setLong(long,long,long)].
    ///
    /// @param i its index in the first dimension
    /// @param j its index in the second
    /// @param value the value
    public void setLong(long i, long j, long value) {
        setLongAt(position(i, j), value);
    }

    private long position(long i) {
        checkDim(1);
        return offset + column(i);
    }

    private long position(long i, long j) {
        checkDim(2);
        return offset + Objects.checkIndex(i, rows) * rowStride + column(j);
    }

    /// The compiler vectorizes loops over adjacent elements only if there is no multiplication by a stride.
    private long column(long i) {
        long index = Objects.checkIndex(i, columns);
        return columnStride == 1 ? index : index * columnStride;
    }

    private void checkDim(int count) {
        if (dim != count) {
            throw Tensor.indexCount(count, dim);
        }
    }

    // Conditions, not switches: the compiler decides these once before a loop, and reads the table of a switch each
    // time.

    private float floatAt(long position) {
        return access == Access.FLOAT
                ? bytes.get(FLOAT, position * Float.BYTES)
                : (float) elements.getDouble(bytes, position);
    }

    private double doubleAt(long position) {
        if (access == Access.FLOAT) {
            return bytes.get(FLOAT, position * Float.BYTES);
        }
        return access == Access.DOUBLE
                ? bytes.get(DOUBLE, position * Double.BYTES)
                : elements.getDouble(bytes, position);
    }

    private long longAt(long position) {
        if (access == Access.LONG) {
            return bytes.get(LONG, position * Long.BYTES);
        }
        return access == Access.INT
                ? bytes.get(INT, position * Integer.BYTES)
                : elements.getLong(bytes, position);
    }

    private void setFloatAt(long position, float value) {
        checkWritable();
        if (access == Access.FLOAT) {
            bytes.set(FLOAT, position * Float.BYTES, value);
        } else {
            elements.setDouble(bytes, position, value);
        }
    }

    private void setDoubleAt(long position, double value) {
        checkWritable();
        if (access == Access.FLOAT) {
            bytes.set(FLOAT, position * Float.BYTES, (float) value);
        } else if (access == Access.DOUBLE) {
            bytes.set(DOUBLE, position * Double.BYTES, value);
        } else {
            elements.setDouble(bytes, position, value);
        }
    }

    private void setLongAt(long position, long value) {
        checkWritable();
        if (access == Access.LONG) {
            bytes.set(LONG, position * Long.BYTES, value);
        } else if (access == Access.INT) {
            bytes.set(INT, position * Integer.BYTES, (int) value);
        } else {
            elements.setLong(bytes, position, value);
        }
    }

    private void checkWritable() {
        if (isReadOnly) {
            // Throws with the name of the storage.
            tensor.writable();
        }
    }
}
