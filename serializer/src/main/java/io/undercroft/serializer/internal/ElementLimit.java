package io.undercroft.serializer.internal;

/// The limit of the bytes of elements that are processed or written for what a file stores.
public final class ElementLimit {
    private static final long LEAST = 256L << 20;
    private static final long FACTOR = 64;

    private ElementLimit() {}

    /// {@return the maximum number of bytes of elements that are processed or written for what a file stores: 256 MiB
    /// and 64 times the stored bytes} A tensor can repeat one stored element any number of times, several storages can
    /// have the same bytes of a file, and runs of zeros are not stored.
    ///
    /// @param stored the number of stored bytes, 0 or more
    public static long most(long stored) {
        return LEAST + FACTOR * Math.min(stored, (Long.MAX_VALUE - LEAST) / FACTOR);
    }

    /// {@return the exception for a state that would be written as more bytes than [#most] or the options
    /// of the save allow}
    ///
    /// @param what what would have how many bytes
    public static IllegalArgumentException exceeded(String what) {
        return new IllegalArgumentException(what + "; save a part of it, or allow more with SaveOptions.largest");
    }
}
