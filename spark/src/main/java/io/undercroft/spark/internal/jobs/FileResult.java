package io.undercroft.spark.internal.jobs;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/// What became of a file: one row of the report of a job.
///
/// @param file its URI, or in a comparison of two trees its path below both
/// @param status what became of it
/// @param detail a text about that; null if there is nothing to say
/// @param target the file that was written; null if none was
/// @param bytes the size of the file, or the number of its bytes that were looked at
/// @param result what the job computes: the bytes that were not verified, the size of the target, the number of tensors
///     that differ, or the bytes that no earlier file has
record FileResult(String file, Status status, @Nullable String detail, @Nullable String target, long bytes,
        long result) implements Serializable {
    /// What became of a file, from the least to the most severe.
    enum Status {
        /// There was nothing to do.
        CURRENT(0),
        /// All is well.
        OK(0),
        /// No damage was found, but not everything could be verified, as the format has no checksums.
        UNVERIFIED(0),
        /// Two files differ, or only one tree has the file.
        DIFFERENT(5),
        /// A rule forbids what the job should do.
        REFUSED(2),
        /// It cannot be read, or its format is not known.
        UNREADABLE(3),
        /// It is damaged.
        DAMAGED(4),
        /// Something else failed, such as writing.
        FAILED(1);

        private final int exitCode;

        Status(int exitCode) {
            this.exitCode = exitCode;
        }

        /// {@return the exit code of a job whose most severe result this is, as `croft` has them}
        int exitCode() {
            return exitCode;
        }
    }

    /// A result without a text or a target.
    FileResult(String file, Status status, long bytes, long result) {
        this(file, status, null, null, bytes, result);
    }

    /// A result without a target.
    FileResult(String file, Status status, @Nullable String detail, long bytes, long result) {
        this(file, status, detail, null, bytes, result);
    }
}
