package io.undercroft.serializer;

import java.util.Objects;

/// A part of a file that is not an [Extent] of a storage: it describes the state, or is free. See
/// [Checkpoint#regions()].
///
/// @param kind the kind of the part
/// @param offset the offset of the first byte in the file
/// @param nbytes the size in bytes, at least 1
public record FileRegion(Kind kind, long offset, long nbytes) {
    /// The kind of a part of a file.
    public enum Kind {
        /// The header.
        HEADER,
        /// The commit record of a snapshot, or the copy of the record of an earlier snapshot in an index.
        COMMIT_RECORD,
        /// The space for the records of the two newest snapshots after the first.
        COMMIT_SLOTS,
        /// The tables of a snapshot: its tensors, storages, extents and its state.
        INDEX,
        /// Bytes that no snapshot uses.
        FREE
    }

    /// Creates a region.
    ///
    /// @throws IllegalArgumentException if the offset is negative or there are no bytes
    public FileRegion {
        Objects.requireNonNull(kind, "kind");
        if (offset < 0 || nbytes < 1) {
            throw new IllegalArgumentException("a region of " + nbytes + " bytes at byte " + offset);
        }
    }
}
