package io.undercroft.interop.torch7;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/// A little-endian file with longs of 8 bytes, put together by hand.
final class FileBuilder {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    FileBuilder ints(int... values) {
        ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (int value : values) {
            buffer.putInt(value);
        }
        return raw(buffer);
    }

    FileBuilder longs(long... values) {
        ByteBuffer buffer = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (long value : values) {
            buffer.putLong(value);
        }
        return raw(buffer);
    }

    FileBuilder number(double value) {
        return ints(ObjectTag.NUMBER).longs(Double.doubleToRawLongBits(value));
    }

    FileBuilder text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ints(bytes.length);
        out.writeBytes(bytes);
        return this;
    }

    FileBuilder string(String text) {
        return ints(ObjectTag.STRING).text(text);
    }

    FileBuilder table(int index, int count) {
        return ints(ObjectTag.TABLE, index, count);
    }

    FileBuilder torch(int index, String className) {
        return ints(ObjectTag.TORCH, index).text("V 1").text(className);
    }

    FileBuilder raw(byte... bytes) {
        out.writeBytes(bytes);
        return this;
    }

    private FileBuilder raw(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.capacity()];
        buffer.flip().get(bytes);
        return raw(bytes);
    }

    byte[] bytes() {
        return out.toByteArray();
    }

    Path in(Path folder) throws IOException {
        return Files.write(folder.resolve("made.t7"), bytes());
    }
}
