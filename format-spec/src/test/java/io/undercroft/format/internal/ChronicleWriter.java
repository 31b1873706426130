package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.RecordLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import net.openhft.chronicle.bytes.Bytes;

/// Writes fields with Chronicle Bytes, which write in the byte order of the host, after they were read as readers do:
/// a second codec. `HexDumpBytes` keep the names too.
record ChronicleWriter(Bytes<?> out) {
    /// `HexDumpBytes` joins what does not fit its line to the field after it.
    private static final int DUMP_LINE = 16;

    /// Writes a record.
    ///
    /// @param bytes what it is in
    /// @param at where it starts there
    void record(RecordLayout record, MemorySegment bytes, long at) {
        record.fields().forEach(field -> field(field.name(), field, bytes, at));
    }

    /// Writes a field.
    ///
    /// @param name what to call it
    /// @param bytes what its record is in
    /// @param at where the record starts there
    void field(String name, Field field, MemorySegment bytes, long at) {
        long value = field.size() <= Long.BYTES ? field.get(bytes, at) : 0;
        switch (field.name().equals("reserved") ? 0 : field.size()) {
            case Byte.BYTES -> out.writeHexDumpDescription(name).writeUnsignedByte((int) value);
            case Short.BYTES -> out.writeHexDumpDescription(name).writeUnsignedShort((int) value);
            case Integer.BYTES -> out.writeHexDumpDescription(name).writeInt((int) value);
            case Long.BYTES -> out.writeHexDumpDescription(name).writeLong(value);
            default -> run(name, bytes.asSlice(at + field.offset(), field.size()));
        }
    }

    /// Writes bytes as they are. In a dump, each line of them gets the name.
    void run(String name, MemorySegment run) {
        byte[] bytes = run.toArray(ValueLayout.JAVA_BYTE);
        int step = out.retainedHexDumpDescription() ? DUMP_LINE : Math.max(1, bytes.length);
        for (int at = 0; at < bytes.length; at += step) {
            out.writeHexDumpDescription(name).write(bytes, at, Math.min(step, bytes.length - at));
        }
    }
}
