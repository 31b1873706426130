package io.undercroft.serializer.internal.analysis;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.storage.Storage;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/// The bytes that storages take in files.
public final class DiskBytes {
    private DiskBytes() {}

    private record OfFile(int file, long offset) {}

    /// Bytes in another file: their offset, and their digest, since the extent does not say in which file they are.
    private record OfBase(long offset, Optional<Digest128> digest) {}

    /// {@return the number of bytes of some storages in the file and its bases, shared bytes counted once; empty if it
    /// is not known, because the file stores them in another form}
    ///
    /// @param checkpoint the open file
    /// @param storages storages of it
    public static OptionalLong of(Checkpoint checkpoint, Collection<Storage> storages) {
        // Extents of one snapshot that begin at the same byte are the same bytes.
        Set<OfFile> offsets = new HashSet<>();
        Set<OfBase> ofBases = new HashSet<>();
        long nbytes = 0;
        for (Storage storage : storages) {
            List<Extent> extents = extents(checkpoint, storage);
            if (extents.isEmpty() && storage.nbytes() > 0) {
                return OptionalLong.empty();
            }
            for (Extent extent : extents) {
                boolean isNew = switch (extent.place()) {
                    case FILE -> offsets.add(new OfFile(extent.file(), extent.offset()));
                    case BASE -> ofBases.add(new OfBase(extent.offset(), extent.digest()));
                    case NOWHERE -> false;
                };
                nbytes = Sizes.sum(nbytes, isNew ? extent.stored() : 0);
            }
        }
        return OptionalLong.of(nbytes);
    }

    /// {@return the extents of a storage; none if they cannot be read, which reading the storage reports}
    ///
    /// @param checkpoint the open file
    /// @param storage a storage of it
    public static List<Extent> extents(Checkpoint checkpoint, Storage storage) {
        try {
            return checkpoint.extents(storage);
        } catch (FormatException _) {
            return List.of();
        }
    }
}
