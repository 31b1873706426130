package io.undercroft.serializer.internal.disk;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.serializer.internal.LargeFiles;
import io.undercroft.serializer.spi.Sink;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.OptionalLong;

/// A file system, as far as writers need one. Safe for use by several threads.
public interface Disk {
    /// {@return the file system of this computer}
    static Disk system() {
        return system(RegularFiles::open);
    }

    /// {@return the file system of this computer, whose files are opened by the caller, for instance to record writes}
    ///
    /// @param channels opens the files
    static Disk system(ChannelOpener channels) {
        return new SystemDisk(channels);
    }

    /// Opens the channels of a disk to its files. A file that is written past the page cache has two.
    @FunctionalInterface
    interface ChannelOpener {
        /// Opens a file for reading and writing.
        ///
        /// @param path its name
        /// @param options the other options
        /// @return the channel
        /// @throws IOException if it cannot be opened
        FileChannel open(Path path, OpenOption... options) throws IOException;
    }

    /// Creates a file that is locked until it is closed, which marks it as being written.
    ///
    /// @param path its name, which no file has yet
    /// @return the empty file; another process may already have deleted it as abandoned
    /// @throws IOException if there is one, or it cannot be made
    DiskFile create(Path path) throws IOException;

    /// Opens a file for reading and writing.
    ///
    /// @param path its name
    /// @return the file
    /// @throws IOException if there is none, or it may not be written to
    DiskFile open(Path path) throws IOException;

    /// Gives a file another name, in one step; a file that has this name already loses it.
    ///
    /// @param from its name
    /// @param to its new name, in the same directory
    /// @throws IOException if that fails; nothing has changed then
    void rename(Path from, Path to) throws IOException;

    /// Deletes a file, if it is there.
    ///
    /// @param path its name
    /// @throws IOException if that fails
    void delete(Path path) throws IOException;

    /// Makes the names in a directory durable, where the system can.
    ///
    /// @param directory the directory
    /// @throws IOException if that fails
    void forceDirectory(Path directory) throws IOException;

    /// {@return whether a commit reads what a file has past the page cache, to compare it with the state} The second
    /// save to a large file does. Later ones do only if the file is larger than the memory: a file with several
    /// snapshots will have more, for which it is in the page cache then.
    ///
    /// @param size the size of the file
    /// @param snapshots how many it has
    default boolean comparesPastCache(long size, long snapshots) {
        return snapshots == 1 ? LargeFiles.isLarge(size) : LargeFiles.exceedsMemory(size);
    }

    /// {@return the number of bytes that this process may still write to a file system, empty if unknown}
    ///
    /// @param directory a directory of the file system
    /// @throws IOException if it cannot be queried
    default OptionalLong usableSpace(Path directory) throws IOException {
        return OptionalLong.empty();
    }

    /// An open file. Several threads may read and write at once, but for the same bytes; all else belongs to one
    /// thread.
    interface DiskFile extends ByteSource, Sink, AutoCloseable {
        @Override
        default Order order() {
            return Order.CONCURRENT;
        }

        /// {@return whether bytes are not in memory, and [#readOnce] reads them past the page cache}
        ///
        /// @param offset the first byte
        /// @param length the number of bytes
        default boolean isReadPastCache(long offset, long length) {
            return false;
        }

        /// Fills a segment as [#read], with bytes that are not read again soon.
        ///
        /// @param offset the first byte to read
        /// @param into the destination; aligned to pages, or the page cache is used
        /// @throws java.io.EOFException if the file ends before
        /// @throws IOException if reading fails
        default void readOnce(long offset, MemorySegment into) throws IOException {
            read(offset, into);
        }

        /// Makes all that was written durable.
        ///
        /// @throws IOException if that fails; the contents of the disk are then undefined
        void force() throws IOException;

        /// Cuts the file.
        ///
        /// @param size its new size in bytes, at most the one it has
        /// @throws IOException if that fails
        void truncate(long size) throws IOException;

        /// {@return whether a path still refers to this file} Always true where the system does not report it.
        ///
        /// @param path the name it was opened by
        /// @throws IOException if it cannot be found out
        boolean isAt(Path path) throws IOException;

        @Override
        void close() throws IOException;
    }
}
