package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.util.Optional;
import java.util.UUID;

/// One file of a set, at one of its snapshots.
///
/// @param uuid the id of the file
/// @param digest the root digest of the snapshot
/// @param sequence the number of the snapshot, from 1
/// @param length the committed length of the snapshot in bytes
/// @param path the path of the file, relative to the directory of the manifest, in the form of [BaseRecord#path]
public record Shard(UUID uuid, Digest128 digest, long sequence, long length, String path) {
    /// Creates a shard.
    ///
    /// @param path the path of the file
    /// @param snapshot the commit record of its snapshot
    /// @return the record
    public static Shard of(String path, CommitRecord snapshot) {
        return new Shard(snapshot.uuid(), snapshot.rootDigest(), snapshot.sequence(), snapshot.committedLength(), path);
    }

    /// Opens a file at the snapshot of the set. The file may have newer ones.
    ///
    /// @param file its bytes
    /// @param limits the limits that the file must not exceed
    /// @return the snapshot
    /// @throws FormatException by rule V21 if this is another file, or lacks that snapshot; by any
    ///     other rule if the file itself is damaged
    /// @throws IOException if reading fails
    public Snapshot open(ByteSource file, Limits limits) throws IOException {
        Snapshot newest = Snapshot.open(file, limits);
        if (!newest.header().uuid().equals(uuid)) {
            throw broken("is the file " + newest.header().uuid() + ", not " + uuid);
        }
        if (sequence < 1 || sequence > newest.commit().sequence()) {
            throw broken("has no snapshot " + sequence);
        }
        Snapshot snapshot = newest.openAt(sequence);
        if (!of(path, snapshot.commit()).equals(this)) {
            throw broken("has another snapshot " + sequence);
        }
        return snapshot;
    }

    /// Checks that a file is the shard, and has the snapshot, by as few reads as possible: one of the first 1024 bytes,
    /// unless the snapshot is not the first one of the file, or the file is sealed. The index of the snapshot is then
    /// not read.
    ///
    /// @param file its bytes
    /// @param limits the limits that the file must not exceed
    /// @throws FormatException as [#open]
    /// @throws IOException if reading fails
    public void check(ByteSource file, Limits limits) throws IOException {
        Optional<CommitRecord> first = sequence == 1 ? Snapshot.firstCommit(file) : Optional.empty();
        if (first.isEmpty() || !of(path, first.get()).equals(this) || file.size() < length) {
            var _ = open(file, limits);
        }
    }

    private FormatException broken(String what) {
        return Rule.V21_SHARD.broken("the shard " + FormatException.quote(path) + ' ' + what,
                FormatException.NO_OFFSET);
    }
}
