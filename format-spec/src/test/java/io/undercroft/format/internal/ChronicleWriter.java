package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.FieldWriter;
import java.util.UUID;
import net.openhft.chronicle.bytes.Bytes;

/// Writes fields with Chronicle Bytes, which write in the byte order of the host. `HexDumpBytes` keep the names too, so
/// the annotated dump of the specification comes from the code that writes files, and from a second codec.
record ChronicleWriter(Bytes<?> out) implements FieldWriter {
    /// `HexDumpBytes` joins what does not fit its line to the field after it.
    private static final int DUMP_LINE = 16;

    @Override
    public void u8(String name, int value) {
        out.writeHexDumpDescription(name).writeUnsignedByte(value);
    }

    @Override
    public void u16(String name, int value) {
        out.writeHexDumpDescription(name).writeUnsignedShort(value);
    }

    @Override
    public void u32(String name, int value) {
        out.writeHexDumpDescription(name).writeInt(value);
    }

    @Override
    public void u64(String name, long value) {
        out.writeHexDumpDescription(name).writeLong(value);
    }

    @Override
    public void digest(String name, Digest128 digest) {
        out.writeHexDumpDescription(name).writeLong(digest.low()).writeLong(digest.high());
    }

    @Override
    public void uuid(String name, UUID uuid) {
        out.writeHexDumpDescription(name);
        out.writeLong(Long.reverseBytes(uuid.getMostSignificantBits()));
        out.writeLong(Long.reverseBytes(uuid.getLeastSignificantBits()));
    }

    /// In a dump, each line of the bytes gets the name.
    @Override
    public void bytes(String name, byte[] bytes) {
        int step = out.retainedHexDumpDescription() ? DUMP_LINE : Math.max(1, bytes.length);
        for (int at = 0; at < bytes.length; at += step) {
            out.writeHexDumpDescription(name).write(bytes, at, Math.min(step, bytes.length - at));
        }
    }

    @Override
    public void zeros(String name, int count) {
        bytes(name, new byte[count]);
    }
}
