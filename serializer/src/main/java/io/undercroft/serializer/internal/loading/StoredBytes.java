package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.Extent;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/// The bytes of one storage of an open file: where they are, and how they are made when they are first needed. It is
/// the [owner][Storage#owner] of the storage, which references it for as long as it lives. So it must not reference
/// other storages of the file, which could not be collected before. Safe for any thread.
public abstract class StoredBytes implements Supplier<Allocation> {
    private final MappedFile file;

    /// Bytes of a storage.
    ///
    /// @param file the file that has the storage
    protected StoredBytes(MappedFile file) {
        this.file = file;
    }

    /// {@return the stored bytes that a storage was made of, also after they were mapped or read}
    ///
    /// @param storage any storage
    public static Optional<StoredBytes> of(Storage storage) {
        return storage.owner().filter(StoredBytes.class::isInstance).map(StoredBytes.class::cast);
    }

    /// {@return the file that has the storage}
    public final MappedFile file() {
        return file;
    }

    /// {@return where the bytes are, in ascending order; nothing if they are not in files as they are in memory}
    public abstract List<Extent> extents();

    /// {@return the runs of files that are read when the storage is touched} By default its [#extents].
    public List<FilePiece> runs() {
        return extents().stream().map(extent -> file.piece(extent.offset(), extent.length())).toList();
    }

    /// {@return the name of the file}
    @Override
    public final String toString() {
        return file.location();
    }
}
