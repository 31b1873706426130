package io.undercroft.serializer;

import io.undercroft.format.CommitRecord;
import io.undercroft.format.Digest128;
import java.time.Instant;
import java.util.Optional;

/// One committed state of a file.
///
/// @param sequence its number, from 1; what [OpenOptions#snapshot(long)] takes
/// @param time when it was saved, in milliseconds; nothing if the writer did not say
/// @param message what whoever saved it says about it; may be empty. Text from the file: quote it before showing it
/// @param rootDigest the digest of all that it holds: two snapshots with the same one are the same
/// @param committedLength how many bytes the file had when it was committed
public record SnapshotInfo(long sequence, Optional<Instant> time, String message, Digest128 rootDigest,
        long committedLength) {
    /// {@return what a commit record says}
    ///
    /// @param commit the record
    public static SnapshotInfo of(CommitRecord commit) {
        Optional<Instant> time = commit.timeMillis() == 0
                ? Optional.empty()
                : Optional.of(Instant.ofEpochMilli(commit.timeMillis()));
        return new SnapshotInfo(commit.sequence(), time, commit.message(), commit.rootDigest(),
                commit.committedLength());
    }
}
