package io.undercroft.format;

import java.util.UUID;

/// Where things lie in a file. All values are in bytes.
public final class Layout {
    /// The size of the header and of each commit slot, and the alignment of an index.
    public static final int PAGE = 4096;
    /// The header and both commit slots: what a reader reads first.
    public static final int PREFIX_BYTES = 3 * PAGE;
    /// Where extents begin in files written by this version.
    public static final long DATA_START = 0x10000;
    /// The alignment of large storages: a multiple of every page size in use, and what Windows asks of a mapping.
    public static final long MAPPING_ALIGNMENT = 0x10000;
    /// The alignment of small storages and of index sections: a cache line.
    public static final long SMALL_ALIGNMENT = 64;
    /// The chunk size of new files, as a logarithm: 1 MiB.
    public static final int DEFAULT_CHUNK_LOG2 = 20;

    private Layout() {}

    /// {@return the place of the commit record with this sequence number: the two slots take turns}
    ///
    /// @param sequence the commit's number, from 1
    public static long slotOffset(long sequence) {
        return PAGE * (1 + (sequence & 1));
    }

    /// {@return the alignment of the extents of a storage}
    ///
    /// @param nbytes the storage's size
    public static long alignment(long nbytes) {
        return nbytes >= MAPPING_ALIGNMENT ? MAPPING_ALIGNMENT : SMALL_ALIGNMENT;
    }

    /// {@return the first place at or after `position` where an extent of a storage may start}
    ///
    /// @param position the end of what was written before
    /// @param nbytes the storage's size
    /// @throws ArithmeticException if that is past 2^63-1
    public static long placeExtent(long position, long nbytes) {
        return alignUp(position, alignment(nbytes));
    }

    /// {@return the first place at or after `position` where an index may start}
    ///
    /// @param position the end of what was written before
    /// @throws ArithmeticException if that is past 2^63-1
    public static long placeIndex(long position) {
        return alignUp(position, PAGE);
    }

    /// {@return the id of a file with canonical bytes: made from its root digest as a version 8 UUID (RFC 9562), so
    /// that the same contents give the same file}
    ///
    /// @param root the root digest of the file's only commit
    public static UUID canonicalUuid(Digest128 root) {
        return new UUID((root.high() & ~0xF000L) | 0x8000L, (root.low() & 0x3FFF_FFFF_FFFF_FFFFL) | Long.MIN_VALUE);
    }

    private static long alignUp(long position, long alignment) {
        return Math.addExact(position, alignment - 1) & -alignment;
    }
}
