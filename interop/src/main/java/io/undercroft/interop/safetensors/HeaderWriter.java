package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharsetEncoder;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/// A header that is being written, byte by byte as the reference implementation writes it.
final class HeaderWriter {
    private final StringBuilder text = new StringBuilder("{");
    private final CharsetEncoder encoder = UTF_8.newEncoder();

    /// Adds the metadata, which comes first.
    void metadata(Map<String, String> metadata) {
        member(SafetensorsHeader.METADATA);
        text.append('{');
        metadata.forEach((key, value) -> {
            member(key);
            quote(value);
        });
        text.append('}');
    }

    /// Adds a tensor.
    void tensor(String name, SafetensorsType type, long[] shape, long start, long end) {
        member(name);
        text.append("{\"dtype\":\"").append(type.name()).append("\",\"shape\":").append(array(shape))
                .append(",\"data_offsets\":").append(array(start, end)).append('}');
    }

    /// {@return the text with its length before it, and spaces behind it up to a multiple of 8 bytes}
    byte[] bytes() {
        byte[] header = text.append('}').toString().getBytes(UTF_8);
        int length = Math.ceilDiv(header.length, Long.BYTES) * Long.BYTES;
        byte[] padded = Arrays.copyOf(header, length);
        Arrays.fill(padded, header.length, length, (byte) ' ');
        return ByteBuffer.allocate(SafetensorsHeader.PREFIX + length).order(ByteOrder.LITTLE_ENDIAN).putLong(length)
                .put(padded)
                .array();
    }

    /// {@return views as JSON}
    static String views(Map<String, View> views) {
        HeaderWriter json = new HeaderWriter();
        views.forEach((name, view) -> {
            json.member(name);
            json.text.append("{\"base\":");
            json.quote(view.base());
            json.text.append(",\"offset\":").append(view.offset()).append(",\"stride\":").append(array(view.strides()))
                    .append('}');
        });
        return json.text.append('}').toString();
    }

    private static String array(long... numbers) {
        return Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(",", "[", "]"));
    }

    private void member(String name) {
        if (text.charAt(text.length() - 1) != '{') {
            text.append(',');
        }
        quote(name);
        text.append(':');
    }

    private void quote(String string) {
        if (!encoder.canEncode(string)) {
            throw new IllegalArgumentException("half a surrogate pair in a name or in the metadata is no text");
        }
        text.append('"');
        string.chars().forEach(unit -> {
            switch (unit) {
                case '"', '\\' -> text.append('\\').append((char) unit);
                case '\b' -> text.append("\\b");
                case '\f' -> text.append("\\f");
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                case '\t' -> text.append("\\t");
                default -> text.append(unit < ' ' ? String.format("\\u%04x", unit) : String.valueOf((char) unit));
            }
        });
        text.append('"');
    }
}
