package io.undercroft.properties.damage;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/// Rewrites the pickle inside a `.pt`, with checksums that fit again: what an attacker does, and damage never reaches
/// by chance.
public final class TorchZip {
    private TorchZip() {}

    static byte[] changePickle(Path file, UnaryOperator<byte[]> change) throws IOException {
        return change(file, (name, bytes) -> name.endsWith("/data.pkl") ? change.apply(bytes) : bytes);
    }

    /// Changes one record of any archive.
    ///
    /// @param number a number that chooses it: every second time the first one
    public static byte[] changeRecord(Path file, int number, BinaryChange change) throws IOException {
        try (var in = new ZipFile(file.toFile())) {
            List<String> names = in.stream().map(ZipEntry::getName).toList();
            if (names.isEmpty()) {
                throw new IOException("no record");
            }
            String chosen = names.get(number % 2 == 0 ? 0 : number / 2 % names.size());
            return change(file, (name, bytes) -> name.equals(chosen) ? change.of(name, bytes) : bytes);
        }
    }

    /// Makes other bytes of those of a record.
    @FunctionalInterface
    public interface BinaryChange {
        byte[] of(String name, byte[] bytes);
    }

    /// {@return an archive of records, which are stored}
    public static byte[] archive(Map<String, byte[]> records) throws IOException {
        var result = new ByteArrayOutputStream();
        try (var out = new ZipOutputStream(result)) {
            for (Map.Entry<String, byte[]> record : records.entrySet()) {
                put(out, record.getKey(), record.getValue());
            }
        }
        return result.toByteArray();
    }

    /// {@return the records of an archive by their names, or nothing if it is damaged}
    public static Map<String, byte[]> records(byte[] archive) {
        Map<String, byte[]> records = new LinkedHashMap<>();
        try (var in = new ZipInputStream(new ByteArrayInputStream(archive))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                records.put(entry.getName(), in.readAllBytes());
            }
            return records;
        } catch (IOException _) {
            return Map.of();
        }
    }

    private static byte[] change(Path file, BinaryChange change) throws IOException {
        var result = new ByteArrayOutputStream();
        try (var in = new ZipFile(file.toFile()); var out = new ZipOutputStream(result)) {
            for (ZipEntry entry : Collections.list(in.entries())) {
                byte[] bytes = in.getInputStream(entry).readAllBytes();
                put(out, entry.getName(), change.of(entry.getName(), bytes));
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
