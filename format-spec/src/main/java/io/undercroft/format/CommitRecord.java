package io.undercroft.format;

import io.undercroft.format.internal.Fields;
import io.undercroft.format.internal.Index;
import io.undercroft.format.internal.MetadataEncoder;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/// A commit slot's page: it makes an index the current one.
///
/// @param sequence the commit's number, from 1; its parity says in which slot the record stands
/// @param indexOffset where the index starts in the file, in bytes, a multiple of 4096
/// @param indexLength the size of the index in bytes
/// @param directoryDigest the digest of the index's directory, which holds the checksums of its sections
/// @param uuid the file's id, as in the header
/// @param committedLength how many bytes of the file belong to this commit and those before
/// @param previousIndexOffset where the index of the commit before starts, or 0
/// @param timeMillis when it was made, in milliseconds since 1970 UTC; 0 where canonical bytes are wanted
/// @param requiredFeatures bits of features without which this commit cannot be read
/// @param rootDigest the digest of the whole index, and so of all that the file holds
public record CommitRecord(long sequence, long indexOffset, long indexLength, Digest128 directoryDigest, UUID uuid,
        long committedLength, long previousIndexOffset, long timeMillis, long requiredFeatures, Digest128 rootDigest) {
    private static final int SIGNATURE = 0x5449_4D43;
    /// How many bytes of the page this version gives a meaning to.
    public static final int RECORD_BYTES = 112;
    private static final int CRC_OFFSET = Layout.PAGE - 4;

    /// The record of the only commit of a new file, with nothing in it that differs from one save to the next.
    ///
    /// @param index the index as it will stand in the file, see [IndexBuilder#build]
    /// @param indexOffset where it will stand, see [Layout#placeIndex]
    /// @return a record with sequence 1, no time, and the id that [Layout#canonicalUuid] makes of the root digest
    public static CommitRecord canonical(MemorySegment index, long indexOffset) {
        Digest128 root = Digests.xxh3(index);
        return new CommitRecord(1, indexOffset, index.byteSize(), Digests.xxh3(Index.directory(index)),
                Layout.canonicalUuid(root), Math.addExact(indexOffset, index.byteSize()), 0, 0, 0, root);
    }

    /// {@return the page of 4096 bytes, checksum included}
    public byte[] encode() {
        return MetadataEncoder.page(this);
    }

    /// {@return whether a slot's page was ever written}
    ///
    /// @param page the 4096 bytes of the slot
    static boolean isEmpty(MemorySegment page) {
        return Fields.isZero(page, 0, Layout.PAGE);
    }

    /// Reads and checks a slot.
    ///
    /// @param page the 4096 bytes of the slot
    /// @param offset where they stand in the file
    /// @return the record
    /// @throws FormatException if there is no commit record that this version can read; by rule V14 if the write of the
    ///     page was never finished
    public static CommitRecord decode(MemorySegment page, long offset) {
        if (Fields.i32(page, 0) != SIGNATURE
                || Fields.i32(page, CRC_OFFSET) != Digests.crc32c(page.asSlice(0, CRC_OFFSET))) {
            throw Rule.V14_CHECKSUM.broken("the checksum of the commit record does not match", offset);
        }
        if (Fields.u32(page, 4) < RECORD_BYTES || Fields.u32(page, 4) > CRC_OFFSET) {
            throw Rule.V15_STRUCTURE.broken("the commit record's length is " + Fields.u32(page, 4), offset + 4);
        }
        if (Fields.i64(page, 88) != 0) {
            throw Rule.V13_UNSUPPORTED.broken(
                    "the commit needs features " + Long.toHexString(Fields.i64(page, 88)) + " (hex), none is known",
                    offset + 88);
        }
        Fields.reserved(page, Fields.u32(page, 4), CRC_OFFSET, offset, "the commit record");
        return new CommitRecord(Fields.u64(page, 8, offset), Fields.u64(page, 16, offset), Fields.u64(page, 24, offset),
                Fields.digest(page, 32), Fields.uuid(page, 48), Fields.u64(page, 64, offset),
                Fields.u64(page, 72, offset), Fields.i64(page, 80), Fields.i64(page, 88), Fields.digest(page, 96));
    }

    /// Checks what does not need the index.
    ///
    /// @param header the file's header
    /// @param slot where the record was found
    /// @param size the size of the file in bytes
    /// @throws FormatException if the record is not a commit of this file
    void check(Header header, long slot, long size) {
        if (!uuid.equals(header.uuid())) {
            throw Rule.V17_COMMIT.broken("the commit record belongs to the file " + uuid + ", not to " + header.uuid(),
                    slot + 48);
        }
        if (sequence == 0 || Layout.slotOffset(sequence) != slot) {
            throw Rule.V17_COMMIT.broken("commit " + sequence + " stands in the wrong slot", slot + 8);
        }
        if (indexOffset % Layout.PAGE != 0 || indexOffset < header.dataStart() || indexOffset > committedLength
                || indexLength > committedLength - indexOffset) {
            throw Rule.V2_RANGE.broken("the index, " + indexLength + " bytes at " + indexOffset
                    + ", is not inside the data of " + committedLength + " bytes", slot + 16);
        }
        if (previousIndexOffset != 0 && (previousIndexOffset % Layout.PAGE != 0
                || previousIndexOffset < header.dataStart() || previousIndexOffset >= indexOffset)) {
            throw Rule.V2_RANGE.broken("the previous index cannot stand at " + previousIndexOffset, slot + 72);
        }
        if (committedLength > size) {
            throw Rule.V11_TRUNCATED.broken(
                    "the file has " + size + " bytes, but commit " + sequence + " made it " + committedLength, size);
        }
    }
}
