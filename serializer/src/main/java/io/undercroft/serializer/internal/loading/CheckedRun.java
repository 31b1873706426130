package io.undercroft.serializer.internal.loading;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// A run of bytes of a storage that a file has a checksum of. Allocations reference it, so it must not reference the
/// storages of the file, which could not be collected before. Safe for any thread.
public interface CheckedRun {
    /// {@return the first byte, counted from the start of the storage}
    long start();

    /// {@return the end, exclusive}
    long end();

    /// {@return the checksum of the run, to which nothing was added yet}
    ///
    /// @throws IOException if reading the bytes before the storage fails, which the checksum may cover too
    IncrementalChecksum checksum() throws IOException;

    /// {@return whether the run is exactly these bytes, and its CRC32C is this} False if the file has another checksum.
    ///
    /// @param from the first byte
    /// @param to the end, exclusive
    /// @param crc32c the CRC32C of a copy of these bytes
    default boolean matches(long from, long to, int crc32c) {
        return false;
    }

    /// {@return whether the bytes match, in memory or, as a program may have written to that, in the file}
    ///
    /// @param mapped the bytes of the run in memory, which may be those of a file that is truncated meanwhile
    /// @throws IOException if reading fails
    boolean isIntact(MemorySegment mapped) throws IOException;

    /// {@return the exception for access to bytes of a run that is not intact}
    RuntimeException refusal();
}
