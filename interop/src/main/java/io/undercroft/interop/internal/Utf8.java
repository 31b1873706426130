package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.Optional;

/// Text in UTF-8, of which Java would replace what is malformed by question marks.
public final class Utf8 {
    private Utf8() {}

    /// {@return a text in UTF-8}
    ///
    /// @param path the path of the text in the state, for messages
    /// @param text any text
    /// @throws IllegalArgumentException if it has half a surrogate pair
    public static byte[] bytes(String path, String text) {
        return encode(text).orElseThrow(() -> new IllegalArgumentException(
                path + ": half a surrogate pair is no text that a file can hold"));
    }

    /// {@return the bytes of a text, unless it has half a surrogate pair, which has none}
    ///
    /// @param text any text
    public static Optional<byte[]> encode(String text) {
        byte[] bytes = text.getBytes(UTF_8);
        return new String(bytes, UTF_8).equals(text) ? Optional.of(bytes) : Optional.empty();
    }

    /// {@return the text if the bytes are UTF-8, else the bytes}
    ///
    /// @param bytes any bytes
    public static Object textOrBytes(byte[] bytes) {
        Optional<String> text = decode(bytes);
        return text.isPresent() ? text.get() : bytes;
    }

    /// {@return the text if the bytes are UTF-8}
    ///
    /// @param bytes any bytes
    public static Optional<String> decode(byte[] bytes) {
        String text = new String(bytes, UTF_8);
        boolean isWhole = text.indexOf('\uFFFD') < 0 || Arrays.equals(text.getBytes(UTF_8), bytes);
        return isWhole ? Optional.of(text) : Optional.empty();
    }
}
