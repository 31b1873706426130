package io.undercroft.interop.gguf;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;

/// The header of a file, read through a small buffer, since nothing says how long it is. Belongs to one thread.
final class Input {
    private static final int BUFFER = 1 << 16;
    /// A megabyte is more than any text in a header has, but for templates of chats.
    private static final long LONGEST_STRING = 1L << 28;

    private final MappedFile file;
    private final byte[] bytes = new byte[BUFFER];
    private final ByteBuffer buffer = ByteBuffer.wrap(bytes).limit(0);
    /// Where the buffer starts in the file.
    private long base;

    /// @param file the file
    /// @param start from which byte on it is read
    Input(MappedFile file, long start) {
        this.file = file;
        this.base = start;
    }

    void order(ByteOrder order) {
        buffer.order(order);
    }

    long position() {
        return base + buffer.position();
    }

    long remaining() {
        return file.size() - position();
    }

    int i32() throws IOException {
        return need(Integer.BYTES).getInt();
    }

    long i64() throws IOException {
        return need(Long.BYTES).getLong();
    }

    short i16() throws IOException {
        return need(Short.BYTES).getShort();
    }

    byte i8() throws IOException {
        return need(1).get();
    }

    /// Reads how many of something there are.
    ///
    /// @param least the least bytes that each takes
    /// @param what what they are, for messages
    long count(int least, String what) throws IOException {
        long position = position();
        long count = i64();
        if (count < 0 || count > remaining() / least) {
            throw damaged("GGUF-HEADER", "there are " + Long.toUnsignedString(count) + " " + what + " in the "
                    + remaining() + " bytes that are left", position);
        }
        return count;
    }

    /// Reads a string as it is.
    byte[] string(long longest) throws IOException {
        long position = position();
        long length = count(1, "bytes of a string");
        if (length > Math.min(longest, LONGEST_STRING)) {
            throw damaged("GGUF-HEADER", "a string of " + length + " bytes is longer than "
                    + Math.min(longest, LONGEST_STRING), position);
        }
        byte[] string = new byte[(int) length];
        if (length <= BUFFER) {
            need(string.length).get(string);
        } else {
            file.read(position(), MemorySegment.ofArray(string));
            base = position() + length;
            buffer.position(0).limit(0);
        }
        return string;
    }

    /// Reads a string that is a name.
    String name(long longest) throws IOException {
        long position = position();
        byte[] string = string(longest);
        try {
            return text(string);
        } catch (CharacterCodingException _) {
            throw damaged("GGUF-HEADER", "a name is not UTF-8", position);
        }
    }

    static String text(byte[] string) throws CharacterCodingException {
        return UTF_8.newDecoder().decode(ByteBuffer.wrap(string)).toString();
    }

    private ByteBuffer need(int count) throws IOException {
        if (buffer.remaining() < count) {
            if (remaining() < count) {
                throw damaged("GGUF-HEADER", "the file ends within its header", file.size());
            }
            base += buffer.position();
            int length = (int) Math.min(BUFFER, file.size() - base);
            file.read(base, MemorySegment.ofArray(bytes).asSlice(0, length));
            buffer.position(0).limit(length);
        }
        return buffer;
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }
}
