package io.undercroft.format.dump;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records.DimFields;
import io.undercroft.format.internal.index.Records.HeaderFields;
import io.undercroft.format.internal.index.Records.SectionFields;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/// The bytes of a file as lines: the fields of records with their values, and other bytes by rows.
///
/// @param file all bytes of the file
record FieldLines(MemorySegment file) {
    /// The number of bytes of a line that are no field.
    static final int ROW = 16;

    /// {@return whether the file has these bytes}
    boolean has(long offset, long length) {
        return offset >= 0 && length >= 0 && length <= file.byteSize() && offset <= file.byteSize() - length;
    }

    /// {@return the fields of a record, as far as the file has them}
    ///
    /// @param layout its fields
    /// @param offset its first byte in the file
    /// @param size its size in bytes; what a later version has added after the fields is one more line
    List<Line> of(RecordLayout layout, long offset, long size) {
        List<Line> lines = new ArrayList<>();
        for (Field field : layout.fields()) {
            if (has(offset + field.offset(), field.size())) {
                lines.add(line(field, offset));
            }
        }
        if (size > layout.size() && has(offset, size)) {
            lines.add(new Line(offset + layout.size(), file.asSlice(offset + layout.size(), size - layout.size()),
                    "unknown", ""));
        }
        return lines;
    }

    /// {@return a field of a record that the file has}
    ///
    /// @param record the first byte of the record in the file
    Line line(Field field, long record) {
        return new Line(record + field.offset(), file.asSlice(record + field.offset(), field.size()), field.name(),
                meaning(field, record));
    }

    /// {@return bytes that the file has, by rows, which are made anew in each iteration}
    ///
    /// @param name the name of each row
    Iterable<Line> rows(String name, long offset, long length) {
        return () -> LongStream.iterate(offset, at -> at < offset + length, at -> at + ROW).mapToObj(at -> {
            MemorySegment row = file.asSlice(at, Math.min(ROW, offset + length - at));
            return new Line(at, row, name, ascii(row));
        }).iterator();
    }

    private String meaning(Field field, long record) {
        String name = field.name();
        MemorySegment bytes = file.asSlice(record + field.offset(), field.size());
        if (name.equals("reserved")) {
            return LittleEndian.isZero(bytes, 0, bytes.byteSize()) ? "zero" : "not zero";
        } else if (field.equals(CommitFields.MESSAGE)) {
            long length = CommitFields.MESSAGE_LENGTH.get(file, record);
            return FormatException.quote(new String(bytes.asSlice(0, Math.min(length, bytes.byteSize()))
                    .toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
        } else if (name.equals("signature") || field.equals(SectionFields.SECTION)) {
            return ascii(bytes);
        } else if (field.size() == ROW) {
            return name.endsWith("uuid") ? field.uuid(file, record).toString() : field.digest(file, record).toString();
        } else if (name.contains("CRC32C") || name.endsWith("features")) {
            return "0x%08x".formatted(field.get(file, record));
        } else if (field.equals(CommitFields.TIME) && field.get(file, record) != 0) {
            return Instant.ofEpochMilli(field.get(file, record)).toString();
        } else if (field.equals(HeaderFields.CHUNK_LOG2)) {
            long log2 = field.get(file, record);
            return "%s%s".formatted(log2, log2 < Integer.SIZE ? ", chunks of " + (1L << log2) + " bytes" : "");
        }
        // Strides may be negative.
        return field.equals(DimFields.DIM)
                ? Long.toString(field.get(file, record))
                : Long.toUnsignedString(field.get(file, record));
    }

    /// {@return bytes as ASCII, with a dot for each byte that is not a printable character}
    static String ascii(MemorySegment bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes.toArray(ValueLayout.JAVA_BYTE)) {
            text.append(each >= ' ' && each < 0x7f ? (char) each : '.');
        }
        return text.toString();
    }
}
