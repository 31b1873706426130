package io.undercroft.interop.torch;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;

/// The bytes of a pickle, read from front to back. Every length is compared with what is left before anything is made
/// of it.
final class PickleInput {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfDouble BIG_DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED
            .withOrder(ByteOrder.BIG_ENDIAN);
    /// The longest line of text that is read, in bytes.
    static final int LONGEST_LINE = 256;

    private final MemorySegment bytes;
    private final long size;
    private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
    private long position;

    PickleInput(MemorySegment bytes) {
        this.bytes = bytes;
        this.size = bytes.byteSize();
    }

    /// {@return the next byte to read}
    long position() {
        return position;
    }

    /// {@return bytes in the whole pickle}
    long size() {
        return size;
    }

    int u8() {
        return Byte.toUnsignedInt(bytes.get(ValueLayout.JAVA_BYTE, advance(1)));
    }

    int u16() {
        return Short.toUnsignedInt(bytes.get(SHORT, advance(2)));
    }

    int i32() {
        return bytes.get(INT, advance(4));
    }

    long u32() {
        return Integer.toUnsignedLong(i32());
    }

    long i64() {
        return bytes.get(LONG, advance(8));
    }

    double bigDouble() {
        return bytes.get(BIG_DOUBLE, advance(8));
    }

    byte[] bytes(long length) {
        long from = advance(length);
        // Not by toArray, which makes five objects: a pickle may have half a million short texts.
        byte[] copy = new byte[Math.toIntExact(length)];
        MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, from, copy, 0, copy.length);
        return copy;
    }

    String utf8(long length) {
        return decode(bytes(length));
    }

    /// {@return the text of some bytes}
    ///
    /// @throws PickleFault if they are not UTF-8
    String decode(byte[] text) {
        try {
            return utf8.decode(ByteBuffer.wrap(text)).toString();
        } catch (CharacterCodingException _) {
            throw PickleFault.malformed("a string is not valid UTF-8");
        }
    }

    /// Reads a line of text, as GLOBAL has two of.
    String line() {
        for (long end = position; end < size && end - position <= LONGEST_LINE; end++) {
            if (bytes.get(ValueLayout.JAVA_BYTE, end) == '\n') {
                String line = utf8(end - position);
                position++;
                return line;
            }
        }
        throw PickleFault.malformed("a name does not end");
    }

    /// Checks that there are so many bytes left.
    void require(long length) {
        if (length < 0 || length > size - position) {
            throw PickleFault
                    .malformed("the pickle ends too early: " + Long.toUnsignedString(length) + " bytes are due and "
                            + (size - position) + " are left");
        }
    }

    private long advance(long length) {
        require(length);
        long start = position;
        position += length;
        return start;
    }
}
