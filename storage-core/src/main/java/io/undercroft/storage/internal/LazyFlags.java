package io.undercroft.storage.internal;

import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.DType;
import java.lang.foreign.MemorySegment;

/// The lazy operations on stored elements: negation and conjugation.
///
/// @param isNegated whether they are the negatives
/// @param isConjugated whether they are the complex conjugates
public record LazyFlags(boolean isNegated, boolean isConjugated) {
    /// Elements that mean what is stored.
    public static final LazyFlags NONE = new LazyFlags(false, false);

    /// {@return whether elements mean what is stored}
    public boolean areNone() {
        // Not by `equals`, whose code a record makes at its first call: that is milliseconds of the first open.
        return !isNegated && !isConjugated;
    }

    /// Applies the flags to stored elements, or reverts that, in place. For floating-point and complex elements that
    /// inverts sign bits, as in PyTorch.
    ///
    /// @param dtype the type of the elements
    /// @param bytes the elements, the first at byte 0
    /// @param numel the number of elements
    void resolve(DType dtype, MemorySegment bytes, long numel) {
        if (areNone()) {
            return;
        }
        if (hasSignBit(dtype)) {
            turnSigns(bytes.asSlice(0, dtype.nbytes(numel)), signs(dtype, 0), signs(dtype, 1));
        } else {
            negateEach(dtype, bytes, numel);
        }
    }

    /// Returns whether another highest bit makes the negative of every number.
    private static boolean hasSignBit(DType dtype) {
        return !dtype.kind().isInteger()
                && (dtype.bits() > 8 || dtype.equals(DType.FLOAT8_E4M3FN) || dtype.equals(DType.FLOAT8_E5M2));
    }

    /// Returns the sign bits to invert in one of two adjacent words of 8 bytes.
    private long signs(DType dtype, int word) {
        boolean complex = dtype.kind() == Kind.COMPLEX;
        int partBits = complex ? dtype.bits() / 2 : dtype.bits();
        long signs = 0;
        for (int bit = 0; bit < Long.SIZE; bit += partBits) {
            boolean imaginary = complex && (word * Long.SIZE + bit) / partBits % 2 == 1;
            if (isNegated != (imaginary && isConjugated)) {
                signs |= 1L << (bit + partBits - 1);
            }
        }
        return signs;
    }

    private static void turnSigns(MemorySegment bytes, long evenWords, long oddWords) {
        long pairs = bytes.byteSize() / 16;
        for (long i = 0; i < pairs; i++) {
            bytes.set(Layouts.LONG, 16 * i, bytes.get(Layouts.LONG, 16 * i) ^ evenWords);
            bytes.set(Layouts.LONG, 16 * i + 8, bytes.get(Layouts.LONG, 16 * i + 8) ^ oddWords);
        }
        for (long at = 16 * pairs; at < bytes.byteSize(); at++) {
            // Elements of 16 bytes leave no rest, and of smaller ones both words are alike.
            bytes.set(Layouts.BYTE, at, (byte) (bytes.get(Layouts.BYTE, at) ^ (evenWords >>> (at % 8 * Byte.SIZE))));
        }
    }

    private static void negateEach(DType dtype, MemorySegment bytes, long numel) {
        Elements stored = Elements.of(dtype);
        Elements negated = stored.negated();
        for (long position = 0; position < numel; position++) {
            if (dtype.kind().isInteger()) {
                stored.setLong(bytes, position, negated.getLong(bytes, position));
            } else {
                stored.setDouble(bytes, position, negated.getDouble(bytes, position));
            }
        }
    }
}
