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

/// An open file that can be mapped: through libc where it can be called, else through the JDK's channels. The first
/// small files of a process are opened by the JDK in any case, which takes less time than to bind libc.
///
/// Callers check all ranges against [#size], and call nothing during or after [#close].
public sealed interface HostFile permits PosixFile, ChannelFile {
    /// The message for files that are not regular.
    String NOT_REGULAR = "only regular files can be mapped, and this is a pipe, a socket or a device; copy it into a "
            + "file";

    /// The message for a process that has as many files open as it may.
    String TOO_MANY_OPEN = "too many files are open; close some, or raise the limit (ulimit -n)";

    /// Opens a regular file in the way that takes the least time: a small one through the JDK as long as libc is not
    /// bound, unless it is mapped [MapMode#SHARED].
    ///
    /// @param path the file
    /// @param mode the mode of its mappings
    /// @return the file
    /// @throws IOException if it cannot be opened
    static HostFile open(Path path, MapMode mode) throws IOException {
        if (mode != MapMode.SHARED && !Libc.hasBegun()) {
            ChannelFile small = ChannelFile.openSmall(path, mode);
            if (small != null) {
                return small;
            }
        }
        return open(Libc.find(), path, mode);
    }

    /// Opens a regular file for reading, and for writing too if the mode is [MapMode#SHARED]. (If a channel is open for
    /// writing, mapping past the end of the file would extend it.) If libc can be called, this never blocks, whatever
    /// file is at the path.
    ///
    /// @param libc the library, if there is one
    /// @param path the file
    /// @param mode the mode of its mappings
    /// @return the file
    /// @throws IOException if it cannot be opened
    static HostFile open(Optional<Libc> libc, Path path, MapMode mode) throws IOException {
        return libc.isPresent() ? PosixFile.open(libc.get(), path, mode) : ChannelFile.open(path, mode);
    }

    /// Creates an empty file for reading and writing, for its owner only.
    ///
    /// @param libc the library, if there is one
    /// @param path the file
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
    /// @param end the minimum size, in bytes
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
    /// @param nbytes the minimum size in bytes, more than 0
    /// @throws IOException if there is no space, or this is not a file that can grow
    void grow(long nbytes) throws IOException;

    /// Reads bytes at a position.
    ///
    /// @param offset the offset in the file
    /// @param into the destination, on or off the heap
    /// @return the number of bytes read; less than requested at the end of the file only
    /// @throws IOException if reading failed
    long read(long offset, MemorySegment into) throws IOException;

    /// Reads bytes at a position that are not read again soon: past the page cache, if they are not there and the
    /// system supports it.
    ///
    /// @param offset the offset in the file
    /// @param into the destination, on or off the heap
    /// @return the number of bytes read; less than requested at the end of the file only
    /// @throws IOException if reading failed
    default long readOnce(long offset, MemorySegment into) throws IOException {
        return read(offset, into);
    }

    /// {@return whether [#readOnce] reads bytes past the page cache, if the memory for them is aligned to pages}
    ///
    /// @param offset the offset in the file
    /// @param nbytes the number of bytes
    default boolean isReadPastCache(long offset, long nbytes) {
        return false;
    }

    /// {@return whether the whole file is mapped at little cost, however few of its bytes are used}
    boolean mapsLazily();

    /// {@return whether mapped bytes are those of the file, until they are written to, and no copies}
    boolean mapsInPlace();

    /// Maps bytes, and then checks that the file was not truncated.
    ///
    /// @param offset the offset in the file; any
    /// @param length the number of bytes, more than 0
    /// @param arena the lifetime of the mapping
    /// @return exactly these bytes
    /// @throws IOException if mapping failed
    MemorySegment map(long offset, long length, Arena arena) throws IOException;

    /// Maps all bytes that the file has now.
    ///
    /// @param arena the lifetime of the mapping
    /// @return the bytes
    /// @throws IOException if mapping failed
    default MemorySegment mapAll(Arena arena) throws IOException {
        while (true) {
            long length = size();
            try {
                return map(0, length, arena);
            } catch (EOFException e) {
                if (size() == length) {
                    throw e;
                }
            }
        }
    }

    /// Maps or copies runs of this and other files into one range of addresses, private or read-only as this one is,
    /// and then checks that no file was truncated.
    ///
    /// @param runs the runs, none of them empty
    /// @param length the sum of their lengths
    /// @param budget the limit on the number of mappings
    /// @param arena the lifetime of the range
    /// @return exactly these bytes
    /// @throws IOException if mapping or reading failed; nothing stays mapped then
    MemorySegment stitch(List<StitchedMapping.Run> runs, long length, MapBudget budget, Arena arena) throws IOException;

    /// {@return whether this file is still at a path: not if it was removed, or another one was renamed to the path}
    ///
    /// @param path the path
    /// @throws IOException if the system call fails
    boolean isAt(Path path) throws IOException;

    /// Closes the file; mappings stay. Does nothing the second time.
    void close();
}
