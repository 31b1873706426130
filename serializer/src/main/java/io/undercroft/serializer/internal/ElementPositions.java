package io.undercroft.serializer.internal;

import io.undercroft.format.internal.Span;
import io.undercroft.storage.Tensor;

/// The range of bytes of a tensor in its storage.
public final class ElementPositions {
    private ElementPositions() {}

    /// {@return the bytes from the first element of a tensor to its last one} Elements may be smaller than a
    /// byte; then the first and the last byte may belong to others too.
    ///
    /// @param tensor the tensor, which has elements
    public static Span of(Tensor tensor) {
        long last = tensor.storageOffset();
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        int bits = tensor.dtype().bits();
        return new Span(bytes(tensor.storageOffset(), bits, 0), bytes(last + 1, bits, Byte.SIZE - 1));
    }

    /// {@return the byte in which an element starts, counted from the start of the storage}
    ///
    /// @param element the index of the element in the storage, from 0
    /// @param bits the size of an element in bits
    /// @throws ArithmeticException if that is byte 2^63 or a later one, which an empty tensor may have
    public static long byteOf(long element, int bits) {
        return Math.addExact(Math.multiplyExact(element / Byte.SIZE, bits), element % Byte.SIZE * bits / Byte.SIZE);
    }

    /// {@return the bit of [that byte][#byteOf] at which an element starts, from 0 to 7}
    ///
    /// @param element the index of the element in the storage, from 0
    /// @param bits the size of an element in bits
    public static int bitOf(long element, int bits) {
        return (int) (element % Byte.SIZE * bits % Byte.SIZE);
    }

    /// {@return the index of the element of a storage that starts at an offset}
    ///
    /// @param byteOffset the byte in which it starts
    /// @param bitOffset the bit of that byte, from 0 to 7
    /// @param bits the size of an element in bits
    /// @throws ArithmeticException if no element starts there, or one with a number of 2^63 or more
    public static long elementAt(long byteOffset, int bitOffset, int bits) {
        // Not 8 times the bytes, which may exceed the range of `long`.
        long rest = byteOffset % bits * Byte.SIZE + bitOffset;
        if (rest % bits != 0) {
            throw new ArithmeticException("no element of " + bits + " bits starts at byte " + byteOffset
                    + (bitOffset == 0 ? "" : " and bit " + bitOffset));
        }
        return Math.addExact(Math.multiplyExact(byteOffset / bits, Byte.SIZE), rest / bits);
    }

    /// Eight elements are a whole number of bytes. So nothing overflows, though the number of bits may
    /// exceed the range of `long`.
    private static long bytes(long elements, int bits, int rounding) {
        return elements / Byte.SIZE * bits + (elements % Byte.SIZE * bits + rounding) / Byte.SIZE;
    }
}
