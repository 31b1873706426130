package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Checks whether a file may be written to.
final class WriteAccess {
    private static final long READ_ONLY_FEATURES = 40;

    private WriteAccess() {}

    /// Refuses a file that a writer must not change (section 10.4 of the format).
    ///
    /// @param file the file
    /// @param newest the snapshot that was opened
    /// @throws FormatException if it is sealed, has features that only newer versions can write, or if its newest
    ///     snapshot is damaged, which is something else than a torn append
    /// @throws IOException if reading fails
    static void check(ByteSource file, Snapshot newest) throws IOException {
        if (newest.header().isSealed()) {
            throw readOnly("the file is sealed: it was written in one go, and nothing is appended to it",
                    "Copy its snapshot to a new file, and write to that");
        }
        if (!newest.header().isWritable()) {
            throw readOnly("the file has features (" + Long.toHexString(newest.header().readOnlyFeatures())
                    + " hex) that only newer versions can write", "Use the version that wrote the file");
        }
        FormatException skippedCommit = newest.skippedCommit();
        if (skippedCommit != null && isWhole(file, newest.header().recordOffset(newest.commit().sequence() + 1))) {
            throw new FormatException(skippedCommit.code(),
                    "the newest snapshot is damaged, and writing would lose it: " + skippedCommit.what(),
                    skippedCommit.offset(), "Restore the file from a copy, or export the snapshot before to a new file",
                    skippedCommit);
        }
    }

    private static FormatException readOnly(String what, String remedy) {
        return new FormatException("CROFT-READ-ONLY", what, READ_ONLY_FEATURES, remedy);
    }

    /// Returns whether a slot holds a whole record; after a torn append it does not.
    private static boolean isWhole(ByteSource file, long slot) throws IOException {
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        if (file.size() < slot + FileLayout.COMMIT_BYTES) {
            return false;
        }
        file.read(slot, record);
        try {
            CommitRecord.decode(record, slot);
            return true;
        } catch (FormatException e) {
            return !e.code().equals(Rule.V14_CHECKSUM.code());
        }
    }
}
