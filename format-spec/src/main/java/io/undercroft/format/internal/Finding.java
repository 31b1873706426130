package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import org.jspecify.annotations.Nullable;

/// A problem that [Verifier] found.
///
/// @param rule the rule that is broken, or null if the range cannot be read
/// @param sequence the number of the snapshot that is hit, or [#WHOLE_FILE]. Bytes that several snapshots or storages
///     have in common give a damage for each of them.
/// @param storage the number in that snapshot of the storage with damaged bytes, or [#NO_STORAGE]
/// @param base the file that contains the range: 0 is this file, any other number *n* the file of [Snapshot#base] *n* -
///     1 in that snapshot
/// @param offset the first byte of the damaged range in that file, or [FormatException#NO_OFFSET]
/// @param length the number of bytes that the range has
/// @param what the problem
public record Finding(@Nullable Rule rule, long sequence, int storage, int base, long offset, long length,
        String what) {
    /// The value where no snapshot is hit more than others.
    public static final long WHOLE_FILE = 0;
    /// The value if no storage is damaged.
    public static final int NO_STORAGE = -1;
}
