package io.undercroft.cli.internal;

import io.undercroft.serializer.Checkpoint;
import java.util.Collection;
import java.util.stream.LongStream;

/// Sizes of files and of what is in them. A short file can have storages of 2^63-1 bytes, so sums are limited.
public final class Sizes {
    private Sizes() {}

    /// {@return the size of a file as text; with the files that it names, if it is the index of a set}
    ///
    /// @param checkpoint the open file
    public static String of(Checkpoint checkpoint) {
        Collection<Long> sizes = checkpoint.fileSizes().values();
        return Text.bytes(sum(sizes.stream().mapToLong(Long::longValue)))
                + (sizes.size() == 1 ? "" : " in " + sizes.size() + " files");
    }

    /// {@return the sum of sizes; at most 2^63-1}
    ///
    /// @param sizes the sizes in bytes, 0 or more
    public static long sum(LongStream sizes) {
        return sizes.reduce(0, Sizes::sum);
    }

    /// {@return the sum of two sizes; at most 2^63-1}
    ///
    /// @param one a size in bytes, 0 or more
    /// @param other another one
    public static long sum(long one, long other) {
        return one + Math.min(other, Long.MAX_VALUE - one);
    }
}
