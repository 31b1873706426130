package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

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
        return Codecs.of(dtype);
    }

    /// {@return the encoding of elements of a tensor, its lazy negation and conjugation included}
    ///
    /// @param dtype the type of the elements
    /// @param lazy the flags of the tensor
    static Elements of(DType dtype, LazyFlags lazy) {
        Elements stored = of(dtype);
        Elements conjugated = lazy.isConjugated() ? stored.conjugated() : stored;
        return lazy.isNegated() ? conjugated.negated() : conjugated;
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

    /// The encodings of known dtypes that were used.
    final class Codecs {
        private static final Map<DType, Elements> MADE = new ConcurrentHashMap<>();

        private Codecs() {}

        private static Elements of(DType dtype) {
            Elements made = MADE.get(dtype);
            if (made != null) {
                return made;
            }
            // Others may have any name, so they are not kept.
            if (!DType.find(dtype.name()).equals(Optional.of(dtype))) {
                return new OpaqueElements(dtype);
            }
            Elements known = make(dtype);
            MADE.put(dtype, known);
            return known;
        }

        private static Elements make(DType known) {
            return switch (known.name()) {
                case "float64" -> new DoubleElements();
                case "float32" -> new FloatElements.Float32();
                case "float16" -> new FloatElements.Float16();
                case "bfloat16" -> new FloatElements.BFloat16();
                case "float8_e4m3fn" -> new FloatElements.Float8(Float8Format.E4M3FN);
                case "float8_e5m2" -> new FloatElements.Float8(Float8Format.E5M2);
                case "float8_e4m3fnuz" -> new FloatElements.Float8(Float8Format.E4M3FNUZ);
                case "float8_e5m2fnuz" -> new FloatElements.Float8(Float8Format.E5M2FNUZ);
                case "float8_e8m0fnu" -> new FloatElements.Float8(Float8Format.E8M0FNU);
                case "complex128" -> ComplexElements.of(new DoubleElements());
                case "complex64" -> ComplexElements.of(new FloatElements.Float32());
                case "complex32" -> ComplexElements.of(new FloatElements.Float16());
                case "bool" -> new BooleanElements();
                case "int64", "int32", "int16", "int8", "qint32", "qint8" ->
                    new IntegerElements(known.bits(), true, false);
                case "uint64", "uint32", "uint16", "uint8", "quint8" ->
                    new IntegerElements(known.bits(), false, false);
                case "quint4x2" -> new SubByteElements(4);
                case "quint2x4" -> new SubByteElements(2);
                default -> new OpaqueElements(known);
            };
        }
    }
}
