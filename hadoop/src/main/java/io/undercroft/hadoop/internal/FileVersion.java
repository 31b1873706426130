package io.undercroft.hadoop.internal;

import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.jspecify.annotations.Nullable;

/// What tells a file from one that replaced it.
///
/// @param size its size in bytes
/// @param modified when it was written last, in milliseconds; 0 if it has an entity tag, whose time of a listing may be
///     another one
/// @param etag its entity tag, or null
record FileVersion(long size, long modified, @Nullable String etag) {
    static FileVersion of(FileStatus status) {
        String etag = status instanceof EtagSource source ? source.getEtag() : null;
        return etag == null || etag.isEmpty()
                ? new FileVersion(status.getLen(), status.getModificationTime(), null)
                : new FileVersion(status.getLen(), 0, etag);
    }
}
