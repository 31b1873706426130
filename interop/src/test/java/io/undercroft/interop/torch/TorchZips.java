package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/// Archives that are too large to be fixtures.
final class TorchZips {
    private TorchZips() {}

    /// Writes one tensor of float32 without a name, all bytes 7. Its record comes first, where it is aligned.
    ///
    /// @return the file
    static Path write(Path path, int numel) throws IOException {
        return write(path, numel, ZipEntry.STORED);
    }

    /// Writes such a tensor, in a record that is stored or deflated.
    ///
    /// @return the file
    static Path write(Path path, int numel, int method) throws IOException {
        byte[] payload = new byte[Math.multiplyExact(4, numel)];
        Arrays.fill(payload, (byte) 7);
        return write(path, numel, method, payload);
    }

    /// Writes such a tensor on other bytes.
    ///
    /// @return the file
    static Path write(Path path, int numel, int method, byte[] payload) throws IOException {
        return write(path, new PickleBuilder().tensor("0", numel).stop(), method, payload);
    }

    /// Writes an archive of one storage.
    ///
    /// @return the file
    static Path write(Path path, byte[] pickle, int method, byte[] payload) throws IOException {
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
            put(zip, "weights/data/0", payload, method);
            store(zip, "weights/data.pkl", pickle);
            store(zip, "weights/byteorder", "little".getBytes(US_ASCII));
            store(zip, "weights/version", "3\n".getBytes(US_ASCII));
        }
        return path;
    }

    /// Adds a record that is stored.
    static void store(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        put(zip, name, bytes, ZipEntry.STORED);
    }

    private static void put(ZipOutputStream zip, String name, byte[] bytes, int method) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(method);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
    }
}
