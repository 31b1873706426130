package io.undercroft.serializer;

import io.undercroft.format.Digest128;
import io.undercroft.storage.Storage;
import java.util.Optional;

/// A run of bytes of a storage, and where they are: [Checkpoint#extents(Storage)].
///
/// @param start the first byte in the storage
/// @param length the number of bytes, at least 1
/// @param place where the bytes are
/// @param file for [Place#FILE] the position of their file in [Checkpoint#fileSizes()]: 0 for the file that was opened,
///     others for the files that it is the index of; 0 for other places
/// @param offset the first byte in the file that has them; 0 for [Place#NOWHERE]
/// @param digest the digest that the file has of exactly these bytes; nothing for formats without digests, and for
///     [Place#NOWHERE]. Nothing compares it with the bytes
public record Extent(long start, long length, Place place, int file, long offset, Optional<Digest128> digest) {
    /// Where the bytes of an extent are.
    public enum Place {
        /// In the file that was opened, or in one that it is the index of.
        FILE,
        /// In another file, one of [Checkpoint#bases()].
        BASE,
        /// In no file: they are all zero.
        NOWHERE
    }

    /// {@return the first byte of the storage after the extent}
    public long end() {
        return start + length;
    }
}
