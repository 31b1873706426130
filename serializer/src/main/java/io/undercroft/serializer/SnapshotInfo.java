package io.undercroft.serializer;

import io.undercroft.format.Digest128;
import java.time.Instant;
import java.util.Optional;

/// The description of a snapshot: one committed state of a file.
///
/// @param commit the number of the commit, from 1, for [OpenOptions#snapshot(long)] and [CroftFile#at]. Each
///     commit has the number of its predecessor plus 1, and keeps it when others are dropped. [#UNKNOWN] if the number
///     is damaged
/// @param sequence the position in the file, from 1, which changes when earlier snapshots are dropped
/// @param time the time of the save, to the millisecond; empty if not recorded
/// @param message the message of the writer, which may be empty. It is text from the file: quote it before printing
/// @param rootDigest the digest of the contents: snapshots with the same digest are equal
/// @param committedLength the size of the file in bytes after the commit
public record SnapshotInfo(long commit, long sequence, Optional<Instant> time, String message, Digest128 rootDigest,
        long committedLength) {
    /// The number of a commit whose number is damaged.
    public static final long UNKNOWN = 0;
}
