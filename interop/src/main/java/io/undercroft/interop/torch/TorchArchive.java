package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.Loan;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.zip.CRC32;

/// The zip archive that a pickle and its storages are saved as, with every byte where PyTorch's own writer has it.
///
/// PyTorch reads such a file without looking at its headers: from the sizes of the storages it computes where each of
/// them starts. So the order of the records, the padding before and the descriptors behind them are part of the format.
/// Records start at multiples of 64 bytes, for which each header has an extra field `FB` of padding; sizes and
/// checksums are in the directory and behind the records, so that the archive is written from front to back. Where a
/// size or an offset needs more than 32 bits there are Zip64 fields, as PyTorch's library writes them, which is not
/// quite as the standard says.
///
/// The file is a draft that is used by one thread. Only its serialization id, which no reader looks at, is made
/// otherwise.
final class TorchArchive implements Draft {
    /// The folder in an archive whose file has no name yet, as with PyTorch.
    static final String FOLDER = "archive";

    private static final int ALIGNMENT = 64;
    private static final int CHUNK = 1 << 20;
    private static final long WIDE = 0xFFFF_FFFFL;

    private static final int LOCAL_HEADER = 0x04034b50;
    private static final int DESCRIPTOR = 0x08074b50;
    private static final int ENTRY = 0x02014b50;
    private static final int ZIP64_END = 0x06064b50;
    private static final int ZIP64_LOCATOR = 0x07064b50;
    private static final int END = 0x06054b50;

    private static final int LOCAL_HEADER_SIZE = 30;
    private static final int ENTRY_SIZE = 46;
    private static final int ZIP64_END_SIZE = 56;
    private static final int ZIP64_LOCATOR_SIZE = 20;
    private static final int END_SIZE = 22;

    private static final short ZIP64_FIELD = 0x0001;
    private static final short PADDING_FIELD = 'F' | 'B' << 8;
    private static final short UTF8_NAME = 0x0800;
    private static final short SIZES_FOLLOW = 0x0008;
    private static final int MADE_BY_VERSION = 0x031e;
    private static final int NEEDED_VERSION = 45;

    private static final int ID_DIGITS = 20;

    private final List<Part> parts = new ArrayList<>();
    private final List<String> distrusted;

    /// Plans an archive.
    ///
    /// @param folder the one folder in it
    /// @param pickle what it holds
    TorchArchive(String folder, Pickle pickle) {
        this.distrusted = pickle.distrusted();
        add(folder, "data.pkl", pickle.bytes());
        add(folder, ".format_version", "1");
        add(folder, ".storage_alignment", Integer.toString(ALIGNMENT));
        add(folder, "byteorder", ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? "little" : "big");
        for (int i = 0; i < pickle.storages().size(); i++) {
            Storage storage = pickle.storages().get(i);
            add(folder, "data/" + i, storage.nbytes(), _ -> storage);
        }
        add(folder, "version", "3\n");
        add(folder, ".data/serialization_id", 2 * ID_DIGITS, TorchArchive::serializationId);
    }

    /// A record to be.
    ///
    /// @param name its path in the archive
    /// @param size its bytes
    /// @param content makes them; is shown what was written before
    private record Part(String name, long size, Function<List<Entry>, Storage> content) {
        byte[] utf8() {
            return name.getBytes(UTF_8);
        }

        /// {@return what comes behind the record, in bytes}
        int descriptorSize(long header) {
            if (size == 0) {
                return 0;
            }
            return size >= WIDE || header >= WIDE ? 24 : 16;
        }
    }

    /// A record that has its place.
    ///
    /// @param part the record
    /// @param header where its header starts in the archive
    /// @param crc the checksum of its bytes
    private record Entry(Part part, long header, int crc) {
        short flags() {
            return part.size == 0 ? UTF8_NAME : UTF8_NAME | SIZES_FOLLOW;
        }

        boolean isLarge() {
            return part.size >= WIDE;
        }

        boolean isFar() {
            return header >= WIDE;
        }

        /// {@return where the bytes of the record start}
        long data() {
            long least = header + LOCAL_HEADER_SIZE + part.utf8().length + zip64Size() + 4;
            return Math.ceilDiv(least, ALIGNMENT) * ALIGNMENT;
        }

        long end() {
            return data() + part.size + part.descriptorSize(header);
        }

        /// {@return the bytes of the Zip64 field, which is the same in both headers but for the compressed size}
        int zip64Size() {
            int content = (isLarge() ? 16 : 0) + (isFar() ? 8 : 0);
            return content == 0 ? 0 : 4 + content;
        }

        void zip64(ByteBuffer into, long compressedSize) {
            if (zip64Size() > 0) {
                into.putShort(ZIP64_FIELD).putShort((short) (zip64Size() - 4));
                if (isLarge()) {
                    into.putLong(part.size).putLong(compressedSize);
                }
                if (isFar()) {
                    into.putLong(header);
                }
            }
        }

        /// {@return all before the bytes of the record}
        MemorySegment localHeader() {
            int extra = Math.toIntExact(data() - header) - LOCAL_HEADER_SIZE - part.utf8().length;
            ByteBuffer bytes = little(Math.toIntExact(data() - header)).putInt(LOCAL_HEADER).putShort((short) 0)
                    .putShort(flags());
            bytes.position(LOCAL_HEADER_SIZE - 4);
            bytes.putShort((short) part.utf8().length).putShort((short) extra).put(part.utf8());
            zip64(bytes, 0);
            bytes.putShort(PADDING_FIELD).putShort((short) (bytes.remaining() - 2));
            while (bytes.hasRemaining()) {
                bytes.put((byte) 'Z');
            }
            return MemorySegment.ofBuffer(bytes.flip());
        }

        /// {@return all behind the bytes of the record}
        MemorySegment descriptor() {
            ByteBuffer bytes = little(part.descriptorSize(header));
            if (part.size > 0) {
                bytes.putInt(DESCRIPTOR).putInt(crc);
                if (bytes.remaining() > 8) {
                    bytes.putLong(part.size).putLong(part.size);
                } else {
                    bytes.putInt((int) part.size).putInt((int) part.size);
                }
            }
            return MemorySegment.ofBuffer(bytes.flip());
        }

        /// {@return its entry in the directory}
        MemorySegment directoryEntry() {
            int size = (int) Math.min(part.size, WIDE);
            ByteBuffer bytes = little(entrySize()).putInt(ENTRY).putInt(0).putShort(flags());
            bytes.position(16);
            bytes.putInt(crc).putInt(size).putInt(size);
            bytes.putShort((short) part.utf8().length).putShort((short) zip64Size());
            bytes.position(ENTRY_SIZE - 4);
            bytes.putInt((int) Math.min(header, WIDE)).put(part.utf8());
            zip64(bytes, part.size);
            return MemorySegment.ofBuffer(bytes.flip());
        }

        int entrySize() {
            return ENTRY_SIZE + part.utf8().length + zip64Size();
        }
    }

    private void add(String folder, String name, String content) {
        add(folder, name, MemorySegment.ofArray(content.getBytes(UTF_8)));
    }

    private void add(String folder, String name, MemorySegment content) {
        add(folder, name, content.byteSize(), _ -> Storage.wrap(content));
    }

    private void add(String folder, String name, long size, Function<List<Entry>, Storage> content) {
        parts.add(new Part(folder + "/" + name, size, content));
    }

    @Override
    public long nbytes() {
        long header = 0;
        long directory = 0;
        for (Part part : parts) {
            Entry entry = new Entry(part, header, 0);
            header = entry.end();
            directory += entry.entrySize();
        }
        return header + directory + ZIP64_END_SIZE + ZIP64_LOCATOR_SIZE + END_SIZE;
    }

    @Override
    public List<Loss> losses() {
        return distrusted.isEmpty() ? List.of() : List.of(Loss.of(Kind.WEIGHTS_ONLY, distrusted));
    }

    @Override
    public void writeTo(Output output) throws IOException {
        List<Entry> written = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment chunk = arena.allocate(CHUNK, ALIGNMENT);
            for (Part part : parts) {
                Entry place = new Entry(part, output.position(), 0);
                output.write(place.localHeader());
                int crc = copy(part.content.apply(written), part.size, output, chunk);
                Entry entry = new Entry(part, place.header, crc);
                output.write(entry.descriptor());
                written.add(entry);
            }
        }
        writeDirectory(written, output);
    }

    private static int copy(Storage content, long size, Output output, MemorySegment chunk) throws IOException {
        if (content.nbytes() != size) {
            throw new IllegalStateException(content.describe() + " had " + size
                    + " bytes, and was resized while it was being saved; save it before or after");
        }
        CRC32 crc = new CRC32();
        if (!content.device().isCpu()) {
            new SummedOutput(output, crc).write(content, 0, size);
            return (int) crc.getValue();
        }
        try (Loan loan = content.borrow()) {
            for (long at = 0; at < size; at += CHUNK) {
                // Summed from the copy: native code would not survive it if a mapped file was cut meanwhile.
                MemorySegment piece = chunk.asSlice(0, Math.min(CHUNK, size - at));
                fetch(loan.storage(), at, piece);
                crc.update(piece.asByteBuffer());
                output.write(piece);
            }
        }
        return (int) crc.getValue();
    }

    /// Copies a part of a storage, which says so if the file behind it was cut.
    private static void fetch(Storage from, long at, MemorySegment into) {
        Storage part = from.slice(at, into.byteSize());
        try {
            Storage.wrap(into).copyFrom(part);
        } finally {
            part.release();
        }
    }

    /// Sums up what is written. Belongs to one thread.
    private record SummedOutput(Output output, CRC32 crc) implements Output {
        @Override
        public long position() {
            return output.position();
        }

        @Override
        public void write(MemorySegment bytes) throws IOException {
            crc.update(bytes.asByteBuffer());
            output.write(bytes);
        }
    }

    private static void writeDirectory(List<Entry> entries, Output output) throws IOException {
        long directory = output.position();
        for (Entry entry : entries) {
            output.write(entry.directoryEntry());
        }
        long end = output.position();
        long size = end - directory;
        int count = Math.min(entries.size(), 0xFFFF);
        ByteBuffer ends = little(ZIP64_END_SIZE + ZIP64_LOCATOR_SIZE + END_SIZE);
        ends.putInt(ZIP64_END).putLong(ZIP64_END_SIZE - 12).putShort((short) MADE_BY_VERSION)
                .putShort((short) NEEDED_VERSION).putInt(0).putInt(0).putLong(entries.size()).putLong(entries.size())
                .putLong(size).putLong(directory);
        ends.putInt(ZIP64_LOCATOR).putInt(0).putLong(end).putInt(1);
        ends.putInt(END).putInt(0).putShort((short) count).putShort((short) count)
                .putInt((int) Math.min(size, WIDE)).putInt((int) Math.min(directory, WIDE)).putShort((short) 0);
        output.write(MemorySegment.ofBuffer(ends.flip()));
    }

    /// Forty digits by which PyTorch's logs tell files apart: a hash of the names and one of the checksums.
    private static Storage serializationId(List<Entry> written) {
        long names = 0;
        long sums = 0;
        for (Entry entry : written) {
            names = 31 * names + entry.part.name.hashCode();
            sums = 0x9E3779B97F4A7C15L * (sums ^ Integer.toUnsignedLong(entry.crc));
        }
        return Storage.copyOf((digits(names) + digits(sums)).getBytes(UTF_8));
    }

    private static String digits(long hash) {
        return String.format(Locale.ROOT, "%0" + ID_DIGITS + "d", new BigInteger(Long.toUnsignedString(hash)));
    }

    private static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }
}
