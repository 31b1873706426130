package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import java.lang.foreign.MemorySegment;
import net.openhft.chronicle.bytes.Bytes;

/// Writes the manifest of a set with Chronicle Bytes, as [MetadataEncoder] writes headers.
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
        Bytes<?> out = Bytes.allocateElasticOnHeap(SetManifest.HEAD_BYTES);
        write(out, set, crc);
        return out.toByteArray();
    }

    /// Writes a manifest.
    public static void write(Bytes<?> out, SetManifest set, int crc) {
        int text = set.shards().stream().mapToInt(shard -> Utf8.encode(shard.path()).length).sum();
        writeHead(out, set, text);
        int end = 0;
        for (Shard shard : set.shards()) {
            int length = Utf8.encode(shard.path()).length;
            writeShard(out, shard, end, length);
            end += length;
        }
        for (Shard shard : set.shards()) {
            MetadataEncoder.writeRun(out, "text", Utf8.encode(shard.path()));
        }
        out.writeHexDumpDescription("CRC32C of all before").writeInt(crc);
    }

    private static void writeHead(Bytes<?> out, SetManifest set, int text) {
        long length = SetManifest.HEAD_BYTES + (long) set.shards().size() * SetManifest.SHARD_BYTES + text
                + Integer.BYTES;
        out.writeHexDumpDescription("signature").write(SIGNATURE);
        out.writeHexDumpDescription("major version").writeUnsignedShort(Header.MAJOR);
        out.writeHexDumpDescription("minor version").writeUnsignedShort(Header.MINOR);
        out.writeHexDumpDescription("shard count").writeInt(set.shards().size());
        MetadataEncoder.writeUuid(out, "set uuid", set.uuid());
        out.writeHexDumpDescription("record size").writeInt(SetManifest.SHARD_BYTES);
        out.writeHexDumpDescription("text length").writeInt(text);
        out.writeHexDumpDescription("manifest length").writeLong(length);
        out.writeHexDumpDescription("required features").writeLong(0);
        out.writeHexDumpDescription("reserved").writeLong(0);
    }

    private static void writeShard(Bytes<?> out, Shard shard, int pathOffset, int pathLength) {
        MetadataEncoder.writeUuid(out, "shard uuid", shard.uuid());
        MetadataEncoder.writeDigest(out, "shard digest", shard.digest());
        out.writeHexDumpDescription("shard sequence").writeLong(shard.sequence());
        out.writeHexDumpDescription("shard length").writeLong(shard.length());
        out.writeHexDumpDescription("path offset").writeInt(pathOffset);
        out.writeHexDumpDescription("path length").writeInt(pathLength);
        MetadataEncoder.writeRun(out, "reserved", new byte[24]);
    }
}
