package io.undercroft.serializer;

import io.undercroft.storage.CheckReturnValue;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// A rule for the snapshots that a [CroftFile] retains: the newest ones, and each older one whose number is a multiple
/// of a given number. Immutable.
///
/// ```java
/// Retention.last(3).andEvery(10)      // the newest three, and commits 10, 20, 30, …
/// ```
///
/// Commits count from 1 in the order in which they were made, and keep their [number][SnapshotInfo#commit] when others
/// are dropped.
@CheckReturnValue
public final class Retention {
    private static final long NONE = Long.MAX_VALUE;

    private final int last;
    private final long every;

    private Retention(int last, long every) {
        this.last = last;
        this.every = every;
    }

    /// {@return the rule that retains the newest snapshots only}
    ///
    /// @param count the number of snapshots
    /// @throws IllegalArgumentException if the number is less than 1
    public static Retention last(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a file keeps at least its newest snapshot, not " + count);
        }
        return new Retention(count, NONE);
    }

    /// {@return the rule that also retains each commit whose number is a multiple of a given number}
    ///
    /// @param commits the given number
    /// @throws IllegalArgumentException if it is less than 1
    public Retention andEvery(long commits) {
        if (commits < 1) {
            throw new IllegalArgumentException("every " + commits + "th commit means nothing; take 1 or more");
        }
        return new Retention(last, commits);
    }

    /// {@return the snapshots that do not stay} One whose number is unknown stays if any older ones do.
    ///
    /// @param snapshots all of the file, the newest first
    Set<SnapshotInfo> dropped(List<SnapshotInfo> snapshots) {
        Set<SnapshotInfo> dropped = new HashSet<>();
        for (SnapshotInfo old : snapshots.subList(Math.min(last, snapshots.size()), snapshots.size())) {
            if (every == NONE || old.commit() % every != 0) {
                dropped.add(old);
            }
        }
        return dropped;
    }

    @Override
    public String toString() {
        return "the last " + last + (every == NONE ? "" : " and every " + every + "th");
    }
}
