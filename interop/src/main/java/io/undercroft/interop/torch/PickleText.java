package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.util.regex.Pattern;

/// The values that protocol 0 writes as lines of text.
final class PickleText {
    /// The longest line with a number or a persistent id, in bytes.
    static final int LONGEST_NUMBER = 4096;

    private static final Pattern INTEGER = Pattern.compile("[+-]?\\d+");
    private static final Pattern REAL = Pattern.compile("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?");

    private PickleText() {}

    /// {@return an integer}
    ///
    /// @param digits decimal digits, with a sign or without
    static Number integer(String digits) {
        if (!INTEGER.matcher(digits).matches()) {
            throw PickleFault.malformed("a line of text is no integer");
        }
        BigInteger value = new BigInteger(digits);
        return value.bitLength() < Long.SIZE ? (Number) value.longValue() : value;
    }

    /// {@return a number with a fraction}
    static double real(String text) {
        return switch (text) {
            case "inf", "+inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            case "nan", "-nan" -> Double.NaN;
            default -> {
                if (!REAL.matcher(text).matches()) {
                    throw PickleFault.malformed("a line of text is no number");
                }
                yield Double.parseDouble(text);
            }
        };
    }

    /// {@return a text in which characters are written as a backslash, `u` and four hexadecimal digits, or `U` and
    /// eight}
    static String unicode(byte[] line) {
        StringBuilder text = new StringBuilder(line.length);
        for (int i = 0; i < line.length; i++) {
            char c = (char) Byte.toUnsignedInt(line[i]);
            int next = c == '\\' && i + 1 < line.length ? line[i + 1] : 0;
            if (next == 'u' || next == 'U') {
                int digits = next == 'u' ? 4 : 8;
                text.appendCodePoint(hexadecimal(line, i + 2, digits));
                i += 1 + digits;
            } else {
                text.append(c);
                if (next != 0) {
                    text.append((char) Byte.toUnsignedInt(line[i + 1]));
                    i++;
                }
            }
        }
        return decode(LoneSurrogates.bytes(text.codePoints().toArray()));
    }

    /// {@return a text that a pickle has in UTF-8, in which halves of surrogate pairs are characters}
    ///
    /// @param bytes UTF-8, in which halves of surrogate pairs may be encoded too
    static String decode(byte[] bytes) {
        return LoneSurrogates.decode(bytes).orElseThrow(() -> PickleFault.malformed("a string is not valid UTF-8"));
    }

    /// {@return the bytes that Python 2 wrote in quotes}
    static byte[] quoted(byte[] line) {
        int end = line.length - 1;
        if (end < 1 || line[0] != line[end] || (line[0] != '\'' && line[0] != '"')) {
            throw PickleFault.malformed("a string has no quotes");
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(line.length);
        for (int i = 1; i < end; i++) {
            i = line[i] == '\\' && i + 1 < end ? escape(line, i + 1, end, bytes) : plain(line, i, bytes);
        }
        return bytes.toByteArray();
    }

    private static int plain(byte[] line, int at, ByteArrayOutputStream bytes) {
        bytes.write(line[at]);
        return at;
    }

    /// {@return the last index of an escape sequence that starts behind its backslash}
    private static int escape(byte[] line, int at, int end, ByteArrayOutputStream bytes) {
        int single = "abfnrtv\\'\"".indexOf(line[at]);
        if (single >= 0) {
            bytes.write("\u0007\b\f\n\r\t\u000b\\'\"".charAt(single));
            return at;
        }
        if (line[at] == 'x' && at + 2 < end) {
            bytes.write(hexadecimal(line, at + 1, 2));
            return at + 2;
        }
        int last = at;
        int value = 0;
        while (last < end && last < at + 3 && line[last] >= '0' && line[last] <= '7') {
            value = 8 * value + line[last] - '0';
            last++;
        }
        if (last == at) {
            bytes.write('\\');
            return plain(line, at, bytes);
        }
        bytes.write(value);
        return last - 1;
    }

    private static int hexadecimal(byte[] line, int start, int digits) {
        String text = start + digits > line.length ? "" : new String(line, start, digits, ISO_8859_1);
        int value = -1;
        if (!text.isEmpty() && text.chars().allMatch(c -> c < 0x80 && Character.digit(c, 16) >= 0)) {
            value = Integer.parseUnsignedInt(text, 16);
        }
        if (!Character.isValidCodePoint(value)) {
            throw PickleFault.malformed("an escape sequence is no character");
        }
        return value;
    }

    /// {@return a line of ASCII as text}
    static String ascii(byte[] line) {
        return new String(line, US_ASCII);
    }
}
