package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/// Writes a zip archive in one pass: sizes and checksums are after each record and in the directory. Stored records are
/// aligned to 64 bytes, by padding in the extra field of the header. For use by one thread.
public final class ZipWriter implements AutoCloseable {
    private static final int LOCAL_HEADER = 0x04034b50;
    private static final int DESCRIPTOR = 0x08074b50;
    private static final int ENTRY = 0x02014b50;
    private static final int END = 0x06054b50;
    private static final int ZIP64_END = 0x06064b50;
    private static final int ZIP64_LOCATOR = 0x07064b50;
    private static final int LOCAL_HEADER_SIZE = 30;
    private static final int ENTRY_SIZE = 46;
    private static final int END_SIZE = 22;
    private static final int ZIP64_END_SIZE = 56;
    private static final int ZIP64_LOCATOR_SIZE = 20;
    private static final int FIELD_HEADER = 4;

    private static final int ZIP64_FIELD = 0x0001;
    private static final int UTF8_NAME = 0x0800;
    private static final int SIZES_FOLLOW = 0x0008;
    private static final int ZIP64_VERSION = 45;
    private static final int MOST_16 = 0xFFFF;
    private static final long MOST_32 = 0xFFFF_FFFFL;
    private static final int ALIGNMENT = 64;
    /// The number of bytes that are summed up at once.
    private static final int PIECE = 1 << 18;

    private final Dialect dialect;
    private final boolean isDeflated;
    private final Output output;
    /// Where the archive starts in it.
    private final long start;
    private final List<Written> records = new ArrayList<>();
    /// Where records are written to, since native code that sums up the bytes of a mapped file would crash the JVM if
    /// the file was truncated meanwhile.
    private final Output pieces = new Output((_, bytes) -> take(bytes), PIECE);
    private final CRC32 crc = new CRC32();
    private final Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true);
    private final ByteBuffer compressed;

    /// The differences between writers.
    public enum Dialect {
        /// Archives as NumPy writes them, but aligned like Android's zipalign. Records that might need 64-bit sizes use
        /// them.
        NUMPY(ZIP64_VERSION, ZIP64_VERSION, 0x0021, 0xD935, 0),
        /// Archives as PyTorch's library writes them, which reads archives without their headers: it computes where
        /// each storage starts from the sizes of those before it. Its Zip64 fields deviate from the standard.
        PYTORCH(0, 0x031e, 0, 'F' | 'B' << 8, 'Z');

        private final int version;
        private final int madeBy;
        private final int date;
        private final int paddingField;
        private final int padding;

        Dialect(int version, int madeBy, int date, int paddingField, int padding) {
            this.version = version;
            this.madeBy = madeBy;
            this.date = date;
            this.paddingField = paddingField;
            this.padding = padding;
        }

        /// Deflating makes bytes that cannot be compressed longer, by less than a thousandth.
        private boolean isWide(Written planned) {
            return this == NUMPY
                    ? planned.size > MOST_32 - MOST_32 / 1000
                    : planned.size >= MOST_32 || planned.header >= MOST_32;
        }

        /// @param planned the record, of a size that is not exceeded
        private ByteBuffer localHeader(Written planned, boolean isDeflated) {
            byte[] name = planned.utf8();
            boolean isNumpy = this == NUMPY;
            boolean isWide = isNumpy && isWide(planned);
            byte[] zip64 = isNumpy ? field(isWide, 0, 0) : pytorchField(planned, 0);
            long end = planned.header + LOCAL_HEADER_SIZE + name.length + zip64.length + FIELD_HEADER;
            int gap = (int) (-end & (ALIGNMENT - 1));
            int extra = zip64.length + (isDeflated ? 0 : FIELD_HEADER + gap);
            ByteBuffer header = buffer(LOCAL_HEADER_SIZE + name.length + extra).putInt(LOCAL_HEADER)
                    .putShort((short) version);
            putMethod(planned, isDeflated, header).putInt(0).putInt(isWide ? -1 : 0).putInt(isWide ? -1 : 0)
                    .putShort((short) name.length).putShort((short) extra).put(name).put(zip64);
            if (!isDeflated) {
                header.putShort((short) paddingField).putShort((short) gap);
                while (header.hasRemaining()) {
                    header.put((byte) padding);
                }
            }
            return header;
        }

        /// Writes flags, method, time and date.
        private ByteBuffer putMethod(Written record, boolean isDeflated, ByteBuffer into) {
            boolean sizesFollow = this == NUMPY || record.size > 0;
            return into.putShort((short) (sizesFollow ? UTF8_NAME | SIZES_FOLLOW : UTF8_NAME))
                    .putShort((short) (isDeflated ? ZipRecord.DEFLATED : ZipRecord.STORED)).putShort((short) 0)
                    .putShort((short) date);
        }

        private ByteBuffer descriptor(Written record, Written planned) {
            if (this == PYTORCH && record.size == 0) {
                return buffer(0);
            }
            boolean isWide = isWide(planned);
            ByteBuffer descriptor = buffer(isWide ? 24 : 16).putInt(DESCRIPTOR).putInt(record.crc);
            return isWide
                    ? descriptor.putLong(record.compressedSize).putLong(record.size)
                    : descriptor.putInt((int) record.compressedSize).putInt((int) record.size);
        }

        private ByteBuffer entry(Written record, boolean isDeflated) {
            byte[] name = record.utf8();
            boolean isNumpy = this == NUMPY;
            boolean isWide = isNumpy
                    && (record.size >= MOST_32 || record.compressedSize >= MOST_32 || record.header >= MOST_32);
            byte[] zip64 = isNumpy
                    ? field(isWide, record.size, record.compressedSize, record.header)
                    : pytorchField(record, record.compressedSize);
            ByteBuffer entry = buffer(ENTRY_SIZE + name.length + zip64.length).putInt(ENTRY)
                    .putShort((short) version).putShort((short) version);
            return putMethod(record, isDeflated, entry).putInt(record.crc).putInt(narrow(record.compressedSize, isWide))
                    .putInt(narrow(record.size, isWide)).putShort((short) name.length).putShort((short) zip64.length)
                    .putShort((short) 0).putShort((short) 0).putShort((short) 0).putInt(0)
                    .putInt(narrow(record.header, isWide)).put(name).put(zip64);
        }

        private ByteBuffer end(long directory, long end, int count) {
            long size = end - directory;
            boolean isNumpy = this == NUMPY;
            boolean isWide = !isNumpy || count >= MOST_16 || directory >= MOST_32 || size >= MOST_32;
            ByteBuffer ends = buffer((isWide ? ZIP64_END_SIZE + ZIP64_LOCATOR_SIZE : 0) + END_SIZE);
            if (isWide) {
                ends.putInt(ZIP64_END).putLong(ZIP64_END_SIZE - 12).putShort((short) madeBy)
                        .putShort((short) ZIP64_VERSION).putInt(0).putInt(0).putLong(count).putLong(count).putLong(size)
                        .putLong(directory);
                ends.putInt(ZIP64_LOCATOR).putInt(0).putLong(end).putInt(1);
            }
            boolean isHidden = isNumpy && isWide;
            short shown = (short) (isHidden ? MOST_16 : Math.min(count, MOST_16));
            return ends.putInt(END).putInt(0).putShort(shown).putShort(shown).putInt(narrow(size, isHidden))
                    .putInt(narrow(directory, isHidden)).putShort((short) 0);
        }
    }

    /// A record that has been written.
    ///
    /// @param name its path in the archive
    /// @param header the offset of its header
    /// @param size its bytes when uncompressed
    /// @param compressedSize the bytes that it takes in the archive
    /// @param crc the checksum of its uncompressed bytes
    public record Written(String name, long header, long size, long compressedSize, int crc) {
        byte[] utf8() {
            return name.getBytes(UTF_8);
        }
    }

    /// A writer of an archive that is still empty.
    ///
    /// @param dialect the dialect of the headers
    /// @param isDeflated whether records are compressed
    /// @param output the destination, in which the archive starts here
    public ZipWriter(Dialect dialect, boolean isDeflated, Output output) {
        this.dialect = dialect;
        this.isDeflated = isDeflated;
        this.output = output;
        this.start = output.position();
        this.compressed = ByteBuffer.allocate(isDeflated ? PIECE : 0);
    }

    /// {@return the records that have been written}
    public List<Written> records() {
        return Collections.unmodifiableList(records);
    }

    /// Writes a record.
    ///
    /// @param name its path in the archive
    /// @param content its bytes
    /// @throws IOException if writing fails
    public void add(String name, Draft content) throws IOException {
        Written planned = new Written(name, output.position() - start, content.nbytes(), content.nbytes(), 0);
        put(dialect.localHeader(planned, isDeflated));
        long data = output.position();
        long before = pieces.position();
        crc.reset();
        deflater.reset();
        content.writeTo(pieces);
        pieces.flush();
        if (isDeflated) {
            deflater.finish();
            while (!deflater.finished()) {
                drain();
            }
        }
        Written record = new Written(name, planned.header, pieces.position() - before, output.position() - data,
                (int) crc.getValue());
        put(dialect.descriptor(record, planned));
        records.add(record);
    }

    /// Writes the directory, with which the archive ends.
    ///
    /// @throws IOException if writing fails
    public void finish() throws IOException {
        long directory = output.position() - start;
        for (Written record : records) {
            put(dialect.entry(record, isDeflated));
        }
        put(dialect.end(directory, output.position() - start, records.size()));
    }

    /// {@return the bytes of an archive of stored records}
    ///
    /// @param dialect the dialect of the headers
    /// @param names the names of the records
    /// @param sizes their sizes
    /// @throws ArithmeticException if it would have more than 2^63-1 bytes
    public static long nbytes(Dialect dialect, List<String> names, List<Long> sizes) {
        List<Written> records = new ArrayList<>();
        long position = 0;
        for (int i = 0; i < names.size(); i++) {
            Written record = new Written(names.get(i), position, sizes.get(i), sizes.get(i), 0);
            position = Math.addExact(position, record.size);
            position = Math.addExact(position,
                    dialect.localHeader(record, false).capacity() + dialect.descriptor(record, record).capacity());
            records.add(record);
        }
        long directory = position;
        for (Written record : records) {
            position = Math.addExact(position, dialect.entry(record, false).capacity());
        }
        return Math.addExact(position, dialect.end(directory, position, names.size()).capacity());
    }

    private static byte[] field(boolean isThere, long... values) {
        if (!isThere || values.length == 0) {
            return new byte[0];
        }
        int size = values.length * Long.BYTES;
        byte[] bytes = new byte[FIELD_HEADER + size];
        ByteBuffer field = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        field.putShort((short) ZIP64_FIELD).putShort((short) size);
        for (long value : values) {
            field.putLong(value);
        }
        return bytes;
    }

    /// The field is the same in both headers but for the compressed size, and has only what needs it.
    private static byte[] pytorchField(Written record, long compressedSize) {
        boolean isLarge = record.size >= MOST_32;
        boolean isFar = record.header >= MOST_32;
        return isLarge && isFar
                ? field(true, record.size, compressedSize, record.header)
                : isLarge ? field(true, record.size, compressedSize) : field(isFar, record.header);
    }

    private static int narrow(long value, boolean isWide) {
        return isWide ? -1 : (int) Math.min(value, MOST_32);
    }

    private void take(MemorySegment bytes) throws IOException {
        crc.update(bytes.asByteBuffer());
        if (!isDeflated) {
            output.write(bytes);
            return;
        }
        deflater.setInput(bytes.asByteBuffer());
        while (!deflater.needsInput()) {
            drain();
        }
    }

    private void drain() throws IOException {
        deflater.deflate(compressed.clear());
        output.write(MemorySegment.ofBuffer(compressed.flip()));
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void put(ByteBuffer bytes) throws IOException {
        output.write(MemorySegment.ofBuffer(bytes.rewind()));
    }

    @Override
    public void close() {
        pieces.close();
        deflater.close();
    }
}
