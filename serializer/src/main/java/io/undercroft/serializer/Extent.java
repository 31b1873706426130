package io.undercroft.serializer;

import io.undercroft.format.Digest128;
import io.undercroft.storage.Storage;
import java.util.Optional;

/// A contiguous range of bytes of a storage, and its place in a file. See [Checkpoint#extents(Storage)].
///
/// @param start the offset of the first byte in the storage
/// @param length the number of bytes, at least 1
/// @param place the kind of the place of the bytes
/// @param file for [Place#FILE], the position of the file in [Checkpoint#fileSizes()]: 0 for the file that was opened,
///     otherwise a file of the set that it indexes; 0 for other places
/// @param offset the offset of the first byte in that file; 0 for [Place#NOWHERE]
/// @param stored the number of bytes that it takes in that file: the length if the bytes are stored as they are,
///     fewer if they are [compressed][SaveOptions#compress], 0 for [Place#NOWHERE]
/// @param digest the digest of exactly these bytes that the file has; it is not compared with the bytes. Empty for
///     formats without digests, and for [Place#NOWHERE]
public record Extent(long start, long length, Place place, int file, long offset, long stored,
        Optional<Digest128> digest) {
    /// The kind of the place of an extent.
    public enum Place {
        /// In the file that was opened, or in a file of the set that it indexes.
        FILE,
        /// In another file, one of [Checkpoint#bases()].
        BASE,
        /// In no file: they are all zero.
        NOWHERE
    }

    /// {@return whether the bytes are stored in fewer bytes, and have to be decoded}
    public boolean isCompressed() {
        return stored > 0 && stored < length;
    }

    /// {@return the first byte of the storage after the extent}
    public long end() {
        return start + length;
    }
}
