package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import java.lang.foreign.MemorySegment;

/// Writes the manifest of a set.
public final class ManifestEncoder {
    private static final byte[] SIGNATURE = {(byte) 0x89, 'C', 'R', 'S', '\r', '\n', 0x1A, '\n'};

    private ManifestEncoder() {}

    /// {@return the bytes of a manifest}
    public static byte[] encode(SetManifest set) {
        byte[] unsummed = encode(set, 0);
        return encode(set, Digests.crc32c(MemorySegment.ofArray(unsummed).asSlice(0, unsummed.length - Integer.BYTES)));
    }

    /// {@return the bytes of a manifest with a checksum that is given}
    public static byte[] encode(SetManifest set, int crc) {
        byte[] bytes = new byte[Math.toIntExact(length(set, textLength(set)))];
        write(new SegmentWriter(MemorySegment.ofArray(bytes)), set, crc);
        return bytes;
    }

    /// Writes a manifest.
    public static void write(FieldWriter out, SetManifest set, int crc) {
        writeHead(out, set, textLength(set));
        int end = 0;
        for (Shard shard : set.shards()) {
            int length = Utf8.encode(shard.path()).length;
            writeShard(out, shard, end, length);
            end += length;
        }
        for (Shard shard : set.shards()) {
            out.bytes("text", Utf8.encode(shard.path()));
        }
        out.u32("CRC32C of all before", crc);
    }

    private static int textLength(SetManifest set) {
        return set.shards().stream().mapToInt(shard -> Utf8.encode(shard.path()).length).sum();
    }

    private static long length(SetManifest set, int text) {
        return SetManifest.HEAD_BYTES + (long) set.shards().size() * SetManifest.SHARD_BYTES + text + Integer.BYTES;
    }

    private static void writeHead(FieldWriter out, SetManifest set, int text) {
        out.bytes("signature", SIGNATURE);
        out.u16("major version", Header.MAJOR);
        out.u16("minor version", Header.MINOR);
        out.u32("shard count", set.shards().size());
        out.uuid("set uuid", set.uuid());
        out.u32("record size", SetManifest.SHARD_BYTES);
        out.u32("text length", text);
        out.u64("manifest length", length(set, text));
        out.u64("required features", 0);
        out.u64("reserved", 0);
    }

    private static void writeShard(FieldWriter out, Shard shard, int pathOffset, int pathLength) {
        out.uuid("shard uuid", shard.uuid());
        out.digest("shard digest", shard.digest());
        out.u64("shard sequence", shard.sequence());
        out.u64("shard length", shard.length());
        out.u32("path offset", pathOffset);
        out.u32("path length", pathLength);
        out.zeros("reserved", 24);
    }
}
