package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor.Flag;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Reads and writes the elements of one dtype. A position counts elements from the start of the segment.
///
/// Bytes are little-endian and need no alignment. Values are converted as PyTorch's `to(dtype)` converts them.
/// Instances have no state; a position outside the segment throws [IndexOutOfBoundsException].
public interface Elements {
    /// {@return the encoding of elements of a dtype; for dtypes without numbers, one that always throws
    /// [UnsupportedOperationException]}
    ///
    /// @param dtype the type of the elements
    static Elements of(DType dtype) {
        Elements known = Codecs.BY_DTYPE.get(dtype);
        return known != null ? known : new OpaqueElements(dtype);
    }

    /// {@return the encoding of elements of a tensor, its lazy negation and conjugation included}
    ///
    /// @param dtype the type of the elements
    /// @param flags the flags of the tensor
    static Elements of(DType dtype, Set<Flag> flags) {
        Elements stored = of(dtype);
        Elements conjugated = flags.contains(Flag.CONJ) ? stored.conjugated() : stored;
        return flags.contains(Flag.NEG) ? conjugated.negated() : conjugated;
    }

    /// {@return an element as a double; the real part of a complex one}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    double getDouble(MemorySegment bytes, long position);

    /// {@return the imaginary part of an element; 0 unless it is complex}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    default double getImaginary(MemorySegment bytes, long position) {
        return 0;
    }

    /// {@return an element as a long; floating-point ones as a Java cast makes them, uint64 ones from 2^63 on negative}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    long getLong(MemorySegment bytes, long position);

    /// Writes an element, rounded to the nearest value of the dtype; integer dtypes take the lower bits of the value
    /// without its fraction.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param value the value to write
    void setDouble(MemorySegment bytes, long position, double value);

    /// Writes an element; integer dtypes take the lower bits of the value.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param value the value to write
    void setLong(MemorySegment bytes, long position, long value);

    /// Writes an element; dtypes that are not complex drop the imaginary part.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param real the real part
    /// @param imaginary the imaginary part
    default void setComplex(MemorySegment bytes, long position, double real, double imaginary) {
        setDouble(bytes, position, real);
    }

    /// {@return the encoding of the negatives of these elements; for truth values and opaque
    /// bits, unchanged}
    default Elements negated() {
        return new NegatedElements(this);
    }

    /// {@return the encoding of the complex conjugates of these elements; unchanged for
    /// elements that are not complex}
    default Elements conjugated() {
        return this;
    }

    /// Apart from the interface, so that it is made when first used and dtypes can be made first.
    final class Codecs {
        private static final Map<DType, Elements> BY_DTYPE = byDType();

        private Codecs() {}

        private static Map<DType, Elements> byDType() {
            Map<DType, Elements> codecs = new HashMap<>();
            codecs.put(DType.FLOAT64, new DoubleElements());
            codecs.put(DType.FLOAT32, new FloatElements.Float32());
            codecs.put(DType.FLOAT16, new FloatElements.Float16());
            codecs.put(DType.BFLOAT16, new FloatElements.BFloat16());
            codecs.put(DType.FLOAT8_E4M3FN, new FloatElements.Float8(Float8Format.E4M3FN));
            codecs.put(DType.FLOAT8_E5M2, new FloatElements.Float8(Float8Format.E5M2));
            codecs.put(DType.FLOAT8_E4M3FNUZ, new FloatElements.Float8(Float8Format.E4M3FNUZ));
            codecs.put(DType.FLOAT8_E5M2FNUZ, new FloatElements.Float8(Float8Format.E5M2FNUZ));
            codecs.put(DType.FLOAT8_E8M0FNU, new FloatElements.Float8(Float8Format.E8M0FNU));
            codecs.put(DType.COMPLEX128, ComplexElements.of(new DoubleElements()));
            codecs.put(DType.COMPLEX64, ComplexElements.of(new FloatElements.Float32()));
            codecs.put(DType.COMPLEX32, ComplexElements.of(new FloatElements.Float16()));
            codecs.put(DType.BOOL, new BooleanElements());
            List.of(DType.INT64, DType.INT32, DType.INT16, DType.INT8, DType.QINT32, DType.QINT8)
                    .forEach(dtype -> codecs.put(dtype, new IntegerElements(dtype.bits(), true, false)));
            List.of(DType.UINT64, DType.UINT32, DType.UINT16, DType.UINT8, DType.QUINT8)
                    .forEach(dtype -> codecs.put(dtype, new IntegerElements(dtype.bits(), false, false)));
            codecs.put(DType.QUINT4X2, new SubByteElements(4));
            codecs.put(DType.QUINT2X4, new SubByteElements(2));
            return codecs;
        }
    }
}
