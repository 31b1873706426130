package io.undercroft.format.internal;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Puts the bytes of elements into planes, the first bytes of all elements first (section 11.5 of the format), or those
/// of their differences from a reference, and elements together again.
///
/// Elements are divided into their lower and their higher halves, and these again, until they are bytes. The loops are
/// over heap arrays of a block that fits in the first-level cache, and have the simplest forms, which C2 vectorises:
/// one that accesses memory segments takes 1.7 times as long, and until C2 has compiled it ten times. For use by one
/// thread.
final class Planes {
    private static final int BLOCK = 8192;
    private static final int WORDS = BLOCK / Long.BYTES;
    /// The highest bit of each element in eight bytes, by the logarithm of its width.
    private static final long[] SIGNS = {0x8080_8080_8080_8080L, 0x8000_8000_8000_8000L, 0x8000_0000_8000_0000L,
            Long.MIN_VALUE};
    private static final long EVEN_INTS = 0x0000_0000_FFFF_FFFFL;
    private static final long EVEN_SHORTS = 0x0000_FFFF_0000_FFFFL;
    private static final long EVEN_BYTES = 0x00FF_00FF_00FF_00FFL;

    /// The elements of a block, or their differences, and the elements of the reference. An array has one segment, as
    /// one for each use would be garbage of a tenth of the bytes.
    private final long[] block = new long[WORDS];
    private final long[] references = new long[WORDS];
    private final MemorySegment blockBytes = MemorySegment.ofArray(block);
    private final MemorySegment referenceBytes = MemorySegment.ofArray(references);
    private final Halves[] halves = {new Halves(WORDS), new Halves(WORDS / 2), new Halves(WORDS / 4)};

    /// Elements, and the lower and the higher half of each. The next ones divide such halves.
    private static final class Halves {
        private final long[] elements;
        private final int[] low;
        private final int[] high;
        private final MemorySegment elementBytes;
        private final MemorySegment lowBytes;
        private final MemorySegment highBytes;

        Halves(int words) {
            elements = new long[words];
            low = new int[words];
            high = new int[words];
            elementBytes = MemorySegment.ofArray(elements);
            lowBytes = MemorySegment.ofArray(low);
            highBytes = MemorySegment.ofArray(high);
        }
    }

    /// Puts the bytes of elements into planes.
    ///
    /// @param bytes the bytes of the elements
    /// @param width the size of an element in bytes, a power of two up to 8
    /// @param reference as many bytes, from whose elements the differences are taken, or null
    /// @param planes the destination, of the same size
    void split(MemorySegment bytes, int width, @Nullable MemorySegment reference, MemorySegment planes) {
        long plane = planes.byteSize() / width;
        for (long at = 0; at < bytes.byteSize(); at += BLOCK) {
            int length = (int) Math.min(BLOCK, bytes.byteSize() - at);
            if (reference == null) {
                divide(0, bytes, at, length, width, planes, at / width, plane);
            } else {
                MemorySegment.copy(bytes, at, blockBytes, 0, length);
                MemorySegment.copy(reference, at, referenceBytes, 0, length);
                subtract(block, references, width);
                divide(0, blockBytes, 0, length, width, planes, at / width, plane);
            }
        }
    }

    /// Puts elements together from planes.
    ///
    /// @param planes the planes
    /// @param width the size of an element in bytes, a power of two up to 8
    /// @param areDifferences whether they are those of the differences from the elements in the destination
    /// @param into the destination, of the same size
    void join(MemorySegment planes, int width, boolean areDifferences, MemorySegment into) {
        long plane = planes.byteSize() / width;
        for (long at = 0; at < into.byteSize(); at += BLOCK) {
            int length = (int) Math.min(BLOCK, into.byteSize() - at);
            if (!areDifferences) {
                unite(0, planes, at / width, plane, width, into, at, length);
            } else {
                unite(0, planes, at / width, plane, width, blockBytes, 0, length);
                MemorySegment.copy(into, at, referenceBytes, 0, length);
                add(block, references, width);
                MemorySegment.copy(blockBytes, 0, into, at, length);
            }
        }
    }

    /// Divides elements until they are bytes.
    ///
    /// @param depth how often the elements of the block were divided before
    /// @param from the elements
    /// @param start the place of the first of their bytes
    /// @param length the number of their bytes
    /// @param width the size of an element in bytes
    /// @param planes the planes
    /// @param at the place of the lowest byte of the first element
    /// @param plane the distance to its next byte
    private void divide(int depth, MemorySegment from, long start, int length, int width, MemorySegment planes,
            long at, long plane) {
        if (width == 1) {
            MemorySegment.copy(from, start, planes, at, length);
            return;
        }
        Halves half = halves[depth];
        MemorySegment.copy(from, start, half.elementBytes, 0, length);
        divide(half.elements, words(length), width * Byte.SIZE / 2, half.low, half.high);
        divide(depth + 1, half.lowBytes, 0, length / 2, width / 2, planes, at, plane);
        divide(depth + 1, half.highBytes, 0, length / 2, width / 2, planes, at + width / 2 * plane, plane);
    }

    /// Unites bytes to elements, with parameters as those of [#divide].
    private void unite(int depth, MemorySegment planes, long at, long plane, int width, MemorySegment into, long start,
            int length) {
        if (width == 1) {
            MemorySegment.copy(planes, at, into, start, length);
            return;
        }
        Halves half = halves[depth];
        unite(depth + 1, planes, at, plane, width / 2, half.lowBytes, 0, length / 2);
        unite(depth + 1, planes, at + width / 2 * plane, plane, width / 2, half.highBytes, 0, length / 2);
        unite(half.low, half.high, words(length), width * Byte.SIZE / 2, half.elements);
        MemorySegment.copy(half.elementBytes, 0, into, start, length);
    }

    private static int words(int length) {
        return (length + Long.BYTES - 1) / Long.BYTES;
    }

    /// @param bits the number of bits in half an element
    private static void divide(long[] elements, int words, int bits, int[] low, int[] high) {
        // Without branches, as the loop would not be vectorised: a step that is not needed changes nothing.
        int first = bits <= Byte.SIZE ? Byte.SIZE : 0;
        int second = bits <= Short.SIZE ? Short.SIZE : 0;
        long bytes = bits <= Byte.SIZE ? EVEN_BYTES : -1;
        long shorts = bits <= Short.SIZE ? EVEN_SHORTS : -1;
        for (int i = 0; i < words; i++) {
            long lower = elements[i] & bytes;
            long higher = (elements[i] >>> bits) & bytes;
            lower = (lower | lower >>> first) & shorts;
            higher = (higher | higher >>> first) & shorts;
            low[i] = (int) (lower | lower >>> second);
            high[i] = (int) (higher | higher >>> second);
        }
    }

    private static void unite(int[] low, int[] high, int words, int bits, long[] elements) {
        int first = bits <= Short.SIZE ? Short.SIZE : 0;
        int second = bits <= Byte.SIZE ? Byte.SIZE : 0;
        long shorts = bits <= Short.SIZE ? EVEN_SHORTS : -1;
        long bytes = bits <= Byte.SIZE ? EVEN_BYTES : -1;
        for (int i = 0; i < words; i++) {
            long lower = low[i] & EVEN_INTS;
            long higher = high[i] & EVEN_INTS;
            lower = (lower | lower << first) & shorts;
            higher = (higher | higher << first) & shorts;
            lower = (lower | lower << second) & bytes;
            higher = (higher | higher << second) & bytes;
            elements[i] = lower | higher << bits;
        }
    }

    /// Subtracts references from elements, and puts the sign of each difference into its lowest bit: of -1 and 1 come 1
    /// and 2, and the higher bytes of small differences are zero, whatever their sign.
    private static void subtract(long[] elements, long[] references, int width) {
        long signs = SIGNS[Integer.numberOfTrailingZeros(width)];
        int sign = width * Byte.SIZE - 1;
        for (int i = 0; i < elements.length; i++) {
            long element = elements[i];
            long reference = references[i];
            long difference = ((element | signs) - (reference & ~signs)) ^ ((element ^ ~reference) & signs);
            long negative = difference & signs;
            long ones = (negative - (negative >>> sign)) | negative;
            elements[i] = ((difference & ~signs) << 1) ^ ones;
        }
    }

    /// Replaces differences, as [#subtract] makes them, by the elements.
    private static void add(long[] differences, long[] references, int width) {
        long signs = SIGNS[Integer.numberOfTrailingZeros(width)];
        int sign = width * Byte.SIZE - 1;
        for (int i = 0; i < differences.length; i++) {
            long folded = differences[i];
            long reference = references[i];
            long negative = folded & (signs >>> sign);
            long ones = ((negative << sign) - negative) | (negative << sign);
            long difference = ((folded >>> 1) & ~signs) ^ ones;
            differences[i] = ((difference & ~signs) + (reference & ~signs)) ^ ((difference ^ reference) & signs);
        }
    }
}
