package io.undercroft.format.internal.index;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Layout;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.ObjIntConsumer;

/// Writes the header and commit records. The annotated dump of the specification comes from the same code.
public final class MetadataEncoder {
    private static final byte[] SIGNATURE = {(byte) 0x89, 'C', 'R', 'F', '\r', '\n', 0x1A, '\n'};

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
    private static byte[] bytes(int length, ObjIntConsumer<FieldWriter> writer) {
        byte[] bytes = new byte[length];
        MemorySegment segment = MemorySegment.ofArray(bytes);
        writer.accept(new SegmentWriter(segment), 0);
        int crc = Digests.crc32c(segment.asSlice(0, length - Integer.BYTES));
        writer.accept(new SegmentWriter(segment), crc);
        return bytes;
    }

    /// Writes a header.
    public static void write(FieldWriter out, Header header, int crc) {
        out.bytes("signature", SIGNATURE);
        out.u16("major version", Header.MAJOR);
        out.u16("minor version", header.minor());
        out.u32("header length", Layout.HEADER_BYTES);
        out.uuid("file uuid", header.uuid());
        out.u64("required features", header.requiredFeatures());
        out.u64("read-only-compatible features", header.readOnlyFeatures());
        out.u64("optional features", header.optionalFeatures());
        out.u8("chunk size, log2", header.chunkLog2());
        out.zeros("reserved", 7);
        out.u64("data start", header.dataStart());
        out.u64("commit slots", header.slots());
        finish(out, Layout.HEADER_BYTES, Header.RECORD_BYTES, crc);
    }

    /// Writes a commit record.
    public static void write(FieldWriter out, CommitRecord commit, int crc) {
        out.bytes("signature", new byte[]{'C', 'M', 'I', 'T'});
        out.u32("record length", commit.recordLength());
        out.u64("sequence", commit.sequence());
        out.u64("index offset", commit.indexOffset());
        out.u64("index length", commit.indexLength());
        out.digest("directory digest", commit.directoryDigest());
        out.uuid("file uuid", commit.uuid());
        out.u64("committed length", commit.committedLength());
        out.u64("previous record", commit.previousRecord());
        out.u64("time in ms", commit.timeMillis());
        out.u64("required features", commit.requiredFeatures());
        out.digest("root digest", commit.rootDigest());
        if (!commit.message().isEmpty()) {
            writeMessage(out, Utf8.encode(commit.message()));
        }
        finish(out, Layout.COMMIT_BYTES, commit.recordLength(), crc);
    }

    private static void writeMessage(FieldWriter out, byte[] utf8) {
        out.u32("message length", utf8.length);
        out.bytes("message", Arrays.copyOf(utf8, CommitRecord.MAX_MESSAGE_BYTES));
    }

    private static void finish(FieldWriter out, int length, int written, int crc) {
        out.zeros("reserved", length - Integer.BYTES - written);
        out.u32("CRC32C of the bytes before", crc);
    }
}
