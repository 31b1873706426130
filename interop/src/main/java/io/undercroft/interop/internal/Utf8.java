package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

/// Text that goes into files.
public final class Utf8 {
    private Utf8() {}

    /// {@return a text in UTF-8} Java would write half a surrogate pair as a question mark, and so give two texts the
    /// same bytes.
    ///
    /// @param path where the text is in the state, for messages
    /// @param text any text
    /// @throws IllegalArgumentException if it has half a surrogate pair
    public static byte[] bytes(String path, String text) {
        if (!UTF_8.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException(path + ": half a surrogate pair is no text that a file can hold");
        }
        return text.getBytes(UTF_8);
    }
}
