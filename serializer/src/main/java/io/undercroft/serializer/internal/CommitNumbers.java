package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions.Run;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The numbers of commits. A snapshot has the number of the one before plus 1, and keeps it when others are dropped,
/// while its sequence number, which is its place in the file, changes.
///
/// Every snapshot that is appended has its number in its metadata. The first one of a new file has the number 1 without
/// an entry. The number of a snapshot without an entry is its place in the file. Numbers increase from one snapshot to
/// the next, and none is less than the place: so if the number of the newest snapshot is its place, this is so for all.
public final class CommitNumbers {
    /// The key in the metadata.
    private static final String KEY = "undercroft.commit";
    /// The keys of the run of a shard in the metadata.
    private static final String RUN = "undercroft.run";
    private static final String SHARDS = "undercroft.shards";

    private CommitNumbers() {}

    /// {@return the number of a snapshot, or [SnapshotInfo#UNKNOWN] if it is damaged where the number is}
    ///
    /// @param snapshot any snapshot
    public static long of(Snapshot snapshot) {
        long place = snapshot.commit().sequence();
        try {
            String text = snapshot.metadata().getOrDefault(KEY, "");
            return text.matches("[0-9]{1,18}") ? Math.max(place, Long.parseLong(text)) : place;
        } catch (FormatException _) {
            return SnapshotInfo.UNKNOWN;
        }
    }

    /// {@return the description of a snapshot}
    ///
    /// @param snapshot any snapshot
    public static SnapshotInfo info(Snapshot snapshot) {
        return infoOf(snapshot.commit(), of(snapshot));
    }

    /// {@return the metadata of a snapshot that will be written: what the caller gives, with its run, and with its
    /// number if it has one before it}
    ///
    /// @param given by the caller
    /// @param run the run that the snapshot is a shard of, if it is one
    /// @param before the snapshot before, or null in a new file
    public static Map<String, String> metadata(Map<String, String> given, Optional<Run> run,
            @Nullable Snapshot before) {
        Map<String, String> metadata = new LinkedHashMap<>(given);
        metadata.remove(KEY);
        metadata.remove(RUN);
        metadata.remove(SHARDS);
        run.ifPresent(shard -> {
            metadata.put(RUN, shard.id());
            metadata.put(SHARDS, Integer.toString(shard.shards()));
        });
        if (before != null) {
            metadata.put(KEY, Long.toString(Math.max(of(before), before.commit().sequence()) + 1));
        }
        return metadata;
    }

    /// {@return the metadata of a snapshot as callers gave it}
    ///
    /// @param snapshot any snapshot
    public static Map<String, String> given(Snapshot snapshot) {
        Map<String, String> metadata = snapshot.metadata();
        if (!metadata.containsKey(KEY) && !metadata.containsKey(RUN)) {
            return metadata;
        }
        Map<String, String> given = new LinkedHashMap<>(metadata);
        given.keySet().removeAll(List.of(KEY, RUN, SHARDS));
        return Collections.unmodifiableMap(given);
    }

    /// {@return the run that a snapshot is a shard of, if it is one}
    ///
    /// @param snapshot any snapshot
    /// @throws FormatException by rule V21 if it does not say how many shards the run has
    public static Optional<Run> run(Snapshot snapshot) {
        String id = snapshot.metadata().get(RUN);
        if (id == null) {
            return Optional.empty();
        }
        String shards = snapshot.metadata().getOrDefault(SHARDS, "");
        if (!shards.matches("[0-9]{1,9}")) {
            throw Rule.V21_SHARD.broken("the shard does not say how many shards its run has",
                    FormatException.NO_OFFSET);
        }
        return Optional.of(new Run(id, Integer.parseInt(shards)));
    }

    /// Lists the snapshots of a file. Reads a page for each, and if some were dropped their metadata too.
    ///
    /// @param newest the newest one
    /// @return all, the newest first
    /// @throws FormatException if an earlier commit is damaged or missing
    /// @throws IOException if reading fails
    public static List<SnapshotInfo> list(Snapshot newest) throws IOException {
        List<CommitRecord> chain = newest.chain();
        boolean isComplete = of(newest) == newest.commit().sequence();
        List<SnapshotInfo> snapshots = new ArrayList<>(chain.size());
        for (int i = 0; i < chain.size(); i++) {
            CommitRecord commit = chain.get(i);
            snapshots.add(infoOf(commit, isComplete ? commit.sequence() : numberOf(newest, chain, i)));
        }
        return Collections.unmodifiableList(snapshots);
    }

    /// Finds the snapshot that options choose.
    ///
    /// @param newest the newest one of the file
    /// @param options the options for opening
    /// @param location the file, for the message
    /// @return the snapshot of the number that they give, or the newest
    /// @throws NoSuchElementException if there is none of that number
    /// @throws FormatException if it, or a commit on the way to it, is damaged
    /// @throws IOException if reading fails
    public static Snapshot find(Snapshot newest, OpenOptions options, String location) throws IOException {
        try {
            return options.snapshot().isPresent() ? find(newest, options.snapshot().getAsLong()) : newest;
        } catch (NoSuchElementException e) {
            throw new NoSuchElementException(location + ": " + e.getMessage(), e);
        }
    }

    private static Snapshot find(Snapshot newest, long number) throws IOException {
        long last = of(newest);
        if (last == newest.commit().sequence()) {
            return newest.openAt(number);
        }
        if (last == number) {
            return newest;
        }
        List<CommitRecord> chain = newest.chain();
        // No number is less than the place.
        for (int i = 1; i < chain.size(); i++) {
            if (chain.get(i).sequence() <= number && numberOf(newest, chain, i) == number) {
                return newest.openParent(chain.get(i - 1), chain.get(i));
            }
        }
        throw new NoSuchElementException("there is no snapshot " + number + " (dropped, or never committed); of "
                + chain.size() + " snapshots the newest is " + (last == SnapshotInfo.UNKNOWN ? "damaged" : last)
                + "; list them to see their numbers");
    }

    private static long numberOf(Snapshot newest, List<CommitRecord> chain, int index) throws IOException {
        try {
            return of(index == 0 ? newest : newest.openParent(chain.get(index - 1), chain.get(index)));
        } catch (FormatException _) {
            return SnapshotInfo.UNKNOWN;
        }
    }

    private static SnapshotInfo infoOf(CommitRecord commit, long number) {
        Optional<Instant> time = commit.timeMillis() == 0
                ? Optional.empty()
                : Optional.of(Instant.ofEpochMilli(commit.timeMillis()));
        return new SnapshotInfo(number, commit.sequence(), time, commit.message(), commit.rootDigest(),
                commit.committedLength());
    }
}
