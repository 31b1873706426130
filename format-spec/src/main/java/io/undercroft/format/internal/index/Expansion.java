package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import java.util.BitSet;

/// Sums up the storages that a reader uses, each once. A storage of zeros takes almost no space in a file, so that a
/// small file may require any amount of memory.
public final class Expansion {
    private final CommitRecord commit;
    private final Limits limits;
    private final BitSet used = new BitSet();
    private long total;

    /// No storage is used yet.
    ///
    /// @param commit of the snapshot that has the storages
    /// @param limits the limits that the file must not exceed
    public Expansion(CommitRecord commit, Limits limits) {
        this.commit = commit;
        this.limits = limits;
    }

    /// Counts a storage in if it was not yet.
    ///
    /// @param storage its number
    /// @param nbytes its size in bytes, below 2^60
    /// @throws FormatException by rule V7 if this is too much
    public synchronized void use(int storage, long nbytes) {
        if (!used.get(storage)) {
            long sum = nbytes > Long.MAX_VALUE - total ? Long.MAX_VALUE : total + nbytes;
            check(sum);
            total = sum;
            used.set(storage);
        }
    }

    /// Checks that storages are not much larger than the file.
    ///
    /// @param bytes the number of bytes
    void check(long bytes) {
        if (bytes - commit.committedLength() > limits.maxExpansion()) {
            throw Rule.V7_EXPANSION.broken("the storages have " + bytes + " bytes, " + limits.maxExpansion()
                    + " more than the file is the limit", FormatException.NO_OFFSET);
        }
    }
}
