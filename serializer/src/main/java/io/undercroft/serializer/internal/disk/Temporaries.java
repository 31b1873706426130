package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLockInterruptionException;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/// The temporary files that are being written. If the process is killed, such a file remains, and is deleted by the
/// next writer to the directory.
///
/// A writer keeps such a file locked, and the system releases the lock with the process, so a file that can be locked
/// has no writer. Where a file system has no locks nothing is deleted. A process would lose its own locks by closing a
/// second descriptor of the file ([LockAttempt]), so it records the names of its files and does not touch them,
/// whichever path leads to their directory.
///
/// A writer loses the lock when it changes the mode of its file, just before it gives it its name. So a file whose mode
/// is no longer the one that such files are made with is deleted only an hour later.
///
/// In a directory that other users may write to, they may have created files with such names. So only regular files of
/// the owner of a file that this process has just created are deleted, and they are opened without blocking.
final class Temporaries {
    private static final String SUFFIX = ".croft-tmp";
    private static final int UUID_LENGTH = 36;
    private static final Duration LONGEST_RENAME = Duration.ofHours(1);
    private static final Set<Path> OWN_NAMES = ConcurrentHashMap.newKeySet();

    private Temporaries() {}

    /// {@return a name that no file has; to be released by [#forget]} It is without the name of what it becomes, which
    /// may be as long as names can be.
    ///
    /// @param directory the directory of the file, an absolute path
    static Path name(Path directory) {
        Path name = Path.of("." + UUID.randomUUID() + SUFFIX);
        OWN_NAMES.add(name);
        return directory.resolve(name);
    }

    /// Gives a name back.
    ///
    /// @param name the name of a file that is closed
    static void forget(Path name) {
        OWN_NAMES.remove(name.getFileName());
    }

    /// Locks a file that was just made, or does nothing where there are no locks.
    ///
    /// @param file the file; it stays locked until it is closed
    /// @throws ClosedByInterruptException if the thread was interrupted
    static void lock(FileChannel file) throws ClosedByInterruptException {
        try {
            // Waits for a process that is deleting it as abandoned.
            file.lock();
        } catch (ClosedChannelException | FileLockInterruptionException _) {
            throw new ClosedByInterruptException();
        } catch (IOException | OverlappingFileLockException _) {
            // Others cannot lock it either, or other code of this process is deleting it as abandoned.
        }
    }

    /// Deletes the files of this user that were left behind in a directory. What cannot be deleted stays.
    ///
    /// @param own a file that this process has just made there
    static void sweep(Path own) {
        Path directory = Objects.requireNonNull(own.getParent());
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, Temporaries::isLike)) {
            for (Path file : files) {
                if (!OWN_NAMES.contains(file.getFileName()) && isFileOfTheSameUser(file, own)) {
                    deleteIfLeft(file, own);
                }
            }
        } catch (IOException | DirectoryIteratorException _) {
            // To write here may be allowed though listing is not.
        }
    }

    private static boolean isFileOfTheSameUser(Path file, Path own) {
        try {
            return RegularFiles.isRegular(file) && owner(file).equals(owner(own));
        } catch (IOException _) {
            return false;
        }
    }

    /// Returns the number of the owner, or empty where files have none. (Reading the name may query a server.)
    private static Optional<Object> owner(Path file) throws IOException {
        return file.getFileSystem().supportedFileAttributeViews().contains("unix")
                ? Optional.of(Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS))
                : Optional.empty();
    }

    /// By the clock of the file system, which may be that of another computer.
    private static boolean isOld(Path file, Path own) throws IOException {
        FileTime changed = (FileTime) Files.getAttribute(file, "unix:ctime", LinkOption.NOFOLLOW_LINKS);
        FileTime now = (FileTime) Files.getAttribute(own, "unix:ctime", LinkOption.NOFOLLOW_LINKS);
        return changed.toInstant().plus(LONGEST_RENAME).isBefore(now.toInstant());
    }

    private static boolean isLike(Path file) {
        String name = file.getFileName().toString();
        return name.startsWith(".") && name.endsWith(SUFFIX) && name.length() == 1 + UUID_LENGTH + SUFFIX.length();
    }

    private static void deleteIfLeft(Path file, Path own) {
        try (LockAttempt lock = LockAttempt.of(file)) {
            // Read once the file is locked: its mode changes before its writer loses the lock.
            if (lock.isLocked() && (FilePermissions.isSameMode(file, own) || isOld(file, own))) {
                Files.deleteIfExists(file);
            }
        } catch (IOException _) {
            // It was deleted meanwhile, belongs to another user, or there are no locks.
        }
    }
}
