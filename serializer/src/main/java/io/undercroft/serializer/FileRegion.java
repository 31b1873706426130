package io.undercroft.serializer;

import java.util.Objects;

/// A part of a file that describes the state or is free, and is no [Extent] of a storage: [Checkpoint#regions()].
///
/// @param kind what the part is
/// @param offset its first byte in the file
/// @param nbytes its size in bytes, at least 1
public record FileRegion(Kind kind, long offset, long nbytes) {
    /// What a part of a file is.
    public enum Kind {
        /// The header.
        HEADER,
        /// The record that makes an index a snapshot, or the copy of an earlier one that an index has.
        COMMIT_RECORD,
        /// The space for the records of the two newest snapshots after the first.
        COMMIT_SLOTS,
        /// The tables of a snapshot: its tensors, storages, extents and its state.
        INDEX,
        /// Bytes that no snapshot uses.
        FREE
    }

    /// A part.
    ///
    /// @throws IllegalArgumentException if the offset is negative or there are no bytes
    public FileRegion {
        Objects.requireNonNull(kind, "kind");
        if (offset < 0 || nbytes < 1) {
            throw new IllegalArgumentException("a region of " + nbytes + " bytes at byte " + offset);
        }
    }
}
