package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records.HeaderFields;
import java.util.UUID;

/// Offsets and alignments in a file. All values are in bytes.
///
/// A file begins with the header and the commit record of its first snapshot, which are written once. The two slots for
/// the commit records of later snapshots are at [Header#slots], after the first snapshot; a file of one snapshot ends
/// before them.
public final class FileLayout {
    /// The size and alignment of a commit slot: what disks write as one. What is committed never shares such a block
    /// with what is written later.
    public static final int PAGE = 4096;
    /// The size of the header.
    public static final int HEADER_BYTES = HeaderFields.RECORD.size();
    /// The size of a commit record, wherever it is.
    public static final int COMMIT_BYTES = CommitFields.RECORD.size();
    /// The offset of the commit record of the first snapshot.
    public static final long FIRST_COMMIT = HEADER_BYTES;
    /// The header and the commit record of the first snapshot: what a reader reads first.
    public static final int PREFIX_BYTES = HEADER_BYTES + COMMIT_BYTES;
    /// The size of both commit slots.
    public static final int SLOTS_BYTES = 2 * PAGE;
    /// The offset where extents begin in files written by this version.
    public static final long DATA_START = PREFIX_BYTES;
    /// The alignment of storages of at least a chunk: a multiple of every page size in use, and what Windows requires
    /// of a mapping.
    public static final long MAPPING_ALIGNMENT = 0x10000;
    /// The alignment of smaller storages, of indexes and of commit records: a cache line.
    public static final long SMALL_ALIGNMENT = 64;
    /// The alignment of the sections of an index.
    public static final long SECTION_ALIGNMENT = 8;
    /// The size from which on a storage has no bytes in the file for a chunk that is all zero.
    public static final long SPARSE_BYTES = 0x10000;
    /// The chunk size of new files, as a logarithm: 1 MiB.
    public static final int DEFAULT_CHUNK_LOG2 = 20;

    private FileLayout() {}

    /// {@return the alignment of the extents of a storage} One of less than a chunk is a single extent, which is never
    /// mapped next to another one.
    ///
    /// @param nbytes the storage's size
    /// @param chunkLog2 the logarithm of the chunk size
    public static long alignment(long nbytes, int chunkLog2) {
        return nbytes >= 1L << chunkLog2 ? MAPPING_ALIGNMENT : SMALL_ALIGNMENT;
    }

    /// {@return the first offset at or after `position` where an extent of a storage may start}
    ///
    /// @param position the end of what was written before
    /// @param nbytes the storage's size
    /// @param chunkLog2 the logarithm of the chunk size
    /// @throws ArithmeticException if that is past 2^63-1
    public static long placeExtent(long position, long nbytes, int chunkLog2) {
        return alignUp(position, alignment(nbytes, chunkLog2));
    }

    /// {@return the first offset at or after `position` where an index or a commit record may start}
    ///
    /// @param position the end of what was written before
    /// @throws ArithmeticException if that is past 2^63-1
    public static long placeIndex(long position) {
        return alignUp(position, SMALL_ALIGNMENT);
    }

    /// {@return the first offset at or after `position` where commit slots or the bytes of a later snapshot may start}
    ///
    /// @param position the end of what was written before
    /// @throws ArithmeticException if that is past 2^63-1
    public static long placePage(long position) {
        return alignUp(position, PAGE);
    }

    /// {@return the id of a file with canonical bytes: made from its root digest as a version 8 UUID (RFC 9562), so
    /// that the same contents give the same file}
    ///
    /// @param root the root digest of the file's only commit
    public static UUID canonicalUuid(Digest128 root) {
        return new UUID((root.high() & ~0xF000L) | 0x8000L, (root.low() & 0x3FFF_FFFF_FFFF_FFFFL) | Long.MIN_VALUE);
    }

    /// {@return the first offset at or after a position that is a multiple of an alignment}
    ///
    /// @param position the position
    /// @param alignment a power of two
    /// @throws ArithmeticException if that is past 2^63-1
    public static long alignUp(long position, long alignment) {
        return Math.addExact(position, alignment - 1) & -alignment;
    }
}
