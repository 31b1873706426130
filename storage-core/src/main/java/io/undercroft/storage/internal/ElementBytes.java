package io.undercroft.storage.internal;

import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import java.lang.foreign.MemorySegment;

/// The bytes of one element, converted from a number as Torch7 converts, and runs of equal elements.
public final class ElementBytes {
    private static final long BLOCK = 64 * 1024;

    private ElementBytes() {}

    /// {@return the bytes of an element}
    ///
    /// @param dtype its type
    /// @param value its value
    /// @throws UnsupportedOperationException if the type has no numbers
    public static MemorySegment of(DType dtype, double value) {
        MemorySegment bytes = scratch(DType.FLOAT64);
        Elements.of(DType.FLOAT64).setDouble(bytes, 0, value);
        return convert(DType.FLOAT64, bytes, dtype);
    }

    /// {@return the bytes of an element}
    ///
    /// @param dtype its type
    /// @param value its value
    /// @throws UnsupportedOperationException if the type has no numbers
    public static MemorySegment of(DType dtype, long value) {
        MemorySegment bytes = scratch(DType.INT64);
        Elements.of(DType.INT64).setLong(bytes, 0, value);
        return convert(DType.INT64, bytes, dtype);
    }

    /// {@return the bytes of an element}
    ///
    /// @param dtype its type
    /// @param value its value; of a type that is not complex, the real part
    /// @throws UnsupportedOperationException if the type has no numbers
    public static MemorySegment of(DType dtype, Complex value) {
        MemorySegment bytes = scratch(DType.COMPLEX128);
        Elements.of(DType.COMPLEX128).setComplex(bytes, 0, value.real(), value.imaginary());
        return convert(DType.COMPLEX128, bytes, dtype);
    }

    /// Writes one element.
    ///
    /// @param dtype its type
    /// @param bytes the destination
    /// @param position its index
    /// @param value its value
    /// @throws UnsupportedOperationException if the type has no numbers
    public static void write(DType dtype, MemorySegment bytes, long position, double value) {
        if (dtype.kind().isInteger()) {
            Elements.of(dtype).setLong(bytes, position, Truncation.of(dtype, Convention.TORCH7).of(value));
        } else {
            write(of(dtype, value), bytes, position);
        }
    }

    /// Writes one element.
    ///
    /// @param dtype its type
    /// @param bytes the destination
    /// @param position its index
    /// @param value its value
    /// @throws UnsupportedOperationException if the type has no numbers
    public static void write(DType dtype, MemorySegment bytes, long position, long value) {
        if (dtype.kind().isInteger()) {
            Elements.of(dtype).setLong(bytes, position, value);
        } else {
            write(of(dtype, value), bytes, position);
        }
    }

    /// Writes an element over and over.
    ///
    /// @param element its bytes, at least one
    /// @param target the destination; a whole number of elements
    public static void repeat(MemorySegment element, MemorySegment target) {
        long itemsize = element.byteSize();
        long size = target.byteSize();
        if (itemsize == 1) {
            target.fill(element.get(Layouts.BYTE, 0));
            return;
        }
        long block = Math.max(BLOCK / itemsize, 1) * itemsize;
        MemorySegment.copy(element, 0, target, 0, Math.min(itemsize, size));
        // What is copied doubles, but stays small enough for the processor's cache.
        for (long filled = itemsize; filled < size;) {
            long more = Math.min(Math.min(filled, block), size - filled);
            MemorySegment.copy(target, 0, target, filled, more);
            filled += more;
        }
    }

    private static void write(MemorySegment element, MemorySegment bytes, long position) {
        MemorySegment.copy(element, 0, bytes, position * element.byteSize(), element.byteSize());
    }

    private static MemorySegment convert(DType from, MemorySegment value, DType dtype) {
        MemorySegment bytes = scratch(dtype);
        Conversion.convert(from, value, dtype, bytes, 1, Convention.TORCH7);
        return bytes;
    }

    private static MemorySegment scratch(DType dtype) {
        return MemorySegment.ofArray(new byte[dtype.itemsize()]);
    }
}
