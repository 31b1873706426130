package io.undercroft.serializer.internal.disk;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.spi.Sink;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.internal.support.Faults;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The place of a file to write: on this host, or in a store.
public sealed interface Target permits FileTarget, StoredTarget {
    /// {@return the place of a file on this host}
    ///
    /// @param path the name of the file
    /// @param disk the file system that it is on
    /// @throws IOException as [FileTarget#of]
    static Target of(Path path, Disk disk) throws IOException {
        return FileTarget.of(path, disk);
    }

    /// {@return the place of a file in a store}
    ///
    /// @param place the place
    /// @param settings the settings of the store that the options of a save may have
    static Target of(StoreTarget place, Set<String> settings) {
        return new StoredTarget(place, settings);
    }

    /// {@return the name that the caller gave, for messages}
    String location();

    /// {@return the last part of the name, whose suffix names the format}
    String fileName();

    /// {@return the path that the caller gave; null in a store}
    @Nullable
    Path path();

    /// {@return the path with symbolic links resolved, whether or not there is a file; null in a store}
    @Nullable
    Path file();

    /// {@return the same place of a file that is not forced to the disk before it becomes visible; this in a store}
    Target unforced();

    /// {@return the place of another file in the same directory, which is forced if this is}
    ///
    /// @param name its name, which is [plain][io.undercroft.serializer.spi.Draft#isPlainName]
    /// @throws IOException as [FileTarget#of]
    Target sibling(String name) throws IOException;

    /// Takes the lock of the file, if there are locks at this place.
    ///
    /// @param isAlways whether to lock also a name that no file has and no writer uses
    /// @return the lock, or what does nothing when it is closed
    /// @throws java.nio.file.NoSuchFileException if there is no directory for the file
    /// @throws IOException as [WriterLock#of]
    Closeable lock(boolean isAlways) throws IOException;

    /// Refuses what certainly does not fit, before the first byte.
    ///
    /// @param nbytes the minimum number of bytes to write
    /// @throws IOException if there are not so many free
    void requireSpace(long nbytes) throws IOException;

    /// Refuses to replace a file of a set: it may belong to an existing set, or contain the state itself, and would be
    /// lost if writing failed.
    ///
    /// @throws IOException if there is a file
    void requireAbsent() throws IOException;

    /// Makes it durable which files are not there. Otherwise an index that was just deleted could exist again after a
    /// power cut, next to files of another set.
    ///
    /// @throws IOException if that fails
    void forceDirectory() throws IOException;

    /// Begins to write the file.
    ///
    /// @param condition the condition under which it becomes visible
    /// @param rule whether the file there may be replaced, if the condition allows it
    /// @return the file, empty
    /// @throws IOException if it cannot be made, or must not be replaced
    Begun begin(Creation condition, Replacing rule) throws IOException;

    /// Deletes the file, if it is there.
    ///
    /// @throws IOException if that fails
    void delete() throws IOException;

    /// A file that is being written, of which nothing is visible before it is committed. Closing it without a commit
    /// deletes what was written. For use by one thread, except for writing.
    interface Begun extends Sink, Closeable {
        /// {@return the source to read back what was written; null if there is none}
        @Nullable
        ByteSource source();

        /// {@return the number of bytes that it has, skipped ones included}
        ///
        /// @throws IOException if it cannot be found out
        long size() throws IOException;

        /// Makes the file durable and visible under its name, in one step. Called once.
        ///
        /// @param lastWord called when only the name is missing; what it throws ends this, and nothing was changed
        /// @throws IOException if that fails; see [#visibility]
        void commit(Runnable lastWord) throws IOException;

        /// {@return whether the file is visible} It may be, even if the commit failed.
        Visibility visibility();
    }

    /// Whether others see a file.
    enum Visibility {
        /// They do not.
        HIDDEN,
        /// A store did not respond when it was asked to make it visible.
        UNKNOWN,
        /// They do.
        VISIBLE
    }

    /// Decides whether a file may be replaced. Called before anything is written and, on this host, just before the new
    /// file gets its name.
    @FunctionalInterface
    interface Replacing {
        /// Allows every file to be replaced.
        Replacing ANY = _ -> {};

        /// Refuses a file that must stay.
        ///
        /// @param target the file, which need not be there
        /// @throws IOException if it must not be replaced
        void check(Target target) throws IOException;
    }

    /// Something that writes files.
    @FunctionalInterface
    interface Work<T> {
        /// Does it.
        ///
        /// @return the result of the action
        /// @throws IOException if it fails
        T run() throws IOException;
    }

    /// Writes, and replaces exceptions for interruptions and faults in mapped memory by descriptive ones.
    ///
    /// @param <T> the type of the result
    /// @param work the work that writes the file
    /// @return the result of the work
    /// @throws IOException if it fails
    default <T> T write(Work<T> work) throws IOException {
        return write(location(), work);
    }

    /// Writes what has a name only; see [#write(Work)].
    ///
    /// @param <T> the type of the result
    /// @param name the name
    /// @param work the work that writes it
    /// @return the result of the work
    /// @throws IOException if it fails
    static <T> T write(String name, Work<T> work) throws IOException {
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException();
            }
            return reading(work);
        } catch (ClosedByInterruptException e) {
            throw unchanged(name, "the thread that saves was interrupted", e);
        } catch (InternalError e) {
            if (!Faults.isFault(e)) {
                throw e;
            }
            throw unchanged(name, "mapped bytes of a file that is saved could not be read: it was cut, or its disk "
                    + "failed", e);
        }
    }

    /// Runs work that reads the state. The exception for a storage that is first mapped by the work, and cannot be
    /// mapped, becomes an [IOException], as for one that cannot be read.
    ///
    /// @param <T> the type of the result
    /// @param work the work
    /// @return the result of the work
    /// @throws IOException if it fails
    static <T> T reading(Work<T> work) throws IOException {
        try {
            return work.run();
        } catch (MappingException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static IOException unchanged(String name, String what, Throwable cause) {
        return AtomicFile.withCause(new FileSystemException(name, null, what + "; no file was made or changed"),
                cause);
    }
}
