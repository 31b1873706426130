package io.undercroft.mmap.internal;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/// An open file that can be mapped: through libc where it can be called, else through the JDK's channels.
///
/// Callers check all ranges against [#size], and call nothing during or after [#close].
public sealed interface HostFile permits PosixFile, ChannelFile {
    /// Why something else than a regular file is refused.
    String NOT_REGULAR = "only regular files can be mapped, and this is a pipe, a socket or a device; copy it into a "
            + "file";

    /// Opens a regular file, and where libc can be called never waits for anything, whatever has the path by then: for
    /// reading, and for writing where the mode is [MapMode#SHARED] only. (A channel that is open for writing would grow
    /// the file when a map reaches past its end.)
    ///
    /// @param libc the library, if there is one
    /// @param path which file
    /// @param mode how it will be mapped
    /// @return the file
    /// @throws IOException if it cannot be opened
    static HostFile open(Optional<Libc> libc, Path path, MapMode mode) throws IOException {
        return libc.isPresent() ? PosixFile.open(libc.get(), path, mode) : ChannelFile.open(path, mode);
    }

    /// {@return the file behind a descriptor, which is closed with it}
    ///
    /// @param libc the library
    /// @param fd the descriptor, open for writing only where the mode is [MapMode#SHARED]
    /// @param mode how it will be mapped
    static HostFile of(Libc libc, int fd, MapMode mode) {
        return PosixFile.of(libc, fd, mode);
    }

    /// Creates an empty file for reading and writing, for its owner only.
    ///
    /// @param libc the library, if there is one
    /// @param path which file
    /// @return the file, to be mapped [MapMode#SHARED]
    /// @throws java.nio.file.FileAlreadyExistsException if it is there already
    /// @throws IOException if it cannot be created
    static HostFile create(Optional<Libc> libc, Path path) throws IOException {
        return libc.isPresent() ? PosixFile.create(libc.get(), path) : ChannelFile.create(path);
    }

    /// {@return its size now, in bytes}
    ///
    /// @throws IOException if the system call fails
    long size() throws IOException;

    /// {@return the number of the file in its file system, as far as the system reports that of an open one}
    ///
    /// @throws IOException if the system call fails
    OptionalLong identity() throws IOException;

    /// Fails if the file is shorter now than it should be.
    ///
    /// @param end how long it should be at least, in bytes
    /// @throws EOFException if it is shorter; the message gives its length
    /// @throws IOException if the system call fails
    default void checkInside(long end) throws IOException {
        long now = size();
        if (now < end) {
            throw new EOFException("the file ends at byte " + now);
        }
    }

    /// Makes the file longer with zeros, unless it is that long already. No byte of it changes.
    ///
    /// @param nbytes how long it has to be at least, more than 0
    /// @throws IOException if there is no space, or this is not a file that can grow
    void grow(long nbytes) throws IOException;

    /// Reads bytes at a position.
    ///
    /// @param offset from which byte of the file
    /// @param into where to, on or off the heap
    /// @return how many bytes were read; less than requested at the end of the file only
    /// @throws IOException if reading failed
    long read(long offset, MemorySegment into) throws IOException;

    /// {@return whether a map costs nothing for bytes that are not touched}
    boolean mapsLazily();

    /// Maps bytes, and then looks whether they are still there.
    ///
    /// @param offset from which byte of the file; any
    /// @param length how many bytes, more than 0
    /// @param arena how long the mapping lives
    /// @return exactly these bytes
    /// @throws IOException if mapping failed
    MemorySegment map(long offset, long length, Arena arena) throws IOException;

    /// Maps or copies runs of this and other files into one range of addresses, private or read-only as this one is,
    /// and then looks whether they are still there.
    ///
    /// @param runs which, none of them empty
    /// @param length the sum of their lengths
    /// @param budget how many mappings there may be
    /// @param arena how long the range lives
    /// @return exactly these bytes
    /// @throws IOException if mapping or reading failed; nothing stays mapped then
    MemorySegment stitch(List<ByteRun> runs, long length, MapBudget budget, Arena arena) throws IOException;

    /// {@return whether a path still means this file: not when another one was renamed over it, or when it was removed}
    ///
    /// @param path which path
    /// @throws IOException if the system call fails
    boolean isAt(Path path) throws IOException;

    /// Closes the file; mappings stay. Does nothing the second time.
    void close();
}
