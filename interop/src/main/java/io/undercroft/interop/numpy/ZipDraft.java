package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.SequencedMap;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/// A zip archive that is going to be written, in one pass: sizes and checksums are behind each record and in the
/// directory.
///
/// Records have 64-bit sizes where they might need them, like those of NumPy. What is stored starts on a multiple of 64
/// bytes, by padding in the extra field of its header.
final class ZipDraft implements Draft {
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
    private static final int EXTRA_HEADER = 4;

    private static final int VERSION = 45;
    /// Sizes follow the record, and its name is UTF-8.
    private static final int FLAGS = 0x0808;
    private static final int ZIP64_FIELD = 0x0001;
    /// The field that Android's zipalign pads with.
    private static final int PADDING_FIELD = 0xD935;
    /// The first day that a zip archive can tell.
    private static final int DATE = 0x0021;
    private static final int MOST_16 = 0xFFFF;
    private static final long MOST_32 = 0xFFFF_FFFFL;
    private static final int LONGEST_NAME = 0xFF00;
    private static final int ALIGNMENT = 64;

    private final SequencedMap<String, Draft> parts;
    private final Method method;

    private ZipDraft(SequencedMap<String, Draft> parts, Method method) {
        this.parts = parts;
        this.method = method;
        parts.keySet().forEach(name -> {
            if (name.getBytes(UTF_8).length > LONGEST_NAME) {
                throw new IllegalArgumentException("the name of a tensor is longer than " + LONGEST_NAME
                        + " bytes, which no zip archive can hold: " + name.substring(0, ALIGNMENT) + "…");
            }
        });
    }

    private enum Method {
        STORED(0), DEFLATED(8);

        private final int code;

        Method(int code) {
            this.code = code;
        }
    }

    /// {@return an archive whose records are not compressed}
    ///
    /// @param parts what is in the records, by their names
    static ZipDraft stored(SequencedMap<String, Draft> parts) {
        return new ZipDraft(parts, Method.STORED);
    }

    /// {@return an archive whose records are compressed}
    ///
    /// @param parts what is in the records, by their names
    static ZipDraft deflated(SequencedMap<String, Draft> parts) {
        return new ZipDraft(parts, Method.DEFLATED);
    }

    /// A record that has been written.
    private record Written(String name, long header, long size, long compressedSize, int crc) {}

    @Override
    public long nbytes() {
        long sum = END_SIZE;
        for (var part : parts.entrySet()) {
            long names = LOCAL_HEADER_SIZE + ENTRY_SIZE + 2L * part.getKey().getBytes(UTF_8).length + ALIGNMENT;
            sum = Math.addExact(sum, Math.addExact(names, part.getValue().nbytes()));
        }
        return sum;
    }

    /// Deflated elements may become next to nothing.
    @Override
    public long leastBytes() {
        return method == Method.STORED ? nbytes() : END_SIZE;
    }

    @Override
    public void writeTo(Output output) throws IOException {
        List<Written> written = new ArrayList<>();
        for (var part : parts.entrySet()) {
            written.add(write(part.getKey(), part.getValue(), output));
        }
        long directory = output.position();
        for (Written record : written) {
            writeEntry(record, output);
        }
        writeEnd(directory, written.size(), output);
    }

    private Written write(String name, Draft part, Output output) throws IOException {
        long header = output.position();
        boolean wide = isWide(part.nbytes());
        writeLocalHeader(name.getBytes(UTF_8), wide, output);
        Counted counted = method == Method.STORED ? store(part, output) : deflate(part, output);
        ByteBuffer descriptor = buffer(8 + (wide ? 16 : 8)).putInt(DESCRIPTOR).putInt(counted.crc);
        if (wide) {
            descriptor.putLong(counted.compressedSize).putLong(counted.size);
        } else {
            descriptor.putInt((int) counted.compressedSize).putInt((int) counted.size);
        }
        put(descriptor, output);
        return new Written(name, header, counted.size, counted.compressedSize, counted.crc);
    }

    /// Deflating makes bytes that cannot be compressed longer, by less than a thousandth.
    private static boolean isWide(long size) {
        return size > MOST_32 - MOST_32 / 1000;
    }

    private void writeLocalHeader(byte[] name, boolean wide, Output output) throws IOException {
        int zip64 = wide ? EXTRA_HEADER + 16 : 0;
        long end = output.position() + LOCAL_HEADER_SIZE + name.length + zip64 + EXTRA_HEADER;
        int padding = method == Method.STORED ? (int) (-end & (ALIGNMENT - 1)) : 0;
        int extra = zip64 + (method == Method.STORED ? EXTRA_HEADER + padding : 0);
        ByteBuffer header = buffer(LOCAL_HEADER_SIZE + name.length + extra).putInt(LOCAL_HEADER)
                .putShort((short) VERSION).putShort((short) FLAGS).putShort((short) method.code).putShort((short) 0)
                .putShort((short) DATE).putInt(0).putInt(wide ? -1 : 0).putInt(wide ? -1 : 0)
                .putShort((short) name.length).putShort((short) extra).put(name);
        if (wide) {
            header.putShort((short) ZIP64_FIELD).putShort((short) 16).putLong(0).putLong(0);
        }
        if (method == Method.STORED) {
            header.putShort((short) PADDING_FIELD).putShort((short) padding).position(header.limit());
        }
        put(header, output);
    }

    private record Counted(long size, long compressedSize, int crc) {}

    private static Counted store(Draft part, Output output) throws IOException {
        CRC32 crc = new CRC32();
        long start = output.position();
        part.writeTo(new Pieces(start, piece -> {
            crc.update(piece.asByteBuffer());
            output.write(piece);
        }));
        long size = output.position() - start;
        return new Counted(size, size, (int) crc.getValue());
    }

    private static Counted deflate(Draft part, Output output) throws IOException {
        CRC32 crc = new CRC32();
        long start = output.position();
        try (Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true)) {
            ByteBuffer compressed = buffer(Pieces.SIZE);
            part.writeTo(new Pieces(0, piece -> {
                crc.update(piece.asByteBuffer());
                deflater.setInput(piece.asByteBuffer());
                while (!deflater.needsInput()) {
                    drain(deflater, compressed, output);
                }
            }));
            deflater.finish();
            while (!deflater.finished()) {
                drain(deflater, compressed, output);
            }
            return new Counted(deflater.getBytesRead(), output.position() - start, (int) crc.getValue());
        }
    }

    private static void drain(Deflater deflater, ByteBuffer compressed, Output output) throws IOException {
        deflater.deflate(compressed.clear());
        output.write(MemorySegment.ofBuffer(compressed.flip()));
    }

    private void writeEntry(Written record, Output output) throws IOException {
        boolean wide = record.size >= MOST_32 || record.compressedSize >= MOST_32 || record.header >= MOST_32;
        int extra = wide ? EXTRA_HEADER + 24 : 0;
        byte[] name = record.name.getBytes(UTF_8);
        ByteBuffer entry = buffer(ENTRY_SIZE + name.length + extra).putInt(ENTRY).putShort((short) VERSION)
                .putShort((short) VERSION).putShort((short) FLAGS).putShort((short) method.code).putShort((short) 0)
                .putShort((short) DATE).putInt(record.crc).putInt(wide ? -1 : (int) record.compressedSize)
                .putInt(wide ? -1 : (int) record.size).putShort((short) name.length).putShort((short) extra)
                .putShort((short) 0).putShort((short) 0).putShort((short) 0).putInt(0)
                .putInt(wide ? -1 : (int) record.header).put(name);
        if (wide) {
            entry.putShort((short) ZIP64_FIELD).putShort((short) 24).putLong(record.size)
                    .putLong(record.compressedSize).putLong(record.header);
        }
        put(entry, output);
    }

    private static void writeEnd(long directory, int count, Output output) throws IOException {
        long end = output.position();
        long size = end - directory;
        boolean wide = count >= MOST_16 || directory >= MOST_32 || size >= MOST_32;
        if (wide) {
            put(buffer(ZIP64_END_SIZE).putInt(ZIP64_END).putLong(ZIP64_END_SIZE - 12).putShort((short) VERSION)
                    .putShort((short) VERSION).putInt(0).putInt(0).putLong(count).putLong(count).putLong(size)
                    .putLong(directory), output);
            put(buffer(ZIP64_LOCATOR_SIZE).putInt(ZIP64_LOCATOR).putInt(0).putLong(end).putInt(1), output);
        }
        short shown = (short) (wide ? MOST_16 : count);
        put(buffer(END_SIZE).putInt(END).putShort((short) 0).putShort((short) 0).putShort(shown).putShort(shown)
                .putInt(wide ? -1 : (int) size).putInt(wide ? -1 : (int) directory).putShort((short) 0), output);
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static void put(ByteBuffer bytes, Output output) throws IOException {
        output.write(MemorySegment.ofBuffer(bytes.rewind()));
    }
}
