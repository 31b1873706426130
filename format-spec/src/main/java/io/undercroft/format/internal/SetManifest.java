package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Fields;
import io.undercroft.format.internal.index.ManifestEncoder;
import io.undercroft.format.internal.index.PathHint;
import io.undercroft.format.internal.index.Utf8;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/// A number of `.croft` files that belong together: the parts of a model that is too big for one file, or a file for
/// each rank. It is next to them in a file of its own, `*.croftset`, whose renaming commits them all.
///
/// @param uuid the id of the set
/// @param shards the files, in the order that whoever saved them gave them
public record SetManifest(UUID uuid, List<Shard> shards) {
    /// The size of the head in bytes.
    public static final int HEAD_BYTES = 64;
    /// The size of the record of a shard in bytes.
    public static final int SHARD_BYTES = 80;

    private static final long SIGNATURE = 0x0A1A_0A0D_5352_4389L;
    private static final UUID NO_ID = new UUID(0, 0);

    /// Checks what readers would refuse.
    ///
    /// @throws IllegalArgumentException if there are too many shards, or a path is malformed, too long or there twice
    public SetManifest {
        shards = List.copyOf(shards);
        Set<String> paths = new HashSet<>();
        for (Shard shard : shards) {
            if (!PathHint.isValid(shard.path()) || !paths.add(shard.path())
                    || Utf8.encode(shard.path()).length > Limits.DEFAULT.maxNameBytes()) {
                throw new IllegalArgumentException(
                        "a shard cannot be at " + FormatException.quote(shard.path()) + ", or another one does");
            }
        }
        if (shards.size() > Limits.DEFAULT.maxShards()) {
            throw new IllegalArgumentException("a set of " + shards.size() + " shards");
        }
    }

    /// {@return a set with canonical bytes: its id is made of what it says}
    ///
    /// @param shards its files
    /// @throws IllegalArgumentException if readers would refuse them
    public static SetManifest canonical(List<Shard> shards) {
        byte[] unnamed = ManifestEncoder.encode(new SetManifest(NO_ID, shards), 0);
        return new SetManifest(Layout.canonicalUuid(Digests.xxh3(MemorySegment.ofArray(unnamed))), shards);
    }

    /// {@return the bytes of the manifest, canonical but for the id}
    public byte[] encode() {
        return ManifestEncoder.encode(this);
    }

    /// Recognises a manifest by its first bytes.
    ///
    /// @param start at least 8 bytes, or the whole of a shorter file
    /// @return whether it begins as the manifest of a set does
    public static boolean isSignature(MemorySegment start) {
        return start.byteSize() >= Long.BYTES && Fields.i64(start, 0) == SIGNATURE;
    }

    /// Reads and checks a manifest.
    ///
    /// @param source all its bytes
    /// @param limits how much to believe
    /// @return the set
    /// @throws FormatException if it is not one that this version can read
    /// @throws IOException if reading fails
    public static SetManifest read(ByteSource source, Limits limits) throws IOException {
        MemorySegment head = read(source, Math.min(HEAD_BYTES, source.size()));
        if (!isSignature(head)) {
            throw Rule.V12_SIGNATURE.broken("the file does not begin with the signature of a set", 0);
        }
        checkHead(head, source.size(), limits);
        MemorySegment bytes = read(source, source.size());
        if (Fields.i32(bytes, bytes.byteSize() - Integer.BYTES) != Digests
                .crc32c(bytes.asSlice(0, bytes.byteSize() - Integer.BYTES))) {
            throw Rule.V14_CHECKSUM.broken("the checksum of the set does not match", 0);
        }
        Fields.reserved(bytes, 56, HEAD_BYTES, 0, "the set");
        return new SetManifest(Fields.uuid(bytes, 16), readShards(bytes, limits));
    }

    private static MemorySegment read(ByteSource source, long length) throws IOException {
        MemorySegment bytes = Snapshot.allocate(length);
        try {
            source.read(0, bytes);
        } catch (EOFException e) {
            throw Snapshot.truncated(0, e);
        }
        return bytes;
    }

    private static void checkHead(MemorySegment head, long size, Limits limits) {
        if (head.byteSize() < HEAD_BYTES) {
            throw Rule.V11_TRUNCATED.broken("the set ends in its head", size);
        }
        if (Fields.u16(head, 8) != Header.MAJOR || Fields.i64(head, 48) != 0) {
            throw Rule.V13_UNSUPPORTED
                    .broken("the set has major version " + Fields.u16(head, 8) + " and needs features "
                            + Long.toHexString(Fields.i64(head, 48)) + " (hex)", 8);
        }
        long length = Fields.u64(head, 40, 0);
        if (size < length) {
            throw Rule.V11_TRUNCATED.broken("the set has " + size + " bytes, not " + length, size);
        }
        if (size > limits.maxManifestBytes() || Fields.u32(head, 12) > limits.maxShards()) {
            throw Rule.V8_LIMIT.broken("the set has " + size + " bytes and " + Fields.u32(head, 12) + " shards", 12);
        }
        long records = Fields.u32(head, 12) * Fields.u32(head, 32);
        if (Fields.u32(head, 32) < SHARD_BYTES || size != length
                || length != HEAD_BYTES + records + Fields.u32(head, 36) + Integer.BYTES) {
            throw Rule.V15_STRUCTURE.broken("the set of " + size + " bytes contradicts itself about its length", 32);
        }
    }

    private static List<Shard> readShards(MemorySegment bytes, Limits limits) {
        List<Shard> shards = new ArrayList<>();
        Set<String> paths = new HashSet<>();
        long recordSize = Fields.u32(bytes, 32);
        long text = HEAD_BYTES + Fields.u32(bytes, 12) * recordSize;
        for (long at = HEAD_BYTES; at < text; at += recordSize) {
            Fields.reserved(bytes, at + 56, at + SHARD_BYTES, 0, "a shard");
            String path = path(bytes, at, text, limits);
            if (!PathHint.isValid(path) || !paths.add(path)) {
                throw Rule.V6_NAME.broken(
                        "the path " + FormatException.quote(path) + " does not lead down, or comes twice", at + 48);
            }
            shards.add(new Shard(Fields.uuid(bytes, at), Fields.digest(bytes, at + 16), Fields.u64(bytes, at + 32, 0),
                    Fields.u64(bytes, at + 40, 0), path));
        }
        return shards;
    }

    private static String path(MemorySegment bytes, long at, long text, Limits limits) {
        long from = Fields.u32(bytes, at + 48);
        long length = Fields.u32(bytes, at + 52);
        if (length == 0 || length > limits.maxNameBytes()) {
            throw Rule.V8_LIMIT.broken("a path of " + length + " bytes, the limit is " + limits.maxNameBytes(),
                    at + 52);
        }
        if (from + length > Fields.u32(bytes, 36)) {
            throw Rule.V10_INDEX.broken("a path outside the text", at + 48);
        }
        if (!Utf8.isValid(bytes, text + from, length)) {
            throw Rule.V6_NAME.broken("a path that is not UTF-8", text + from);
        }
        return Utf8.decode(bytes, text + from, length);
    }

    /// Opens all files, each at its snapshot.
    ///
    /// @param files where they are
    /// @param limits how much to believe of each
    /// @return the snapshots, in the order of the shards
    /// @throws FormatException by rule V21 if a file is missing, is another one, or does not have its snapshot; by any
    ///     other if a file itself is at fault. It names the file.
    /// @throws IOException if reading fails
    public List<Snapshot> open(ShardFiles files, Limits limits) throws IOException {
        List<Snapshot> snapshots = new ArrayList<>();
        for (Shard shard : shards) {
            try {
                snapshots.add(shard.open(files.open(shard.path()), limits));
            } catch (FormatException e) {
                throw e.withFile(shard.path());
            }
        }
        return List.copyOf(snapshots);
    }
}
