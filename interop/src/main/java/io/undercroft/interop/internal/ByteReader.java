package io.undercroft.interop.internal;

import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/// Reads numbers and bytes of a file or of memory in order. A file is read through a small buffer. Every length is
/// compared with the number of bytes left before it is used. For use by one thread.
public final class ByteReader {
    private static final int BUFFER = 1 << 14;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final @Nullable MappedFile file;
    private final long end;
    private final Limits limits;
    private byte[] memory = {};
    /// Bytes from [#start] to [#limit].
    private MemorySegment buffer;
    private long start;
    private long limit;
    private long position;
    private boolean isBig;

    /// The exceptions of a format for files that end too early, and its count of bytes read.
    @FunctionalInterface
    public interface Limits {
        /// {@return the exception for bytes that are missing}
        ///
        /// @param due the number of bytes that are due; may be negative if it is from a file
        /// @param position the offset
        /// @param left the number of bytes that are left
        RuntimeException tooShort(long due, long position, long left);

        /// Called before bytes are read from a file.
        ///
        /// @param count the number of bytes that were not read before
        default void reading(long count) {}
    }

    /// A reader of a part of a file, in little-endian order.
    ///
    /// @param file the file
    /// @param start the start of the part
    /// @param end its end, within the file
    /// @param limits the exceptions for a file that is too short
    public ByteReader(MappedFile file, long start, long end, Limits limits) {
        this.file = file;
        this.position = start;
        this.start = start;
        this.limit = start;
        this.end = end;
        this.limits = limits;
        this.buffer = MemorySegment.ofArray(memory);
    }

    /// A reader of memory, in little-endian order.
    ///
    /// @param bytes the memory
    /// @param limits the exceptions for a file that is too short
    public ByteReader(MemorySegment bytes, Limits limits) {
        this.file = null;
        this.end = bytes.byteSize();
        this.limit = end;
        this.limits = limits;
        this.buffer = bytes;
    }

    /// {@return some bytes of a file}
    ///
    /// @param file the file
    /// @param offset their offset
    /// @param length the number of bytes, within the file
    /// @throws IOException if reading fails
    public static byte[] bytes(MappedFile file, long offset, int length) throws IOException {
        byte[] bytes = new byte[length];
        file.read(offset, MemorySegment.ofArray(bytes));
        return bytes;
    }

    /// Sets the byte order of what follows.
    ///
    /// @param order the byte order
    /// @return this
    public ByteReader order(ByteOrder order) {
        isBig = order == ByteOrder.BIG_ENDIAN;
        return this;
    }

    /// {@return the offset of the next byte in the file or the memory}
    public long position() {
        return position;
    }

    /// {@return the offset of the end}
    public long end() {
        return end;
    }

    /// {@return the number of bytes that are left}
    public long remaining() {
        return end - position;
    }

    /// Moves to another offset.
    ///
    /// @param offset the offset of the next byte
    /// @return this
    public ByteReader at(long offset) {
        position = offset;
        return this;
    }

    /// Reads the next bytes of a file into the buffer, and no others.
    ///
    /// @param count the count
    /// @return this
    /// @throws IOException if reading fails
    public ByteReader ahead(int count) throws IOException {
        require(count);
        if (file != null && !isBuffered(count)) {
            fill(file, count);
        }
        return this;
    }

    /// Checks that bytes are left.
    ///
    /// @param count the count
    public void require(long count) {
        if (count < 0 || count > end - position) {
            throw limits.tooShort(count, position, end - position);
        }
    }

    /// Skips bytes without reading them.
    ///
    /// @param count the count
    public void skip(long count) {
        require(count);
        position += count;
    }

    /// {@return the next byte, from 0 to 255, or -1 at the end; it stays the next one}
    ///
    /// @throws IOException if reading fails
    public int peek() throws IOException {
        if (file != null && isBuffered(1)) {
            return Byte.toUnsignedInt(memory[(int) (position - start)]);
        }
        if (position == end) {
            return -1;
        }
        int value = u8();
        position--;
        return value;
    }

    /// {@return the next byte}
    ///
    /// @throws IOException if reading fails
    public byte i8() throws IOException {
        return take(1).get(ValueLayout.JAVA_BYTE, position - 1 - start);
    }

    /// {@return the next byte, from 0 to 255}
    ///
    /// @throws IOException if reading fails
    public int u8() throws IOException {
        return Byte.toUnsignedInt(i8());
    }

    /// {@return the next 2 bytes as a number}
    ///
    /// @throws IOException if reading fails
    public short i16() throws IOException {
        short value = take(Short.BYTES).get(SHORT, position - Short.BYTES - start);
        return isBig ? Short.reverseBytes(value) : value;
    }

    /// {@return the next 2 bytes as a number without sign}
    ///
    /// @throws IOException if reading fails
    public int u16() throws IOException {
        return Short.toUnsignedInt(i16());
    }

    /// {@return the next 4 bytes as a number}
    ///
    /// @throws IOException if reading fails
    public int i32() throws IOException {
        int value = take(Integer.BYTES).get(INT, position - Integer.BYTES - start);
        return isBig ? Integer.reverseBytes(value) : value;
    }

    /// {@return the next 4 bytes as a number without sign}
    ///
    /// @throws IOException if reading fails
    public long u32() throws IOException {
        return Integer.toUnsignedLong(i32());
    }

    /// {@return the next 8 bytes as a number}
    ///
    /// @throws IOException if reading fails
    public long i64() throws IOException {
        long value = take(Long.BYTES).get(LONG, position - Long.BYTES - start);
        return isBig ? Long.reverseBytes(value) : value;
    }

    /// {@return the next bytes}
    ///
    /// @param length the number of bytes, less than 2^31
    /// @throws IOException if reading fails
    public byte[] bytes(long length) throws IOException {
        require(length);
        byte[] bytes = new byte[Math.toIntExact(length)];
        if (file == null || isBuffered(bytes.length)) {
            // Not by slices, which are objects: a pickle may have half a million short texts.
            MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, position - start, bytes, 0, bytes.length);
        } else {
            limits.reading(length);
            file.read(position, MemorySegment.ofArray(bytes));
        }
        position += length;
        return bytes;
    }

    private boolean isBuffered(int count) {
        return position >= start && position + count <= limit;
    }

    /// {@return the buffer, which contains the next bytes; these count as read}
    private MemorySegment take(int count) throws IOException {
        require(count);
        if (file != null && !isBuffered(count)) {
            fill(file, BUFFER);
        }
        position += count;
        return buffer;
    }

    private void fill(MappedFile from, int most) throws IOException {
        int length = (int) Math.min(most, end - position);
        limits.reading(position + length - (isBuffered(0) ? limit : position));
        memory = memory.length < length ? new byte[length] : memory;
        buffer = MemorySegment.ofArray(memory).asSlice(0, length);
        start = position;
        limit = position + length;
        from.read(position, buffer);
    }
}
