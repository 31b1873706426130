package io.undercroft.storage.spi;

/// The file that the bytes of an allocation are mapped from, which methods that access many bytes query. See
/// [Storage#backing][io.undercroft.storage.Storage#backing]. Instances are thread-safe, and can be used until the
/// allocation is freed.
public interface Backing {
    /// Checks that the file still has all bytes that are mapped. It is called after bytes were read: if a file is
    /// truncated, the bytes between its end and the end of its last page read as zeros, without an error.
    ///
    /// @throws RuntimeException if the file was truncated; the message names the file and its size
    void checkNotCut();

    /// {@return whether the file has checksums that [#check] compares}
    default boolean hasChecksums() {
        return false;
    }

    /// Compares bytes with the checksums of the file, unless they were compared before. Bytes in memory that do not
    /// match are read from the file again: if these match, the program has written to the memory, and nothing is
    /// damaged. By default, does nothing.
    ///
    /// @param start the offset of the first byte in the allocation
    /// @param end the end, exclusive
    /// @throws RuntimeException if bytes are damaged
    default void check(long start, long end) {}

    /// {@return whether the file has a checksum of exactly these bytes, and it equals that of a copy} If not, callers
    /// use [#check], which costs more.
    ///
    /// @param start the offset of the first byte in the allocation
    /// @param end the end, exclusive
    /// @param crc32c the CRC32C of the copy
    default boolean matches(long start, long end, int crc32c) {
        return false;
    }
}
