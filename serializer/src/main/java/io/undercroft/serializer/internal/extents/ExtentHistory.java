package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.internal.extents.Extent.Place;
import java.io.IOException;
import java.lang.ref.SoftReference;
import org.jspecify.annotations.Nullable;

/// The places of all extents of a file, which a commit needs to find bytes that any snapshot of the file has. They are
/// read from the indexes of all snapshots, and remembered from one commit to the next, so that a commit reads only the
/// indexes that others have added meanwhile. What is remembered is used only if the file still has the snapshot that it
/// was remembered with, and is forgotten when memory is scarce.
///
/// Safe for any thread; the lock of the file keeps others from committing between [#of] and [#remember].
public final class ExtentHistory {
    private @Nullable SoftReference<Known> known;

    /// Places up to a commit.
    private record Known(PlaceTable places, CommitRecord newest) {}

    /// {@return the places of all extents of a snapshot and those before it in their file} They belong to the caller,
    /// and are forgotten here until [#remember] is called, as a save that fails may have added some that the file does
    /// not have.
    ///
    /// @param newest the newest snapshot of the file
    /// @throws IOException if reading an earlier snapshot fails
    public PlaceTable of(Snapshot newest) throws IOException {
        Known there = take();
        boolean isKnown = there != null && there.newest.sequence() <= newest.commit().sequence()
                && newest.openAt(there.newest.sequence()).commit().equals(there.newest);
        PlaceTable places = there == null || !isKnown ? new PlaceTable(newest.extentCount()) : there.places;
        long from = there == null || !isKnown ? 0 : there.newest.sequence();
        Snapshot later = null;
        for (Snapshot next = newest; next != null && next.commit().sequence() > from; next = next.previous()
                .orElse(null)) {
            next.storedExtents(later, (high, low, base, offset, length) -> {
                if (base == ExtentRecord.THIS_FILE) {
                    places.add(high, low, Place.THIS_FILE, offset, length);
                }
            });
            later = next;
        }
        return places;
    }

    /// Remembers the places of the extents of a file for the next commit.
    ///
    /// @param places the places, which the caller does not use any more
    /// @param newest the newest snapshot of the file
    public synchronized void remember(PlaceTable places, CommitRecord newest) {
        known = new SoftReference<>(new Known(places, newest));
    }

    private synchronized @Nullable Known take() {
        Known there = known == null ? null : known.get();
        known = null;
        return there;
    }
}
