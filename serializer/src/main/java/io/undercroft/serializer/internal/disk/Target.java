package io.undercroft.serializer.internal.disk;

import io.undercroft.storage.spi.Faults;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;

/// The path of a file to write.
///
/// @param path the name that the caller gave, for messages
/// @param file the path with symbolic links resolved; the file need not exist
/// @param directory the directory of that file
public record Target(Path path, Path file, Path directory) {
    private static final int MOST_LINKS = 40;

    /// Follows symbolic links.
    ///
    /// @param path a name
    /// @return the target of a file of that name
    /// @throws IOException if the links go round in circles, the path is not one of the host, or it is the root
    ///     directory
    public static Target of(Path path) throws IOException {
        RegularFiles.requireHost(path);
        Path file = path.toAbsolutePath();
        for (int links = 0; Files.isSymbolicLink(file); links++) {
            if (links == MOST_LINKS) {
                throw new FileSystemException(path.toString(), null, "its symbolic links go round in circles");
            }
            file = file.resolveSibling(Files.readSymbolicLink(file));
        }
        Path directory = file.getParent();
        if (directory == null) {
            throw new FileSystemException(path.toString(), null, "it is a directory; name a file in it");
        }
        return new Target(path, file, directory);
    }

    /// {@return whether there is something of that name}
    public boolean exists() {
        return Files.exists(file);
    }

    /// Checks that there is a directory for the file.
    ///
    /// @throws NoSuchFileException if there is none
    public void requireDirectory() throws NoSuchFileException {
        if (!Files.isDirectory(directory)) {
            throw new NoSuchFileException(path.toString(), null,
                    "the directory " + directory + " does not exist; make it first");
        }
    }

    /// Refuses what does not fit on the disk, before the first byte.
    ///
    /// @param nbytes the minimum number of bytes to write
    /// @param disk the disk of the file
    /// @throws FileSystemException if there are not so many free
    /// @throws IOException if the file system cannot be queried
    public void requireSpace(long nbytes, Disk disk) throws IOException {
        OptionalLong free = disk.usableSpace(directory);
        if (free.isPresent() && nbytes > free.getAsLong()) {
            throw new FileSystemException(path.toString(), null,
                    "at least " + nbytes + " bytes would be written, and its file system has " + free.getAsLong()
                            + " free; free some space, or write to another file system. No file was made or changed");
        }
    }

    /// Takes the lock of the file.
    ///
    /// @return the lock
    /// @throws IOException as [WriterLock#of]
    public Closeable lock() throws IOException {
        return WriterLock.of(file);
    }

    /// Takes the lock of the file if the file exists or may be locked, since another writer may be appending to it. A
    /// new name needs no lock.
    ///
    /// @return the lock, or what does nothing when it is closed
    /// @throws IOException as [WriterLock#of]
    public Closeable lockIfInUse() throws IOException {
        return Files.isRegularFile(file) || WriterLock.mayBeHeld(file) ? lock() : () -> {};
    }

    /// Something that writes files.
    @FunctionalInterface
    public interface Work<T> {
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
    public <T> T write(Work<T> work) throws IOException {
        return write(path.toString(), work);
    }

    /// Writes what has a name but no path; see [#write(Work)].
    ///
    /// @param <T> the type of the result
    /// @param name the name
    /// @param work the work that writes it
    /// @return the result of the work
    /// @throws IOException if it fails
    public static <T> T write(String name, Work<T> work) throws IOException {
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException();
            }
            return work.run();
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

    private static IOException unchanged(String name, String what, Throwable cause) {
        return AtomicFile.withCause(new FileSystemException(name, null, what + "; no file was made or changed"),
                cause);
    }
}
