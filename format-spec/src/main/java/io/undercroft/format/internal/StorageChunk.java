package io.undercroft.format.internal;

/// A chunk of a storage, and its checksum.
///
/// @param place where it is in the storage and in which file, in the words of one that is damaged
/// @param checksum its CRC32C, as the index has it
public record StorageChunk(DamagedChunk place, int checksum) {
    /// {@return the first byte of the chunk in the storage}
    public long start() {
        return place.start();
    }

    /// {@return the first byte of the storage behind the chunk}
    public long end() {
        return place.start() + place.length();
    }
}
