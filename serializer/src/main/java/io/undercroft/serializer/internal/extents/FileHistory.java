package io.undercroft.serializer.internal.extents;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.StaleFileException;
import io.undercroft.serializer.internal.extents.Extent.Place;
import java.io.IOException;
import java.lang.ref.SoftReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// What one writer knows of the file that it commits to.
///
/// **The newest snapshot** when the writer read or wrote the file last. What the writer does next is refused if the
/// file has another one. A writer that has seen none continues from any.
///
/// **The places of all extents**, which a commit needs to find bytes that any snapshot of the file has. They are read
/// from the indexes of all snapshots, and remembered from one commit to the next, so that a commit reads only the
/// indexes that others have added meanwhile. What is remembered is used only if the file still has the snapshot that it
/// was remembered with, and is forgotten when memory is scarce.
///
/// Safe for any thread; the lock of the file keeps others from committing between [#places] and [#committed].
public final class FileHistory {
    private volatile @Nullable Seen seen;
    /// The file whose name the writer made durable; null if there is none.
    private volatile @Nullable Made named;
    private @Nullable SoftReference<Known> known;

    /// A snapshot, and the key of its file in the system, which is null where there are none.
    private record Seen(@Nullable Object key, CommitRecord newest) {}

    /// The key of a file, and when it was made: keys of deleted files are used again.
    private record Made(Object key, FileTime time) {
        static @Nullable Made of(Path file) throws IOException {
            BasicFileAttributes attributes = attributes(file);
            Object key = attributes.fileKey();
            return key == null ? null : new Made(key, attributes.creationTime());
        }
    }

    /// Places up to a commit.
    private record Known(PlaceTable places, CommitRecord newest) {}

    /// Records that the writer sees a snapshot.
    ///
    /// @param file the file
    /// @param newest its newest commit
    /// @throws IOException if the file cannot be found
    public void see(Path file, CommitRecord newest) throws IOException {
        seen = new Seen(key(file), newest);
    }

    /// Records that the writer sees no file.
    public void seeNone() {
        seen = null;
    }

    /// Refuses a file that is another one now, or has another newest snapshot.
    ///
    /// @param file the file
    /// @param newest its newest commit
    /// @throws StaleFileException if that is so
    /// @throws IOException if the file cannot be found
    public void check(Path file, CommitRecord newest) throws IOException {
        Seen before = seen;
        if (before == null) {
            return;
        }
        if (!Objects.equals(before.key, key(file)) || !before.newest.uuid().equals(newest.uuid())) {
            throw new StaleFileException(file.toString(), "it was replaced by another file");
        }
        if (!before.newest.equals(newest)) {
            throw new StaleFileException(file.toString(), "another writer has committed to it");
        }
    }

    /// Refuses a file that is gone.
    ///
    /// @param file the file
    /// @throws StaleFileException if there was one
    public void checkAbsent(Path file) throws StaleFileException {
        if (seen != null) {
            throw new StaleFileException(file.toString(), "it was deleted");
        }
    }

    /// {@return whether the writer has committed to the file, and thereby made its name durable}
    ///
    /// @param file the file
    /// @throws IOException if the file cannot be found
    public boolean isNameDurable(Path file) throws IOException {
        Made there = named;
        return there != null && there.equals(Made.of(file));
    }

    private static @Nullable Object key(Path file) throws IOException {
        return attributes(file).fileKey();
    }

    private static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class);
    }

    /// {@return the places of all extents of a snapshot and those before it in their file} They belong to the caller,
    /// and are forgotten here until [#committed] is called, as a save that fails may have added some that the file does
    /// not have.
    ///
    /// @param newest the newest snapshot of the file
    /// @throws IOException if reading an earlier snapshot fails
    public PlaceTable places(Snapshot newest) throws IOException {
        Known there = take();
        boolean isKnown = there != null && there.newest.sequence() <= newest.commit().sequence()
                && newest.openAt(there.newest.sequence()).commit().equals(there.newest);
        PlaceTable places = there == null || !isKnown ? new PlaceTable(newest.extentCount()) : there.places;
        long from = there == null || !isKnown ? 0 : there.newest.sequence();
        Snapshot later = null;
        for (Snapshot next = newest; next != null && next.commit().sequence() > from; next = next.previous()
                .orElse(null)) {
            next.storedExtents(later, (high, low, base, offset, length, coding) -> {
                // The numbers of other files are not the same in all snapshots.
                if (base == ExtentRecord.THIS_FILE
                        && (coding == null || coding.referenceBase() == ExtentRecord.THIS_FILE)) {
                    places.add(new Digest128(high, low), new Place(Place.THIS_FILE, offset, length), coding);
                }
            });
            later = next;
        }
        return places;
    }

    /// Records a commit of the writer.
    ///
    /// @param file the file, whose name is durable
    /// @param places the places of all extents, which the caller does not use any more; null if they are unknown
    /// @param newest the commit
    /// @throws IOException if the file cannot be found
    public void committed(Path file, @Nullable PlaceTable places, CommitRecord newest) throws IOException {
        see(file, newest);
        named = Made.of(file);
        if (places != null) {
            synchronized (this) {
                known = new SoftReference<>(new Known(places, newest));
            }
        }
    }

    private synchronized @Nullable Known take() {
        Known there = known == null ? null : known.get();
        known = null;
        return there;
    }
}
