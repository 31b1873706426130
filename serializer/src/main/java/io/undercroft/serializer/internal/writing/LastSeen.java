package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.serializer.StaleFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// The newest snapshot of a file when its writer read or wrote one last. What the writer does next is refused if the
/// file has another one. A writer that has seen none continues from any. Safe for any thread.
public final class LastSeen {
    private volatile @Nullable Seen seen;

    /// A snapshot, and the key of its file in the system, which is null where there are none.
    private record Seen(@Nullable Object key, CommitRecord newest) {}

    /// Records what the writer sees.
    ///
    /// @param file the file
    /// @param newest its newest commit
    /// @throws IOException if the file cannot be found
    public void set(Path file, CommitRecord newest) throws IOException {
        seen = new Seen(key(file), newest);
    }

    /// Records that the writer sees no file.
    public void clear() {
        seen = null;
    }

    /// Refuses a file that is another one now, or has another newest snapshot.
    ///
    /// @param file the file
    /// @param newest its newest commit
    /// @throws StaleFileException if that is so
    /// @throws IOException if the file cannot be found
    void check(Path file, CommitRecord newest) throws IOException {
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
    void checkAbsent(Path file) throws StaleFileException {
        if (seen != null) {
            throw new StaleFileException(file.toString(), "it was deleted");
        }
    }

    private static @Nullable Object key(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }
}
