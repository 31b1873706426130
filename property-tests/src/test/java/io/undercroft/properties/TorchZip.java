package io.undercroft.properties;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.function.UnaryOperator;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/// Rewrites the pickle inside a `.pt`, with checksums that fit again: what an attacker does, and damage never reaches by chance.
final class TorchZip {
    private TorchZip() {}

    static byte[] changePickle(Path file, UnaryOperator<byte[]> change) throws IOException {
        var result = new ByteArrayOutputStream();
        try (var in = new ZipFile(file.toFile()); var out = new ZipOutputStream(result)) {
            for (ZipEntry entry : Collections.list(in.entries())) {
                byte[] bytes = in.getInputStream(entry).readAllBytes();
                put(out, entry.getName(), entry.getName().endsWith("/data.pkl") ? change.apply(bytes) : bytes);
            }
        }
        return result.toByteArray();
    }

    /// Stored without compression, as torch does, and so with size and checksum in front.
    private static void put(ZipOutputStream out, String name, byte[] bytes) throws IOException {
        var crc = new CRC32();
        crc.update(bytes);
        var entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCompressedSize(bytes.length);
        entry.setCrc(crc.getValue());
        entry.setTime(0);
        out.putNextEntry(entry);
        out.write(bytes);
        out.closeEntry();
    }
}
