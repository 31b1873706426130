package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.Utf8;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Optional;

/// Texts of Python with halves of surrogate pairs, as `os.fsdecode` makes them of paths that are no text. UTF-8, and so
/// every file but a pickle, has no such texts. In a state a half, U+D800 to U+DFFF, is the private character U+10D800
/// to U+10DFFF, which all files can hold, and a pickle is written with the half again. If a text has one of these
/// private characters itself, it has two in a state, for the halves of its own pair.
final class LoneSurrogates {
    private static final int SHIFT = 0x100000;
    private static final int FIRST = SHIFT + Character.MIN_SURROGATE;
    private static final int LAST = SHIFT + Character.MAX_SURROGATE;

    private LoneSurrogates() {}

    /// {@return a text of a pickle as it is in a state; nothing if the bytes are no such text}
    ///
    /// @param bytes UTF-8, with three bytes for each half
    static Optional<String> decode(byte[] bytes) {
        Optional<String> plain = Utf8.decode(bytes);
        if (plain.isPresent() && !hasReplaced(plain.get())) {
            return plain;
        }
        StringBuilder text = new StringBuilder(bytes.length);
        int start = 0;
        int last = 0;
        for (int i = 0; i + 2 < bytes.length; i++) {
            // Of valid UTF-8, no character has these two bytes.
            if (bytes[i] == (byte) 0xED && (bytes[i + 1] & 0xE0) == 0xA0) {
                int half = 0xD000 | (bytes[i + 1] & 0x3F) << 6 | (bytes[i + 2] & 0x3F);
                boolean isAmbiguous = i == start && isReplaced(last, half);
                if ((bytes[i + 2] & 0xC0) != 0x80 || isAmbiguous || !append(text, bytes, start, i)) {
                    return Optional.empty();
                }
                text.appendCodePoint(SHIFT + half);
                last = half;
                start = i + 3;
                i += 2;
            }
        }
        return append(text, bytes, start, bytes.length) ? Optional.of(text.toString()) : Optional.empty();
    }

    private static boolean append(StringBuilder text, byte[] bytes, int start, int end) {
        Optional<String> part = Utf8.decode(Arrays.copyOfRange(bytes, start, end));
        part.ifPresent(plain -> plain.codePoints().forEach(point -> {
            if (isHalf(point)) {
                text.appendCodePoint(SHIFT + Character.highSurrogate(point));
                text.appendCodePoint(SHIFT + Character.lowSurrogate(point));
            } else {
                text.appendCodePoint(point);
            }
        }));
        return part.isPresent();
    }

    private static boolean isHalf(int point) {
        return point >= FIRST && point <= LAST;
    }

    /// {@return whether two halves stand for one character}
    private static boolean isReplaced(int high, int low) {
        return Character.isSurrogatePair((char) high, (char) low)
                && isHalf(Character.toCodePoint((char) high, (char) low));
    }

    /// {@return whether a text of a state may have characters in place of halves}
    ///
    /// @param text any text
    static boolean hasReplaced(String text) {
        return text.indexOf(Character.highSurrogate(FIRST)) >= 0 || text.indexOf(Character.highSurrogate(LAST)) >= 0;
    }

    /// {@return the bytes in a pickle of a text of a state}
    ///
    /// @param text a text without halves of pairs
    static byte[] encode(String text) {
        int[] points = text.codePoints().toArray();
        int count = 0;
        for (int i = 0; i < points.length; i++) {
            int point = isHalf(points[i]) ? points[i] - SHIFT : points[i];
            if (i + 1 < points.length && isHalf(points[i + 1]) && isReplaced(point, points[i + 1] - SHIFT)) {
                i++;
                point = Character.toCodePoint((char) point, (char) (points[i] - SHIFT));
            }
            points[count++] = point;
        }
        return bytes(Arrays.copyOf(points, count));
    }

    /// {@return the bytes in a pickle of a text of Python}
    ///
    /// @param points its characters, of which some may be halves
    static byte[] bytes(int[] points) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(points.length);
        for (int point : points) {
            if (point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE) {
                bytes.write(0xE0 | point >> 12);
                bytes.write(0x80 | (point >> 6 & 0x3F));
                bytes.write(0x80 | (point & 0x3F));
            } else {
                bytes.writeBytes(Character.toString(point).getBytes(UTF_8));
            }
        }
        return bytes.toByteArray();
    }
}
