package io.undercroft.serializer.internal.analysis;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// The chunks of storages, as a `.croft` file would store them.
public final class StorageChunks {
    private static final SaveOptions SAVING = SaveOptions.defaults();
    private static final long CHUNK = SAVING.chunkSize();
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[(int) CHUNK]);

    private StorageChunks() {}

    /// Receives the chunks of a storage, in ascending order.
    public interface Visitor {
        /// Receives a chunk that has to be stored.
        ///
        /// @param digest the digest of its bytes
        /// @param length the number of bytes
        void chunk(Digest128 digest, long length);

        /// Receives a run of zeros, which a file does not store.
        ///
        /// @param length the number of bytes
        void zeros(long length);
    }

    /// Passes the chunks of a storage. They are read, unless the file has the digest of each.
    ///
    /// @param storage the storage, which has bytes
    /// @param extents what [Checkpoint#extents][io.undercroft.serializer.Checkpoint#extents] returns of it
    /// @param borrowed borrows its bytes if they have to be read
    /// @param visitor receives the chunks
    /// @throws io.undercroft.format.FormatException if the bytes are damaged
    public static void forEach(Storage storage, List<Extent> extents, LastBorrowed borrowed, Visitor visitor) {
        if (areChunks(storage, extents)) {
            extents.forEach(extent -> extent.digest().ifPresentOrElse(
                    digest -> visitor.chunk(digest, extent.length()), () -> visitor.zeros(extent.length())));
        } else if (storage.nbytes() > 0) {
            read(borrowed.of(storage).storage(), visitor);
        }
    }

    /// {@return whether the file has the digest of each chunk, so that [#forEach] reads none}
    ///
    /// @param storage the storage
    /// @param extents its extents
    public static boolean areChunks(Storage storage, List<Extent> extents) {
        return storage.nbytes() > 0 && !extents.isEmpty()
                && extents.stream().allMatch(extent -> switch (extent.place()) {
                    case NOWHERE -> true;
                    case FILE, BASE -> extent.digest().isPresent() && extent.start() % CHUNK == 0
                            && extent.length() == Math.min(CHUNK, storage.nbytes() - extent.start());
                });
    }

    private static void read(Storage storage, Visitor visitor) {
        MemorySegment bytes = storage.segment();
        for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
            MemorySegment chunk = bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at));
            if (SAVING.omitsZeros(bytes.byteSize()) && chunk.mismatch(ZEROS.asSlice(0, chunk.byteSize())) < 0) {
                visitor.zeros(chunk.byteSize());
            } else {
                visitor.chunk(Digest128.of(chunk), chunk.byteSize());
            }
        }
        storage.backing().ifPresent(Backing::checkNotCut);
    }
}
