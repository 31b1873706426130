package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Layout;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.UUID;
import java.util.function.ObjIntConsumer;
import net.openhft.chronicle.bytes.Bytes;

/// Writes the header and commit records with Chronicle Bytes.
///
/// Each field has a description, which ordinary `Bytes` ignore and `HexDumpBytes` print: so the annotated dump of the
/// specification comes from the code that writes files. Chronicle writes in the byte order of the host, which is
/// little-endian wherever Chronicle runs.
public final class MetadataEncoder {
    private static final byte[] SIGNATURE = {(byte) 0x89, 'C', 'R', 'F', '\r', '\n', 0x1A, '\n'};
    /// `HexDumpBytes` joins what does not fit its line to the field after it.
    private static final int DUMP_LINE = 16;

    private MetadataEncoder() {}

    /// {@return the bytes of a header}
    public static byte[] bytes(Header header) {
        return bytes(Layout.HEADER_BYTES, (out, crc) -> write(out, header, crc));
    }

    /// {@return the bytes of a commit record}
    public static byte[] bytes(CommitRecord commit) {
        return bytes(Layout.COMMIT_BYTES, (out, crc) -> write(out, commit, crc));
    }

    /// Both end in their own checksum, so they are written twice: to sum them, and to keep them.
    private static byte[] bytes(int length, ObjIntConsumer<Bytes<?>> writer) {
        Bytes<?> out = Bytes.allocateElasticOnHeap(length);
        writer.accept(out, 0);
        int crc = Digests.crc32c(MemorySegment.ofArray(out.toByteArray()).asSlice(0, length - Integer.BYTES));
        out.clear();
        writer.accept(out, crc);
        return out.toByteArray();
    }

    /// Writes a header.
    public static void write(Bytes<?> out, Header header, int crc) {
        out.writeHexDumpDescription("signature").write(SIGNATURE);
        out.writeHexDumpDescription("major version").writeUnsignedShort(Header.MAJOR);
        out.writeHexDumpDescription("minor version").writeUnsignedShort(header.minor());
        out.writeHexDumpDescription("header length").writeInt(Layout.HEADER_BYTES);
        writeUuid(out, "file uuid", header.uuid());
        out.writeHexDumpDescription("required features").writeLong(header.requiredFeatures());
        out.writeHexDumpDescription("read-only-compatible features").writeLong(header.readOnlyFeatures());
        out.writeHexDumpDescription("optional features").writeLong(header.optionalFeatures());
        out.writeHexDumpDescription("chunk size, log2").writeUnsignedByte(header.chunkLog2());
        out.writeHexDumpDescription("reserved").write(new byte[7]);
        out.writeHexDumpDescription("data start").writeLong(header.dataStart());
        out.writeHexDumpDescription("commit slots").writeLong(header.slots());
        finish(out, Layout.HEADER_BYTES, Header.RECORD_BYTES, crc);
    }

    /// Writes a commit record.
    public static void write(Bytes<?> out, CommitRecord commit, int crc) {
        out.writeHexDumpDescription("signature").write(new byte[]{'C', 'M', 'I', 'T'});
        out.writeHexDumpDescription("record length").writeInt(commit.recordLength());
        out.writeHexDumpDescription("sequence").writeLong(commit.sequence());
        out.writeHexDumpDescription("index offset").writeLong(commit.indexOffset());
        out.writeHexDumpDescription("index length").writeLong(commit.indexLength());
        writeDigest(out, "directory digest", commit.directoryDigest());
        writeUuid(out, "file uuid", commit.uuid());
        out.writeHexDumpDescription("committed length").writeLong(commit.committedLength());
        out.writeHexDumpDescription("previous record").writeLong(commit.previousRecord());
        out.writeHexDumpDescription("time in ms").writeLong(commit.timeMillis());
        out.writeHexDumpDescription("required features").writeLong(commit.requiredFeatures());
        writeDigest(out, "root digest", commit.rootDigest());
        if (!commit.message().isEmpty()) {
            writeMessage(out, Utf8.encode(commit.message()));
        }
        finish(out, Layout.COMMIT_BYTES, commit.recordLength(), crc);
    }

    private static void writeMessage(Bytes<?> out, byte[] utf8) {
        out.writeHexDumpDescription("message length").writeInt(utf8.length);
        writeRun(out, "message", Arrays.copyOf(utf8, CommitRecord.MAX_MESSAGE_BYTES));
    }

    private static void finish(Bytes<?> out, int length, int written, int crc) {
        writeRun(out, "reserved", new byte[length - Integer.BYTES - written]);
        out.writeHexDumpDescription("CRC32C of the bytes before").writeInt(crc);
    }

    /// Writes bytes of any number; in a dump, each line of them gets the description.
    public static void writeRun(Bytes<?> out, String description, byte[] bytes) {
        int step = out.retainedHexDumpDescription() ? DUMP_LINE : Math.max(1, bytes.length);
        for (int at = 0; at < bytes.length; at += step) {
            out.writeHexDumpDescription(description).write(bytes, at, Math.min(step, bytes.length - at));
        }
    }

    /// Writes an id, its bytes in the order of its text.
    public static void writeUuid(Bytes<?> out, String description, UUID uuid) {
        out.writeHexDumpDescription(description);
        out.writeLong(Long.reverseBytes(uuid.getMostSignificantBits()));
        out.writeLong(Long.reverseBytes(uuid.getLeastSignificantBits()));
    }

    /// Writes a digest, its low half first.
    public static void writeDigest(Bytes<?> out, String description, Digest128 digest) {
        out.writeHexDumpDescription(description).writeLong(digest.low()).writeLong(digest.high());
    }
}
