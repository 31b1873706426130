package io.undercroft.mmap.spi;

import io.undercroft.mmap.RemoteFileException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// An object in a store whose bytes are read by ranges, such as a file on a web server. A
/// [MappedFile][io.undercroft.mmap.MappedFile#open(RangeSource, io.undercroft.mmap.MapMode,
/// io.undercroft.mmap.MapBudget, java.util.Optional)] presents it as a file.
///
/// The size is constant, and reads fail if the object was replaced after it was opened. Implementations retry failures
/// that may be temporary, a bounded number of times, and log each retry. All methods are called by several threads
/// concurrently.
public interface RangeSource extends AutoCloseable {
    /// Returns the number of bytes to fetch when an object is opened: 64 KiB, as most formats have their index at the
    /// start, and many objects are smaller; 4 KiB for a `.croft` file, whose index is at its end.
    ///
    /// @param path the path of the object, without a query
    /// @return the number of bytes
    static int startLength(String path) {
        return path.endsWith(".croft") ? 4 << 10 : 64 << 10;
    }

    /// {@return the name of the object for messages, in one line, without credentials}
    String location();

    /// {@return the size of the object, in bytes}
    long size();

    /// {@return the first bytes of the object that were fetched when it was opened; may be empty} Called once.
    MemorySegment start();

    /// Reads a range. The bytes may be those of another version of the object until [#confirm] has returned; callers do
    /// not use them before.
    ///
    /// @param offset the offset of the first byte in the object
    /// @param into the destination, which is filled completely, by any thread. It is not written after the method has
    ///     returned or thrown
    /// @throws RemoteFileException if the object was removed or replaced, or the store refuses the request or does not
    ///     respond
    /// @throws IOException if the source is closed
    void read(long offset, MemorySegment into) throws IOException;

    /// Confirms that all bytes that were read before are those of the object that was opened. Does nothing if requests
    /// to the store name the version of the object.
    ///
    /// @throws RemoteFileException if the object was removed or replaced, or the store refuses the request or does not
    ///     respond
    /// @throws IOException if the source is closed
    void confirm() throws IOException;

    /// {@return whether the object was neither replaced nor removed}
    ///
    /// @throws RemoteFileException if the store refuses the request or does not respond
    /// @throws IOException if the source is closed
    boolean isCurrent() throws IOException;

    /// Opens another object of the same store, with the same credentials and options.
    ///
    /// @param path the path relative to the directory of this object, with `/` as separator. No part is empty, `.` or
    ///     `..`; other characters have no special meaning
    /// @return the object
    /// @throws RemoteFileException if it does not exist, or the store refuses or does not respond
    /// @throws IOException if the source is closed
    RangeSource sibling(String path) throws IOException;

    /// Closes the source. Reads that are in progress throw. The second and later calls do nothing.
    @Override
    void close();
}
