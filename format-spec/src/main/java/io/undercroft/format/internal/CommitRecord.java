package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.StrictUtf8;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.UUID;

/// The record that makes an index a snapshot. That of the first snapshot follows the header, that of a later one is in
/// a commit slot, and permanently in the parent record of the next snapshot; in a sealed file it is at the end.
///
/// @param sequence the commit's number, from 1; its parity determines the slot of a later record than the first
/// @param indexOffset the offset of the index in the file, in bytes, a multiple of 64
/// @param indexLength the size of the index in bytes
/// @param directoryDigest the digest of the index's directory, which holds the checksums of its sections
/// @param uuid the file's id, as in the header
/// @param committedLength the number of bytes of the file that belong to this commit and those before
/// @param previousRecord the offset of the parent record, a copy of the record of the commit before, which ends where
///     the index starts; 0 if the sequence is 1
/// @param timeMillis the time at which it was made, in milliseconds since 1970 UTC; 0 for canonical bytes
/// @param requiredFeatures bits of features without which this commit cannot be read
/// @param rootDigest the digest of the whole index, and so of all that the file holds
/// @param message a description by the program that saved it, at most 508 bytes in UTF-8; may be empty
public record CommitRecord(long sequence, long indexOffset, long indexLength, Digest128 directoryDigest, UUID uuid,
        long committedLength, long previousRecord, long timeMillis, long requiredFeatures, Digest128 rootDigest,
        String message) {
    /// The longest message, in bytes of UTF-8.
    public static final int MAX_MESSAGE_BYTES = CommitFields.MESSAGE.size();

    private static final int SIGNATURE = 0x5449_4D43;
    private static final int SHORT_LENGTH = CommitFields.MESSAGE_LENGTH.offset();
    private static final int LONG_LENGTH = CommitFields.MESSAGE.end();

    /// Checks the message; all other fields are accepted unchecked.
    ///
    /// @throws IllegalArgumentException if the message is too long or cannot be written in UTF-8
    public CommitRecord {
        int bytes = StrictUtf8.encode(message).length;
        if (bytes > MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException(
                    "the message has " + bytes + " bytes, the limit is " + MAX_MESSAGE_BYTES);
        }
    }

    /// Returns the record of the first commit of a file, whose id is computed from its contents.
    ///
    /// @param index the index as it will be in the file, built with the sequence 1
    /// @param indexOffset its offset
    /// @param timeMillis the time of the commit, in milliseconds since 1970 UTC; 0 for none
    /// @param message its message; may be empty
    /// @return a record with the id that [FileLayout#canonicalUuid] makes of the root digest
    /// @throws IllegalArgumentException if the message is too long or cannot be written in UTF-8
    public static CommitRecord canonical(MemorySegment index, long indexOffset, long timeMillis, String message) {
        Digest128 root = Digest128.of(index);
        return of(1, index, indexOffset, FileLayout.canonicalUuid(root), timeMillis, root, message);
    }

    /// Returns the record of the first commit of a file with a given id.
    ///
    /// @param index the index as it will be in the file, built with the sequence 1
    /// @param indexOffset its offset
    /// @param uuid the id in the file's header
    /// @param timeMillis the time of the commit, in milliseconds since 1970 UTC; 0 for none
    /// @param message its message; may be empty
    /// @return the record
    /// @throws IllegalArgumentException if the message is too long or cannot be written in UTF-8
    public static CommitRecord first(MemorySegment index, long indexOffset, UUID uuid, long timeMillis,
            String message) {
        return of(1, index, indexOffset, uuid, timeMillis, Digest128.of(index), message);
    }

    /// Returns the record of the commit after this one. A copy of this record, the parent record, is right before the
    /// index.
    ///
    /// @param index the index as it will be in the file, built with a sequence greater by one than this commit's
    /// @param indexOffset its offset, right after the parent record
    /// @param timeMillis the time of the commit, in milliseconds since 1970 UTC; 0 for none
    /// @param message its message; may be empty
    /// @return the record
    /// @throws IllegalArgumentException if the message is too long or cannot be written in UTF-8
    public CommitRecord next(MemorySegment index, long indexOffset, long timeMillis, String message) {
        return of(Math.addExact(sequence, 1), index, indexOffset, uuid, timeMillis, Digest128.of(index), message);
    }

    private static CommitRecord of(long sequence, MemorySegment index, long indexOffset, UUID uuid, long timeMillis,
            Digest128 root, String message) {
        return new CommitRecord(sequence, indexOffset, index.byteSize(), Digest128.of(Records.directory(index)), uuid,
                Math.addExact(indexOffset, index.byteSize()), parentOffset(sequence, indexOffset), timeMillis, 0, root,
                message);
    }

    private static long parentOffset(long sequence, long indexOffset) {
        return sequence == 1 ? 0 : indexOffset - FileLayout.COMMIT_BYTES;
    }

    /// {@return the number of bytes of the record that have a meaning: more if there is a message}
    public int recordLength() {
        return message.isEmpty() ? SHORT_LENGTH : LONG_LENGTH;
    }

    /// {@return the 768 bytes, checksum included}
    public byte[] encode() {
        byte[] bytes = new byte[FileLayout.COMMIT_BYTES];
        MemorySegment page = MemorySegment.ofArray(bytes);
        byte[] utf8 = StrictUtf8.encode(message);
        CommitFields.SIGNATURE.put(page, 0, SIGNATURE);
        CommitFields.LENGTH.put(page, 0, recordLength());
        CommitFields.SEQUENCE.put(page, 0, sequence);
        CommitFields.INDEX_OFFSET.put(page, 0, indexOffset);
        CommitFields.INDEX_LENGTH.put(page, 0, indexLength);
        CommitFields.DIRECTORY_DIGEST.put(page, 0, directoryDigest);
        CommitFields.UUID.put(page, 0, uuid);
        CommitFields.COMMITTED_LENGTH.put(page, 0, committedLength);
        CommitFields.PREVIOUS.put(page, 0, previousRecord);
        CommitFields.TIME.put(page, 0, timeMillis);
        CommitFields.REQUIRED.put(page, 0, requiredFeatures);
        CommitFields.ROOT_DIGEST.put(page, 0, rootDigest);
        CommitFields.MESSAGE_LENGTH.put(page, 0, utf8.length);
        System.arraycopy(utf8, 0, bytes, CommitFields.MESSAGE.offset(), utf8.length);
        CommitFields.CRC.put(page, 0, checksum(page));
        return bytes;
    }

    private static int checksum(MemorySegment page) {
        return Checksums.crc32c(page.asSlice(0, CommitFields.CRC.offset()));
    }

    /// {@return the 4096 bytes of a commit slot: the record, then zeros}
    public byte[] encodeSlot() {
        return Arrays.copyOf(encode(), FileLayout.PAGE);
    }

    /// {@return whether a slot was ever written}
    ///
    /// @param page the bytes of the slot
    static boolean isEmpty(MemorySegment page) {
        return LittleEndian.isZero(page, 0, page.byteSize());
    }

    /// Reads and checks a record.
    ///
    /// @param page its 768 bytes; what follows them is ignored
    /// @param offset their offset in the file
    /// @return the record
    /// @throws FormatException if there is no commit record that this version can read; by rule V14 if the write of
    ///     the record was never finished
    public static CommitRecord decode(MemorySegment page, long offset) {
        if (!isSignature(page, 0) || CommitFields.CRC.getInt(page, 0) != checksum(page)) {
            throw Rule.V14_CHECKSUM.broken("the checksum of the commit record does not match", offset);
        }
        long features = CommitFields.REQUIRED.get(page, 0);
        if (features != 0) {
            throw Rule.V13_UNSUPPORTED.broken(
                    "the commit needs features " + Long.toHexString(features) + " (hex), none is known",
                    offset + CommitFields.REQUIRED.offset());
        }
        checkLength(page, offset);
        return new CommitRecord(CommitFields.SEQUENCE.u64(page, 0, offset),
                CommitFields.INDEX_OFFSET.u64(page, 0, offset), CommitFields.INDEX_LENGTH.u64(page, 0, offset),
                CommitFields.DIRECTORY_DIGEST.digest(page, 0), CommitFields.UUID.uuid(page, 0),
                CommitFields.COMMITTED_LENGTH.u64(page, 0, offset), CommitFields.PREVIOUS.u64(page, 0, offset),
                CommitFields.TIME.get(page, 0), features, CommitFields.ROOT_DIGEST.digest(page, 0),
                message(page, offset));
    }

    /// {@return whether the signature of a commit record is at an offset of a segment}
    static boolean isSignature(MemorySegment bytes, long at) {
        return CommitFields.SIGNATURE.getInt(bytes, at) == SIGNATURE;
    }

    /// A newer minor version may use more bytes.
    private static void checkLength(MemorySegment page, long offset) {
        long length = CommitFields.LENGTH.get(page, 0);
        if ((length != SHORT_LENGTH && length < LONG_LENGTH) || length > CommitFields.CRC.offset()) {
            throw Rule.V15_STRUCTURE.broken("the commit record's length is " + length,
                    offset + CommitFields.LENGTH.offset());
        }
        LittleEndian.requireZero(page, length, CommitFields.CRC.offset(), offset, "the commit record");
    }

    /// The message of a short record is empty, since all bytes after it are zero.
    private static String message(MemorySegment page, long offset) {
        long length = CommitFields.MESSAGE_LENGTH.get(page, 0);
        int text = CommitFields.MESSAGE.offset();
        if (length > MAX_MESSAGE_BYTES) {
            throw Rule.V15_STRUCTURE.broken("the message's length is " + length,
                    offset + CommitFields.MESSAGE_LENGTH.offset());
        }
        LittleEndian.requireZero(page, text + length, LONG_LENGTH, offset, "the message");
        if (!StrictUtf8.isValid(page, text, length)) {
            throw Rule.V6_NAME.broken("the message is not UTF-8", offset + text);
        }
        return StrictUtf8.decode(page, text, length);
    }

    /// Checks what does not need the index.
    ///
    /// @param header the file's header
    /// @param place the offset of the record
    /// @param size the size of the file in bytes
    /// @throws FormatException if the record is not a commit of this file
    void check(Header header, long place, long size) {
        checkFile(header, place);
        if (sequence == 0 || (!header.isSealed() && header.recordOffset(sequence) != place)) {
            throw Rule.V17_COMMIT.broken("the commit record with the sequence number " + sequence
                    + " is in the wrong place", place + CommitFields.SEQUENCE.offset());
        }
        checkInside(header, place, size);
        if (header.isSealed() && (sequence != 1 || FileLayout.placeIndex(committedLength) != place)) {
            throw Rule.V20_SEAL.broken("the commit record of a sealed file, with the sequence number "
                    + sequence + ", is not right after its " + committedLength + " bytes", place);
        }
    }

    /// Checks a record that was found somewhere in the file, but for the index.
    ///
    /// @param header the file's header
    /// @param place the offset of the record
    /// @param size the size of the file in bytes
    /// @throws FormatException if the record is not a commit of this file
    void checkFound(Header header, long place, long size) {
        checkFile(header, place);
        if (sequence == 0) {
            throw Rule.V17_COMMIT.broken("a commit record has the sequence number 0",
                    place + CommitFields.SEQUENCE.offset());
        }
        checkInside(header, place, size);
    }

    private void checkFile(Header header, long place) {
        if (!uuid.equals(header.uuid())) {
            throw Rule.V17_COMMIT.broken("the commit record belongs to the file " + uuid + ", not to " + header.uuid(),
                    place + CommitFields.UUID.offset());
        }
    }

    private void checkInside(Header header, long place, long size) {
        checkPlaces(header, place);
        if (committedLength > size) {
            throw Rule.V11_TRUNCATED.broken(
                    "the file has " + size + " bytes, but a commit made it " + committedLength, size);
        }
    }

    /// Checks a record that was found in a parent record, but for the index.
    ///
    /// @param header the file's header
    /// @param next the commit whose parent record it is, which was checked
    /// @throws FormatException if the record is not the commit before that one
    void checkParent(Header header, CommitRecord next) {
        if (!uuid.equals(header.uuid()) || sequence != next.sequence - 1 || committedLength > next.previousRecord) {
            throw Rule.V19_CHAIN.broken("the parent record of the commit with the sequence number " + next.sequence
                    + " is not that of the commit before", next.previousRecord);
        }
        checkPlaces(header, next.previousRecord);
    }

    private void checkPlaces(Header header, long place) {
        if (indexOffset % FileLayout.SMALL_ALIGNMENT != 0 || indexOffset < header.dataStart()
                || indexOffset > committedLength || indexLength > committedLength - indexOffset) {
            throw Rule.V2_RANGE.broken("the index, " + indexLength + " bytes at " + indexOffset
                    + ", is not inside the data of " + committedLength + " bytes",
                    place + CommitFields.INDEX_OFFSET.offset());
        }
        long parent = parentOffset(sequence, indexOffset);
        if (previousRecord != parent || (sequence > 1 && parent < header.dataStart())) {
            throw Rule.V19_CHAIN.broken("the parent record of the commit with the sequence number " + sequence
                    + " cannot be at " + previousRecord, place + CommitFields.PREVIOUS.offset());
        }
        boolean isBehind = sequence == 1 || header.isSealed() || committedLength >= header.slotsEnd();
        if (!isBehind || header.isInSlots(ownOffset(), indexOffset + indexLength)
                || (sequence == 1 && header.isInSlots(header.dataStart(), committedLength))) {
            throw Rule.V2_RANGE.broken("the commit with the sequence number " + sequence + ", of "
                    + committedLength + " bytes, does not leave the commit slots at " + header.slots() + " apart",
                    place + CommitFields.COMMITTED_LENGTH.offset());
        }
    }

    /// {@return the start of the bytes of this snapshot only: the parent record if there is one, and the
    /// index}
    public long ownOffset() {
        return sequence == 1 ? indexOffset : previousRecord;
    }
}
