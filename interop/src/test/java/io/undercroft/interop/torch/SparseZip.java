package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;

/// Writes an archive with a record that is far larger than a disk, as PyTorch writes one of more than 4 GiB. Most of
/// the record is a hole.
final class SparseZip implements AutoCloseable {
    private static final int NOT_HERE = -1;
    private static final short ZIP64 = 1;
    private static final short VERSION = 45;

    private final FileChannel channel;
    private final ByteBuffer directory = buffer(1 << 12);
    private long end;
    private int count;

    private SparseZip(Path path) throws IOException {
        this.channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE,
                StandardOpenOption.SPARSE);
    }

    /// Writes one tensor of float32 without a name: its first element is 1, its last one 2, the others are 0.
    ///
    /// @return the file
    static Path write(Path path, long numel) throws IOException {
        try (SparseZip zip = new SparseZip(path)) {
            long payload = zip.begin("weights/data/0", 4 * numel, 0);
            zip.put(buffer(4).putFloat(1).flip(), payload);
            zip.put(buffer(4).putFloat(2).flip(), payload + 4 * (numel - 1));
            zip.store("weights/data.pkl", new PickleBuilder().tensor("0", numel).stop());
            zip.store("weights/byteorder", "little".getBytes(US_ASCII));
            zip.store("weights/version", "3\n".getBytes(US_ASCII));
        }
        return path;
    }

    private static ByteBuffer buffer(int capacity) {
        return ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void put(ByteBuffer bytes, long at) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes, at + bytes.position());
        }
    }

    private void store(String name, byte[] bytes) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        put(ByteBuffer.wrap(bytes), begin(name, bytes.length, (int) crc.getValue()));
    }

    /// Writes what is in front of a record and returns where its bytes are to be.
    private long begin(String name, long size, int crc) throws IOException {
        byte[] text = name.getBytes(US_ASCII);
        long start = end;
        ByteBuffer head = buffer(50 + text.length).putInt(0x04034b50).putShort(VERSION).putShort((short) 0)
                .putShort((short) 0).putInt(0).putInt(crc).putInt(NOT_HERE).putInt(NOT_HERE)
                .putShort((short) text.length).putShort((short) 20).put(text).putShort(ZIP64).putShort((short) 16)
                .putLong(size).putLong(size);
        put(head.flip(), start);
        directory.putInt(0x02014b50).putShort(VERSION).putShort(VERSION).putShort((short) 0).putShort((short) 0)
                .putInt(0).putInt(crc).putInt(NOT_HERE).putInt(NOT_HERE).putShort((short) text.length)
                .putShort((short) 28).putShort((short) 0).putShort((short) 0).putShort((short) 0).putInt(0)
                .putInt(NOT_HERE).put(text).putShort(ZIP64).putShort((short) 24).putLong(size).putLong(size)
                .putLong(start);
        count++;
        long payload = start + head.capacity();
        end = payload + size;
        return payload;
    }

    @Override
    public void close() throws IOException {
        try (channel) {
            int size = directory.position();
            put(directory.flip(), end);
            ByteBuffer tail = buffer(98).putInt(0x06064b50).putLong(44).putShort(VERSION).putShort(VERSION).putInt(0)
                    .putInt(0).putLong(count).putLong(count).putLong(size).putLong(end);
            tail.putInt(0x07064b50).putInt(0).putLong(end + size).putInt(1);
            tail.putInt(0x06054b50).putShort((short) 0).putShort((short) 0).putShort((short) -1).putShort((short) -1)
                    .putInt(NOT_HERE).putInt(NOT_HERE).putShort((short) 0);
            put(tail.flip(), end + size);
        }
    }
}
