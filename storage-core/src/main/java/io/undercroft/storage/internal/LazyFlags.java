package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/// Applies lazy negation and conjugation to adjacent elements.
final class LazyFlags {
    private LazyFlags() {}

    /// {@return whether elements mean something else than what is stored}
    ///
    /// @param flags the flags of their tensor
    static boolean areSet(Set<Flag> flags) {
        return flags.contains(Flag.NEG) || flags.contains(Flag.CONJ);
    }

    /// {@return whether stored elements mean the same under both}
    ///
    /// @param flags the flags of a tensor
    /// @param others the flags of another one
    static boolean agree(Set<Flag> flags, Set<Flag> others) {
        return flags.contains(Flag.NEG) == others.contains(Flag.NEG)
                && flags.contains(Flag.CONJ) == others.contains(Flag.CONJ);
    }

    /// Applies the flags to stored elements, or reverts that, in place. For floating-point and complex elements that
    /// inverts sign bits, as in PyTorch.
    ///
    /// @param dtype the type of the elements
    /// @param flags the flags of their tensor
    /// @param bytes the elements, the first at byte 0
    /// @param numel the number of elements
    static void resolve(DType dtype, Set<Flag> flags, MemorySegment bytes, long numel) {
        if (!areSet(flags)) {
            return;
        }
        if (dtype.kind().isInteger()) {
            negateIntegers(dtype, bytes, numel);
        } else if (hasSignBit(dtype)) {
            turnSigns(bytes.asSlice(0, dtype.nbytes(numel)), signs(dtype, flags, 0), signs(dtype, flags, 1));
        } else {
            negateSingly(dtype, bytes, numel);
        }
    }

    /// Returns whether another highest bit makes the negative of every number.
    private static boolean hasSignBit(DType dtype) {
        return dtype.bits() > 8 || dtype.equals(DType.FLOAT8_E4M3FN) || dtype.equals(DType.FLOAT8_E5M2);
    }

    /// Returns the sign bits to invert in one of two adjacent words of 8 bytes.
    private static long signs(DType dtype, Set<Flag> flags, int word) {
        boolean complex = dtype.kind() == Kind.COMPLEX;
        int partBits = complex ? dtype.bits() / 2 : dtype.bits();
        long signs = 0;
        for (int bit = 0; bit < Long.SIZE; bit += partBits) {
            boolean imaginary = complex && (word * Long.SIZE + bit) / partBits % 2 == 1;
            if (flags.contains(Flag.NEG) != (imaginary && flags.contains(Flag.CONJ))) {
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
            long word = at % 16 < 8 ? evenWords : oddWords;
            bytes.set(Layouts.BYTE, at, (byte) (bytes.get(Layouts.BYTE, at) ^ (word >>> (at % 8 * Byte.SIZE))));
        }
    }

    private static void negateIntegers(DType dtype, MemorySegment bytes, long numel) {
        BlockCodec codec = BlockCodec.of(dtype, Convention.PYTORCH);
        Block block = Block.take();
        for (long position = 0; position < numel; position += Block.VALUES) {
            int count = (int) Math.min(Block.VALUES, numel - position);
            codec.read(bytes, position, block, count);
            if (codec.values() == Values.INTS) {
                block.negateInts(count);
            } else {
                block.negateLongs(count);
            }
            codec.write(block, bytes, position, count);
        }
        block.release();
    }

    private static void negateSingly(DType dtype, MemorySegment bytes, long numel) {
        Elements stored = Elements.of(dtype);
        for (long position = 0; position < numel; position++) {
            stored.setDouble(bytes, position, -stored.getDouble(bytes, position));
        }
    }
}
