package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.Records.HeaderFields;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/// The first bytes of a file, written once.
///
/// @param minor the minor version of the writer; a greater one than this reader's is readable
/// @param uuid the file's id, which its commit records repeat
/// @param requiredFeatures bits of features without which the file cannot be read
/// @param readOnlyFeatures bits of features without which the file can be read but not written
/// @param optionalFeatures bits of features that may be ignored
/// @param chunkLog2 the logarithm of the checksum chunk size in bytes, from 16 to 30
/// @param dataStart the offset from which on extents may be in the file, in bytes
/// @param slots the offset of the two commit slots for snapshots after the first, in bytes; 0 in a sealed file
public record Header(int minor, UUID uuid, long requiredFeatures, long readOnlyFeatures, long optionalFeatures,
        int chunkLog2, long dataStart, long slots) {
    /// The major version that this package reads and writes.
    public static final int MAJOR = 1;
    /// The minor version that this package writes.
    public static final int MINOR = 0;

    /// The read-only-compatible feature of a file that was written in one go and is never appended to: its one commit
    /// record is at its end.
    public static final long SEALED = 1;

    private static final long SIGNATURE = 0x0A1A_0A0D_4652_4389L;

    /// Creates a header as this version writes it.
    ///
    /// @param uuid the file's id
    /// @param chunkLog2 the logarithm of the chunk size, from 16 to 30
    /// @param firstEnd the committed length of the first snapshot, after which the commit slots are
    /// @return the header, without feature bits
    /// @throws IllegalArgumentException if the chunk size is out of range
    public static Header of(UUID uuid, int chunkLog2, long firstEnd) {
        return new Header(MINOR, uuid, 0, 0, 0, checkChunkLog2(chunkLog2), FileLayout.DATA_START,
                FileLayout.placePage(firstEnd));
    }

    /// Creates a header of a sealed file as this version writes it.
    ///
    /// @param uuid the file's id
    /// @param chunkLog2 the logarithm of the chunk size, from 16 to 30
    /// @return the header, with no feature but [#SEALED]
    /// @throws IllegalArgumentException if the chunk size is out of range
    public static Header sealed(UUID uuid, int chunkLog2) {
        return new Header(MINOR, uuid, 0, SEALED, 0, checkChunkLog2(chunkLog2), FileLayout.DATA_START, 0);
    }

    /// {@return the offset of the commit record with this sequence number: the first one follows the header, for the
    /// others the two slots take turns}
    ///
    /// @param sequence the commit's number, from 1
    public long recordOffset(long sequence) {
        return sequence == 1 ? FileLayout.FIRST_COMMIT : slots + FileLayout.PAGE * (sequence & 1);
    }

    /// {@return the offset after both commit slots, where the bytes of the second snapshot may start}
    public long slotsEnd() {
        return slots + FileLayout.SLOTS_BYTES;
    }

    /// {@return whether a range of the file has bytes in common with the commit slots}
    ///
    /// @param from its first byte
    /// @param to the byte after its last one
    public boolean isInSlots(long from, long to) {
        return !isSealed() && from < slotsEnd() && to > slots;
    }

    /// {@return whether the commit record is at the end of the file, which has no slots}
    public boolean isSealed() {
        return (readOnlyFeatures & SEALED) != 0;
    }

    /// {@return whether this version may append to the file: it is not sealed, and has no unknown read-only-compatible
    /// feature}
    public boolean isWritable() {
        return readOnlyFeatures == 0;
    }

    /// {@return the 256 bytes, checksum included}
    public byte[] encode() {
        byte[] bytes = new byte[FileLayout.HEADER_BYTES];
        MemorySegment page = MemorySegment.ofArray(bytes);
        HeaderFields.SIGNATURE.put(page, 0, SIGNATURE);
        HeaderFields.MAJOR.put(page, 0, MAJOR);
        HeaderFields.MINOR.put(page, 0, minor);
        HeaderFields.LENGTH.put(page, 0, FileLayout.HEADER_BYTES);
        HeaderFields.UUID.put(page, 0, uuid);
        HeaderFields.REQUIRED.put(page, 0, requiredFeatures);
        HeaderFields.READ_ONLY.put(page, 0, readOnlyFeatures);
        HeaderFields.OPTIONAL.put(page, 0, optionalFeatures);
        HeaderFields.CHUNK_LOG2.put(page, 0, chunkLog2);
        HeaderFields.DATA_START.put(page, 0, dataStart);
        HeaderFields.SLOTS.put(page, 0, slots);
        HeaderFields.CRC.put(page, 0, checksum(page));
        return bytes;
    }

    /// Reads and checks a header.
    ///
    /// @param page the first 256 bytes of the file
    /// @return the header
    /// @throws FormatException if it is not the header of a file that this version can read
    public static Header decode(MemorySegment page) {
        checkSignature(page);
        if (HeaderFields.CRC.getInt(page, 0) != checksum(page)) {
            throw Rule.V14_CHECKSUM.broken("the checksum of the header does not match", 0);
        }
        checkVersion(page);
        Header header = new Header(HeaderFields.MINOR.getInt(page, 0), HeaderFields.UUID.uuid(page, 0),
                HeaderFields.REQUIRED.get(page, 0), HeaderFields.READ_ONLY.get(page, 0),
                HeaderFields.OPTIONAL.get(page, 0), HeaderFields.CHUNK_LOG2.getInt(page, 0),
                HeaderFields.DATA_START.u64(page, 0, 0), HeaderFields.SLOTS.u64(page, 0, 0));
        header.check();
        HeaderFields.RESERVED.requireZero(page, 0, 0, "the header");
        HeaderFields.RESERVED_END.requireZero(page, 0, 0, "the header");
        return header;
    }

    private static int checksum(MemorySegment page) {
        return Checksums.crc32c(page.asSlice(0, HeaderFields.CRC.offset()));
    }

    /// Recognises a file by its first bytes.
    ///
    /// @param start at least 8 bytes, or the whole of a shorter file
    /// @return whether it begins as a `.croft` file does
    public static boolean isSignature(MemorySegment start) {
        return start.byteSize() >= Long.BYTES && HeaderFields.SIGNATURE.get(start, 0) == SIGNATURE;
    }

    static void checkSignature(MemorySegment start) {
        if (isSignature(start)) {
            return;
        }
        if (start.byteSize() == 0) {
            throw Rule.V12_SIGNATURE.broken("the file is empty", 0);
        }
        // The signature holds what text transfers change: a byte over 127, CR LF, a lone LF, and an end-of-text.
        boolean mangled = start.byteSize() >= 4 && (LittleEndian.i32(start, 0) | 0xFF) == ((int) SIGNATURE | 0xFF);
        throw Rule.V12_SIGNATURE.broken(mangled
                ? "the file was a .croft file, but its signature was changed as a transfer in text mode does it"
                : "the file does not begin with the signature of a .croft file", 0);
    }

    private static void checkVersion(MemorySegment page) {
        long major = HeaderFields.MAJOR.get(page, 0);
        if (major != MAJOR) {
            throw Rule.V13_UNSUPPORTED.broken("the major version is " + major + ", this reader knows " + MAJOR,
                    HeaderFields.MAJOR.offset());
        }
        long length = HeaderFields.LENGTH.get(page, 0);
        if (length != FileLayout.HEADER_BYTES) {
            throw Rule.V15_STRUCTURE.broken("the header's length is " + length + ", not 256",
                    HeaderFields.LENGTH.offset());
        }
        long features = HeaderFields.REQUIRED.get(page, 0);
        if (features != 0) {
            throw Rule.V13_UNSUPPORTED.broken(
                    "the file needs features " + Long.toHexString(features) + " (hex), none is known",
                    HeaderFields.REQUIRED.offset());
        }
    }

    private void check() {
        if (!isChunkLog2(chunkLog2)) {
            throw Rule.V15_STRUCTURE.broken("the chunk size 2^" + chunkLog2 + " is not in 2^16..2^30",
                    HeaderFields.CHUNK_LOG2.offset());
        }
        if (dataStart < FileLayout.DATA_START || dataStart % FileLayout.SMALL_ALIGNMENT != 0) {
            throw Rule.V2_RANGE.broken("the data starts at " + dataStart + ", not at a multiple of 64 from 1024 on",
                    HeaderFields.DATA_START.offset());
        }
        boolean isPossible = isSealed() ? slots == 0 : slots >= dataStart && slots % FileLayout.PAGE == 0;
        if (!isPossible || slots > Long.MAX_VALUE - FileLayout.SLOTS_BYTES) {
            throw Rule.V2_RANGE.broken("the commit slots cannot be at " + slots, HeaderFields.SLOTS.offset());
        }
    }

    static int checkChunkLog2(int chunkLog2) {
        if (!isChunkLog2(chunkLog2)) {
            throw new IllegalArgumentException("the chunk size 2^" + chunkLog2 + " is not in 2^16..2^30");
        }
        return chunkLog2;
    }

    private static boolean isChunkLog2(int chunkLog2) {
        return chunkLog2 >= 16 && chunkLog2 <= 30;
    }
}
