package io.undercroft.serializer;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Which snapshots of a growing file stay: the last few, and every so many of the older ones. Immutable.
///
/// ```java
/// Retention.last(3).andEvery(10)      // the newest three, and commits 10, 20, 30, …
/// ```
///
/// Commits count from 1 in the order in which [CheckpointFile#commit] made them, and keep their number however many are dropped.
public final class Retention {
    private static final long NONE = Long.MAX_VALUE;

    private final int last;
    private final long every;

    private Retention(int last, long every) {
        this.last = last;
        this.every = every;
    }

    /// {@return the rule that keeps the newest snapshots and no others}
    ///
    /// @param count how many
    /// @throws IllegalArgumentException if that is less than 1: a file has at least one snapshot
    public static Retention last(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a file keeps at least its newest snapshot, not " + count);
        }
        return new Retention(count, NONE);
    }

    /// {@return the rule that keeps, besides, each commit whose number is a multiple of another}
    ///
    /// @param commits the other number
    /// @throws IllegalArgumentException if it is less than 1
    public Retention andEvery(long commits) {
        if (commits < 1) {
            throw new IllegalArgumentException("every " + commits + "th commit means nothing; take 1 or more");
        }
        return new Retention(last, commits);
    }

    /// A snapshot and the number of the commit that made it.
    record Commit(long number, SnapshotInfo snapshot) {}

    /// {@return the snapshots that do not stay}
    ///
    /// @param commits all of the file, the newest first
    Set<SnapshotInfo> dropped(List<Commit> commits) {
        Set<SnapshotInfo> dropped = new HashSet<>();
        commits.stream().skip(last).filter(commit -> every == NONE || commit.number % every != 0)
                .forEach(commit -> dropped.add(commit.snapshot));
        return dropped;
    }

    @Override
    public String toString() {
        return "the last " + last + (every == NONE ? "" : " and every " + every + "th");
    }
}
