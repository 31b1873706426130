package io.undercroft.format.internal.index;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/// Strict UTF-8, as in RFC 3629: shortest forms only, no surrogates, nothing past U+10FFFF.
public final class StrictUtf8 {
    private static final long HIGH_BITS = 0x8080_8080_8080_8080L;

    private StrictUtf8() {}

    /// {@return whether a range is valid UTF-8} Nothing is decoded or allocated.
    public static boolean isValid(MemorySegment bytes, long from, long length) {
        long end = from + length;
        long at = from;
        while (at < end) {
            if (end - at >= Long.BYTES && (bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at) & HIGH_BITS) == 0) {
                at += Long.BYTES;
                continue;
            }
            int size = sequenceLength(bytes, at, end);
            if (size == 0) {
                return false;
            }
            at += size;
        }
        return true;
    }

    /// {@return the text of a range that is valid UTF-8}
    public static String decode(MemorySegment bytes, long from, long length) {
        // Not by toArray, which makes five objects: a tree may have half a million short texts. And not by the copy to
        // arrays of any type, whose first call takes milliseconds.
        byte[] text = new byte[Math.toIntExact(length)];
        MemorySegment.copy(bytes, from, MemorySegment.ofArray(text), 0, text.length);
        return new String(text, StandardCharsets.UTF_8);
    }

    /// {@return the bytes of a text}
    ///
    /// @throws IllegalArgumentException if it has unpaired surrogates, which UTF-8 cannot express
    public static byte[] encode(String text) {
        // Without the objects of an encoder: there may be a million names.
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        if (hasSurrogate(text) && !new String(utf8, StandardCharsets.UTF_8).equals(text)) {
            throw new IllegalArgumentException("a text has an unpaired surrogate, which UTF-8 cannot express");
        }
        return utf8;
    }

    private static boolean hasSurrogate(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                return true;
            }
        }
        return false;
    }

    /// Compares as names are sorted: byte by byte, unsigned, the shorter first.
    public static int compare(MemorySegment left, MemorySegment right) {
        return compare(left, 0, left.byteSize(), right, 0, right.byteSize());
    }

    /// Compares two ranges as names are sorted, without a slice for each.
    static int compare(MemorySegment left, long leftFrom, long leftTo, MemorySegment right, long rightFrom,
            long rightTo) {
        long at = MemorySegment.mismatch(left, leftFrom, leftTo, right, rightFrom, rightTo);
        if (at < 0) {
            return 0;
        }
        if (at == leftTo - leftFrom || at == rightTo - rightFrom) {
            return Long.compare(leftTo - leftFrom, rightTo - rightFrom);
        }
        return LittleEndian.u8(left, leftFrom + at) - LittleEndian.u8(right, rightFrom + at);
    }

    /// Returns the table of RFC 3629, section 4: how many bytes the sequence at `at` has, or 0 if it is not one.
    private static int sequenceLength(MemorySegment bytes, long at, long end) {
        int lead = LittleEndian.u8(bytes, at);
        if (lead < 0x80) {
            return 1;
        }
        int size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
        if (size == 0 || end - at < size) {
            return 0;
        }
        int second = LittleEndian.u8(bytes, at + 1);
        int lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        int highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (second < lowest || second > highest) {
            return 0;
        }
        for (int i = 2; i < size; i++) {
            if ((LittleEndian.u8(bytes, at + i) & 0xC0) != 0x80) {
                return 0;
            }
        }
        return size;
    }
}
