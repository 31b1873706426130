package io.undercroft.mmap.spi;

import io.undercroft.mmap.RemoteFileException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// An object in a store whose bytes are read by ranges, such as a file on a web server. A
/// [MappedFile][io.undercroft.mmap.MappedFile#open(RangeSource, io.undercroft.mmap.MapMode,
/// io.undercroft.mmap.MapBudget, java.util.Optional)] makes it look like a file of the host.
///
/// The object is the one that was opened: its size is constant, and reading fails if it was replaced meanwhile.
/// Implementations retry what may succeed later, a bounded number of times, and log each retry. All methods are called
/// by several threads at once.
public interface RangeSource extends AutoCloseable {
    /// Returns how many bytes to fetch when an object is opened: 64 KiB, as most formats have their index at the start,
    /// and many objects are smaller. Of a `.croft` file, whose index is at its end, 4 KiB are enough.
    ///
    /// @param path the path of the object, without a query
    /// @return a number of bytes
    static int startLength(String path) {
        return path.endsWith(".croft") ? 4 << 10 : 64 << 10;
    }

    /// {@return the name of the object for messages, in one line, without credentials}
    String location();

    /// {@return the size of the object, in bytes}
    long size();

    /// {@return the first bytes of the object, as far as opening it has fetched them; may be empty} Called once.
    MemorySegment start();

    /// Reads a range. Whether the bytes are those of the object that was opened is certain when [#confirm] has
    /// returned, which is called before they are used.
    ///
    /// @param offset the offset of its first byte in the object
    /// @param into the destination, which may be written to by any thread; filled completely. It is not written to
    ///     after this returned or threw
    /// @throws RemoteFileException if the object is gone or was replaced, or the store refuses or does not respond
    /// @throws IOException if the source is closed
    void read(long offset, MemorySegment into) throws IOException;

    /// Confirms that all bytes that were read before are those of the object that was opened. Does nothing if requests
    /// of the store name the version that they want.
    ///
    /// @throws RemoteFileException if the object is gone or was replaced, or the store refuses or does not respond
    /// @throws IOException if the source is closed
    void confirm() throws IOException;

    /// {@return whether the object was neither replaced nor removed}
    ///
    /// @throws RemoteFileException if the store refuses or does not respond
    /// @throws IOException if the source is closed
    boolean isCurrent() throws IOException;

    /// Opens another object of the same store, with the same credentials and options.
    ///
    /// @param path relative to the directory of this object, with `/` between its parts, none of which is empty, `.` or
    ///     `..`; no characters of it have another meaning
    /// @return the object
    /// @throws RemoteFileException if it is not there, or the store refuses or does not respond
    /// @throws IOException if the source is closed
    RangeSource sibling(String path) throws IOException;

    /// Ends reads that are under way, which then throw. Does nothing the second time.
    @Override
    void close();
}
