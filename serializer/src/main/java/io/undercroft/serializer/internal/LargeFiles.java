package io.undercroft.serializer.internal;

import io.undercroft.mmap.AnonymousMemory;
import java.util.OptionalLong;

/// Which files are read past the page cache, where [io.undercroft.mmap.MappedFile#readOnce] can do that: those whose
/// bytes would take their memory twice, and for whose pages those of other files would have to leave.
public final class LargeFiles {
    /// Smaller files are read through the page cache in any case.
    private static final long LEAST = 1L << 28;
    /// The part of the available memory from which on a file is large.
    private static final int PART = 4;

    private LargeFiles() {}

    /// {@return whether a file is large, compared with the memory that is available now}
    ///
    /// @param size its size in bytes
    public static boolean isLarge(long size) {
        return size >= LEAST && isLarge(size, AnonymousMemory.available());
    }

    /// {@return whether a file has more bytes than the memory that is available now, so that each time that all of it
    /// is read, the page cache has lost what comes next}
    ///
    /// @param size its size in bytes
    public static boolean exceedsMemory(long size) {
        return size >= LEAST && size > AnonymousMemory.available().orElse(Long.MAX_VALUE);
    }

    /// As [#isLarge(long)]. Where the available memory is unknown, no file is large.
    static boolean isLarge(long size, OptionalLong available) {
        return available.isPresent() && size > available.getAsLong() / PART;
    }
}
