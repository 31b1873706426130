package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import org.jspecify.annotations.Nullable;

/// A storage of the snapshot before, whose extents are compared in order with those of the storage of the same number
/// that is being saved. Usually that is the same storage, with few changed chunks.
final class ParentStorage {
    private final @Nullable Snapshot parent;
    private int next;
    private int end;
    private long position;

    /// A storage of a snapshot.
    ///
    /// @param parent the snapshot before, or null if there is none
    /// @param number the number of the storage; may be past the last one
    ParentStorage(@Nullable Snapshot parent, int number) {
        this.parent = parent;
        if (parent != null && number < parent.storageCount()) {
            StorageRecord storage = parent.storage(number);
            next = storage.firstExtent();
            end = next + storage.extentCount();
        }
    }

    /// {@return the extent that is exactly these bytes of the storage and is in the file itself, or null}
    ///
    /// @param start the first byte in the storage; not before that of the last call
    /// @param length the number of bytes
    Extent.@Nullable Stored find(long start, long length) {
        while (parent != null && next < end && position <= start) {
            ExtentRecord extent = parent.extent(next);
            if (position == start) {
                boolean fits = extent.kind() == ExtentKind.RAW && extent.base() == ExtentRecord.THIS_FILE
                        && extent.length() == length;
                return fits
                        ? new Extent.Stored(new Place(Place.THIS_FILE, extent.fileOffset(), length), extent.sums())
                        : null;
            }
            position += extent.length();
            next++;
        }
        return null;
    }
}
