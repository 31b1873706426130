package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.Records.ManifestFields;
import io.undercroft.format.internal.index.Records.ShardFields;
import io.undercroft.format.internal.index.StrictUtf8;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/// A group of `.croft` files: the parts of a model that is too large for one file, or one file for each rank. It is
/// stored next to them in a separate file, `*.croftset`, and renaming that file commits them all.
///
/// @param uuid the id of the set
/// @param shards the files, in the order in which they were saved
/// @param index the tensors and where their parts are, if the manifest has that
public record SetManifest(UUID uuid, List<Shard> shards, Optional<SetIndex> index) {
    /// The size of the head in bytes.
    static final int HEAD_BYTES = ManifestFields.RECORD.size();
    /// The size of the record of a shard in bytes.
    static final int SHARD_BYTES = ShardFields.RECORD.size();

    private static final Remedy DAMAGED = Remedy.of("The set is damaged: fetch this file again or restore a copy");
    private static final long SIGNATURE = 0x0A1A_0A0D_5352_4389L;
    private static final int CRC_BYTES = Integer.BYTES;
    private static final UUID NO_ID = new UUID(0, 0);

    /// Refuses what readers would refuse.
    ///
    /// @throws IllegalArgumentException if there are too many shards, or a path is malformed, too long or there twice
    public SetManifest {
        shards = List.copyOf(shards);
        Set<String> paths = new HashSet<>();
        for (Shard shard : shards) {
            if (!BaseRecord.isPath(shard.path()) || !paths.add(shard.path())
                    || StrictUtf8.encode(shard.path()).length > Limits.DEFAULT.maxNameBytes()) {
                throw new IllegalArgumentException(
                        "a shard cannot be at " + FormatException.quote(shard.path()) + ", or another one does");
            }
        }
        if (shards.size() > Limits.DEFAULT.maxShards()) {
            throw new IllegalArgumentException("a set of " + shards.size() + " shards");
        }
    }

    /// {@return a set with canonical bytes: its id is derived from its contents}
    ///
    /// @param shards its files
    /// @param index the tensors and where their parts are, or nothing
    /// @throws IllegalArgumentException if readers would refuse them
    public static SetManifest canonical(List<Shard> shards, Optional<SetIndex> index) {
        MemorySegment unnamed = MemorySegment.ofArray(new SetManifest(NO_ID, shards, index).unsummed());
        return new SetManifest(FileLayout.canonicalUuid(Digest128.of(unnamed)), shards, index);
    }

    /// {@return the bytes of the manifest, canonical but for the id}
    public byte[] encode() {
        byte[] bytes = unsummed();
        MemorySegment manifest = MemorySegment.ofArray(bytes);
        LittleEndian.putInt(manifest, bytes.length - CRC_BYTES, checksum(manifest));
        return bytes;
    }

    private static int checksum(MemorySegment manifest) {
        return Checksums.crc32c(manifest.asSlice(0, manifest.byteSize() - CRC_BYTES));
    }

    /// Returns the bytes of the manifest with a checksum of zero.
    private byte[] unsummed() {
        List<byte[]> paths = shards.stream().map(shard -> StrictUtf8.encode(shard.path())).toList();
        int text = paths.stream().mapToInt(path -> path.length).sum();
        int texts = HEAD_BYTES + SHARD_BYTES * shards.size();
        byte[] slices = index.map(SetIndex::encode).orElse(new byte[0]);
        long length = (long) texts + text + slices.length + CRC_BYTES;
        if (length > Limits.DEFAULT.maxManifestBytes()) {
            throw new IllegalArgumentException("the manifest would have " + length + " bytes; readers accept up to "
                    + Limits.DEFAULT.maxManifestBytes());
        }
        byte[] bytes = new byte[(int) length];
        MemorySegment manifest = MemorySegment.ofArray(bytes);
        ManifestFields.SIGNATURE.put(manifest, 0, SIGNATURE);
        ManifestFields.MAJOR.put(manifest, 0, Header.MAJOR);
        ManifestFields.MINOR.put(manifest, 0, Header.MINOR);
        ManifestFields.SHARDS.put(manifest, 0, shards.size());
        ManifestFields.UUID.put(manifest, 0, uuid);
        ManifestFields.RECORD_SIZE.put(manifest, 0, SHARD_BYTES);
        ManifestFields.TEXT_LENGTH.put(manifest, 0, text);
        ManifestFields.LENGTH.put(manifest, 0, bytes.length);
        ManifestFields.INDEX_LENGTH.put(manifest, 0, slices.length);
        System.arraycopy(slices, 0, bytes, texts + text, slices.length);
        int path = 0;
        for (int number = 0; number < shards.size(); number++) {
            long at = HEAD_BYTES + (long) SHARD_BYTES * number;
            Shard shard = shards.get(number);
            byte[] utf8 = paths.get(number);
            ShardFields.UUID.put(manifest, at, shard.uuid());
            ShardFields.DIGEST.put(manifest, at, shard.digest());
            ShardFields.SEQUENCE.put(manifest, at, shard.sequence());
            ShardFields.LENGTH.put(manifest, at, shard.length());
            ShardFields.PATH.put(manifest, at, path);
            ShardFields.PATH_LENGTH.put(manifest, at, utf8.length);
            System.arraycopy(utf8, 0, bytes, texts + path, utf8.length);
            path += utf8.length;
        }
        return bytes;
    }

    /// Recognises a manifest by its first bytes.
    ///
    /// @param start at least 8 bytes, or the whole of a shorter file
    /// @return whether it begins as the manifest of a set does
    public static boolean isSignature(MemorySegment start) {
        return start.byteSize() >= Long.BYTES && ManifestFields.SIGNATURE.get(start, 0) == SIGNATURE;
    }

    /// Reads and checks a manifest.
    ///
    /// @param source all its bytes
    /// @param limits the limits that the file must not exceed
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
        if (LittleEndian.i32(bytes, bytes.byteSize() - CRC_BYTES) != checksum(bytes)) {
            throw Rule.V14_CHECKSUM.broken("the checksum of the set does not match", 0, DAMAGED);
        }
        long slices = ManifestFields.INDEX_LENGTH.u64(bytes, 0, 0);
        long start = bytes.byteSize() - CRC_BYTES - slices;
        return new SetManifest(ManifestFields.UUID.uuid(bytes, 0), readShards(bytes, limits), slices == 0
                ? Optional.empty()
                : Optional.of(SetIndex.read(bytes.asSlice(start, slices), limits, start)));
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
            throw Rule.V11_TRUNCATED.broken("the set ends in its head", size, DAMAGED);
        }
        long major = ManifestFields.MAJOR.get(head, 0);
        long features = ManifestFields.REQUIRED.get(head, 0);
        if (major != Header.MAJOR || features != 0) {
            throw Rule.V13_UNSUPPORTED.broken("the set has major version " + major + " and needs features "
                    + Long.toHexString(features) + " (hex)", ManifestFields.MAJOR.offset());
        }
        long length = ManifestFields.LENGTH.u64(head, 0, 0);
        if (size < length) {
            throw Rule.V11_TRUNCATED.broken("the set has " + size + " bytes, not " + length, size, DAMAGED);
        }
        long count = ManifestFields.SHARDS.get(head, 0);
        if (size > limits.maxManifestBytes() || count > limits.maxShards()) {
            throw Rule.V8_LIMIT.broken("the set has " + size + " bytes and " + count + " shards",
                    ManifestFields.SHARDS.offset());
        }
        long recordSize = ManifestFields.RECORD_SIZE.get(head, 0);
        long fixed = HEAD_BYTES + count * recordSize + ManifestFields.TEXT_LENGTH.get(head, 0) + CRC_BYTES;
        if (recordSize < SHARD_BYTES || size != length || fixed > length
                || ManifestFields.INDEX_LENGTH.u64(head, 0, 0) != length - fixed) {
            throw Rule.V15_STRUCTURE.broken("the set of " + size + " bytes contradicts itself about its length",
                    ManifestFields.RECORD_SIZE.offset());
        }
    }

    private static List<Shard> readShards(MemorySegment bytes, Limits limits) {
        List<Shard> shards = new ArrayList<>();
        Set<String> paths = new HashSet<>();
        long recordSize = ManifestFields.RECORD_SIZE.get(bytes, 0);
        long text = HEAD_BYTES + ManifestFields.SHARDS.get(bytes, 0) * recordSize;
        for (long at = HEAD_BYTES; at < text; at += recordSize) {
            ShardFields.RESERVED.requireZero(bytes, at, 0, "a shard");
            String path = path(bytes, at, text, limits);
            if (!BaseRecord.isPath(path) || !paths.add(path)) {
                throw Rule.V6_NAME.broken(
                        "the path " + FormatException.quote(path) + " does not lead down, or comes twice",
                        at + ShardFields.PATH.offset());
            }
            shards.add(new Shard(ShardFields.UUID.uuid(bytes, at), ShardFields.DIGEST.digest(bytes, at),
                    ShardFields.SEQUENCE.u64(bytes, at, 0), ShardFields.LENGTH.u64(bytes, at, 0), path));
        }
        return shards;
    }

    private static String path(MemorySegment bytes, long at, long text, Limits limits) {
        long from = ShardFields.PATH.get(bytes, at);
        long length = ShardFields.PATH_LENGTH.get(bytes, at);
        if (length == 0 || length > limits.maxNameBytes()) {
            throw Rule.V8_LIMIT.broken("a path of " + length + " bytes, the limit is " + limits.maxNameBytes(),
                    at + ShardFields.PATH_LENGTH.offset());
        }
        if (from + length > ManifestFields.TEXT_LENGTH.get(bytes, 0)) {
            throw Rule.V10_INDEX.broken("a path outside the text", at + ShardFields.PATH.offset());
        }
        if (!StrictUtf8.isValid(bytes, text + from, length)) {
            throw Rule.V6_NAME.broken("a path that is not UTF-8", text + from);
        }
        return StrictUtf8.decode(bytes, text + from, length);
    }
}
