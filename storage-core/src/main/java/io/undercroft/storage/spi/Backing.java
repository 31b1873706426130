package io.undercroft.storage.spi;

/// The file behind the bytes of an allocation, queried by bulk reads. Found as the
/// [backing][io.undercroft.storage.Storage#backing] of a storage; of a slice, it is that of its base. Instances are
/// safe for use by several threads, and work for as long as the allocation is not freed.
public interface Backing {
    /// Throws if the file is shorter now than what is mapped of it. Called after bytes were read: those between the end
    /// of a file that was cut and the end of its last page read as zeros, without a fault.
    ///
    /// @throws RuntimeException that names the file that was cut, and where
    void checkNotCut();

    /// {@return whether the file has checksums that [#check] compares} Without, nothing is checked.
    default boolean hasChecksums() {
        return false;
    }

    /// Compares bytes with the checksums of the file, unless they were compared before. Bytes in memory that do not
    /// match are read from the file again: if the file matches its checksum, the program wrote to the memory, which is
    /// no damage.
    ///
    /// @param start the first byte, counted from the start of the allocation
    /// @param end the end, exclusive
    /// @throws RuntimeException if bytes are damaged
    default void check(long start, long end) {}

    /// {@return whether the file has a checksum of exactly these bytes, and a copy of them matches it} That is cheaper
    /// than [#check], which callers use otherwise.
    ///
    /// @param start the first byte, counted from the start of the allocation
    /// @param end the end, exclusive
    /// @param crc32c the CRC32C of the copy
    default boolean matches(long start, long end, int crc32c) {
        return false;
    }
}
