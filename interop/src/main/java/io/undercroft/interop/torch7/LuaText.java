package io.undercroft.interop.torch7;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.Optional;

/// Strings of Lua, which are bytes.
final class LuaText {
    private LuaText() {}

    /// {@return the text if the bytes are UTF-8}
    static Optional<String> decode(byte[] bytes) {
        try {
            return Optional.of(UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException _) {
            return Optional.empty();
        }
    }

    /// {@return the bytes of a text, unless it has half a surrogate pair, which has none}
    static Optional<byte[]> encode(String text) {
        try {
            ByteBuffer buffer = UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return Optional.of(bytes);
        } catch (CharacterCodingException _) {
            return Optional.empty();
        }
    }
}
