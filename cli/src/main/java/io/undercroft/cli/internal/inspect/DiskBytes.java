package io.undercroft.cli.internal.inspect;

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
final class DiskBytes {
    private DiskBytes() {}

    /// Bytes in another file, of which only the digest tells in which.
    private record OfBase(long offset, Optional<Digest128> digest) {}

    /// {@return how many bytes some storages take in the file and its bases, those that they share counted once;
    /// nothing if that is not known, since the file has them in another form}
    ///
    /// @param checkpoint the open file
    /// @param storages storages of it
    static OptionalLong of(Checkpoint checkpoint, Collection<Storage> storages) {
        // Extents of one snapshot are the same bytes if they begin at the same one.
        Set<Long> offsets = new HashSet<>();
        Set<OfBase> ofBases = new HashSet<>();
        long nbytes = 0;
        for (Storage storage : storages) {
            List<Extent> extents = extents(checkpoint, storage);
            if (extents.isEmpty() && storage.nbytes() > 0) {
                return OptionalLong.empty();
            }
            for (Extent extent : extents) {
                boolean isNew = switch (extent.place()) {
                    case FILE -> offsets.add(extent.offset());
                    case BASE -> ofBases.add(new OfBase(extent.offset(), extent.digest()));
                    case NOWHERE -> false;
                };
                nbytes += isNew ? extent.length() : 0;
            }
        }
        return OptionalLong.of(nbytes);
    }

    private static List<Extent> extents(Checkpoint checkpoint, Storage storage) {
        try {
            return checkpoint.extents(storage);
        } catch (FormatException _) {
            // Reading the storage reports it.
            return List.of();
        }
    }
}
