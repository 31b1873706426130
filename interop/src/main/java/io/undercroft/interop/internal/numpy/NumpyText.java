package io.undercroft.interop.internal.numpy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import java.util.Arrays;
import java.util.Optional;

/// The texts of arrays: characters or bytes, with zeros behind them.
public final class NumpyText {
    private NumpyText() {}

    /// {@return the text of some characters or bytes, unless they are none}
    ///
    /// @param kind which of both
    /// @param codes the characters or bytes, with zeros behind them
    public static Optional<String> decode(Kind kind, int[] codes) {
        int[] used = Arrays.copyOf(codes, length(codes));
        if (kind == Kind.BYTES) {
            return Utf8.decode(bytes(used));
        }
        return Arrays.stream(used).allMatch(NumpyText::isCharacter)
                ? Optional.of(new String(used, 0, used.length))
                : Optional.empty();
    }

    /// {@return the text of some characters or bytes, with the replacement character for what is none}
    ///
    /// @param kind which of both
    /// @param codes the characters or bytes, with zeros behind them
    public static String decodeReplacing(Kind kind, int[] codes) {
        return decode(kind, codes).orElseGet(
                () -> kind == Kind.TEXT
                        ? replaced(codes)
                        : new String(bytes(Arrays.copyOf(codes, length(codes))),
                                UTF_8));
    }

    /// {@return the characters or bytes of a text, unless it has half a surrogate pair, or zeros at its end, which
    /// would be lost}
    ///
    /// @param kind which of both
    /// @param text the text
    public static Optional<int[]> encode(Kind kind, String text) {
        int[] codes = kind == Kind.TEXT
                ? text.codePoints().toArray()
                : codes(text.getBytes(UTF_8));
        return decode(kind, codes).filter(text::equals).map(_ -> codes);
    }

    private static int length(int[] codes) {
        int length = codes.length;
        while (length > 0 && codes[length - 1] == 0) {
            length--;
        }
        return length;
    }

    private static boolean isCharacter(int code) {
        return Character.isValidCodePoint(code) && (code < Character.MIN_SURROGATE || code > Character.MAX_SURROGATE);
    }

    private static String replaced(int[] codes) {
        int[] known = Arrays.stream(codes).limit(length(codes)).map(code -> isCharacter(code) ? code : '\uFFFD')
                .toArray();
        return new String(known, 0, known.length);
    }

    private static byte[] bytes(int[] codes) {
        byte[] bytes = new byte[codes.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) codes[i];
        }
        return bytes;
    }

    private static int[] codes(byte[] bytes) {
        int[] codes = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            codes[i] = Byte.toUnsignedInt(bytes[i]);
        }
        return codes;
    }
}
