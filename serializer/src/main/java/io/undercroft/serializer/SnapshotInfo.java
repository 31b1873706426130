package io.undercroft.serializer;

import io.undercroft.format.Digest128;
import java.time.Instant;
import java.util.Optional;

/// One committed state of a file.
///
/// @param commit its number, from 1; what [OpenOptions#snapshot(long)] and [CheckpointFile#at] take. Each commit has
///     the number of the one before plus 1, and keeps it however many others are dropped. [#UNKNOWN] if the snapshot is
///     damaged where its number is
/// @param sequence its place in the file, from 1; another one when snapshots before it were dropped
/// @param time when it was saved, in milliseconds; empty if not recorded
/// @param message the message of its writer; may be empty. Text from the file: quote it before showing it
/// @param rootDigest the digest of all that it holds: two snapshots with the same one are the same
/// @param committedLength how many bytes the file had when it was committed
public record SnapshotInfo(long commit, long sequence, Optional<Instant> time, String message, Digest128 rootDigest,
        long committedLength) {
    /// The number of a commit that is damaged where the number is.
    public static final long UNKNOWN = 0;
}
