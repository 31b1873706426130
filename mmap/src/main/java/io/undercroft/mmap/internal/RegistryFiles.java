package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.LOCK_EX;
import static io.undercroft.mmap.internal.LinuxConstants.LOCK_NB;
import static io.undercroft.mmap.internal.LinuxConstants.LOCK_SH;
import static io.undercroft.mmap.internal.LinuxConstants.O_CLOEXEC;
import static io.undercroft.mmap.internal.LinuxConstants.O_CREAT;
import static io.undercroft.mmap.internal.LinuxConstants.O_EXCL;
import static io.undercroft.mmap.internal.LinuxConstants.O_NONBLOCK;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDONLY;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDWR;
import static io.undercroft.mmap.internal.LinuxConstants.RAMFS_MAGIC;
import static io.undercroft.mmap.internal.LinuxConstants.TMPFS_MAGIC;

import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/// The steps of changes of the registry. Each is one system call, which takes effect completely or not at all if the
/// process is killed. (Not final, so that tests can stop between two steps.)
class RegistryFiles {
    private static final int OWNER_ONLY = 0600;
    private static final int FOLDER_OF_OWNER = 0700;

    private final Libc libc;

    RegistryFiles(Libc libc) {
        this.libc = libc;
    }

    /// {@return the maximum time to wait for other processes, whose changes take some 100 µs}
    Duration patience() {
        return Duration.ofSeconds(30);
    }

    /// {@return the maximum time to wait for other processes when this process ends. Other processes remove what it
    /// then leaves.}
    Duration patienceAtTheEnd() {
        return Duration.ofSeconds(2);
    }

    /// {@return a new file, open for reading and writing}
    int create(String path) throws ErrnoException {
        return libc.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, OWNER_ONLY);
    }

    /// Makes a new file, empty.
    void touch(String path) throws ErrnoException {
        libc.close(create(path));
    }

    /// {@return a file or directory, open for reading, or nothing if it is not there}
    OptionalInt open(String path) throws ErrnoException {
        try {
            return OptionalInt.of(libc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
        } catch (ErrnoException e) {
            e.unless(ErrnoException.ENOENT);
            return OptionalInt.empty();
        }
    }

    /// {@return whether a new file of the directory may have the inode number of a removed one: on disks it may at
    /// once, in memory file systems only after all numbers were used}
    boolean reusesInodes(String folder) throws ErrnoException {
        int type = libc.fileSystemType(folder);
        return type != TMPFS_MAGIC && type != RAMFS_MAGIC;
    }

    /// {@return a segment opened with the flags}
    int openSegment(String name, int flags) throws ErrnoException {
        return libc.shmOpen("/" + name, flags | O_NONBLOCK, 0);
    }

    /// Fails with [ErrnoException#ENODEV] if something has the name of a segment that has no bytes to be mapped: a
    /// pipe, a directory, a link, a device.
    void checkMemory(String path) throws IOException {
        // Opening a missing file fails with ENOENT too.
        Optional<FileStatus> status = libc.status(path);
        if (status.isPresent() && !status.get().isRegular()) {
            throw new ErrnoException("shm_open", ErrnoException.ENODEV);
        }
    }

    void close(int fd) {
        libc.close(fd);
    }

    /// {@return whether the file is locked now, by this descriptor alone}
    boolean tryLock(int fd) throws ErrnoException {
        return libc.tryLock(fd, LOCK_EX | LOCK_NB);
    }

    void unlock(int fd) {
        libc.unlock(fd);
    }

    /// {@return whether the file is locked}
    boolean isLocked(int fd) throws ErrnoException {
        return !libc.tryLock(fd, LOCK_SH | LOCK_NB);
    }

    long inode(int fd) throws ErrnoException {
        return libc.identity(fd).inode();
    }

    /// {@return the inode of the file at a path, or nothing if there is none}
    Optional<Long> inode(String path) throws ErrnoException {
        Optional<FileStatus> status = libc.status(path);
        return status.isPresent() ? Optional.of(status.get().identity().inode()) : Optional.empty();
    }

    /// {@return the size of a file in bytes; 0 if it is not there}
    long size(String path) throws IOException {
        return libc.status(path).map(FileStatus::size).orElse(0L);
    }

    /// Makes a directory for its owner only, unless something is there already.
    void makeFolder(String path) throws ErrnoException {
        try {
            libc.mkdir(path, FOLDER_OF_OWNER);
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EEXIST);
        }
    }

    /// Removes a directory, unless it is not empty, missing or no directory.
    void removeFolder(String path) throws ErrnoException {
        try {
            libc.rmdir(path);
        } catch (ErrnoException e) {
            e.unless(ErrnoException.ENOTEMPTY, ErrnoException.ENOENT, ErrnoException.ENOTDIR);
        }
    }

    /// Removes a file.
    ///
    /// @return whether there was one
    boolean remove(String path) throws ErrnoException {
        try {
            libc.unlink(path);
            return true;
        } catch (ErrnoException e) {
            e.unless(ErrnoException.ENOENT);
            return false;
        }
    }

    /// Renames a file to a name that does not exist. On older systems this takes two steps, and the file has both names
    /// between them.
    void renameIfFree(String path, String name) throws ErrnoException {
        if (!libc.renameIfFree(path, name)) {
            libc.link(path, name);
            libc.unlink(path);
        }
    }

    void rename(String path, String name) throws ErrnoException {
        libc.rename(path, name);
    }

    /// {@return the names in a directory; none if it is not there}
    List<String> list(String path) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(HostPath.of(path))) {
            List<String> names = new ArrayList<>();
            for (Path file : files) {
                names.add(HostPath.name(file));
            }
            return names;
        } catch (NoSuchFileException | NotDirectoryException gone) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /// {@return whether it is a directory of this user}
    boolean isOurs(String path) throws IOException {
        Optional<FileStatus> status = libc.status(path);
        return status.isPresent() && status.get().isDirectory() && status.get().user() == libc.userId();
    }

    /// {@return whether the path exists and belongs to another user}
    boolean isForeign(String path) throws IOException {
        Optional<FileStatus> status = libc.status(path);
        return status.isPresent() && status.get().user() != libc.userId();
    }

    /// Fails with [ErrnoException#ENODEV] if a descriptor is open on something that has no bytes to be mapped.
    ///
    /// @param fd the descriptor
    /// @param ofAnybody whether it may belong to another user than this one and root
    void checkSegment(int fd, boolean ofAnybody) throws IOException {
        libc.checkRegular(fd);
        FileStatus status = libc.status(fd);
        if (!ofAnybody && !status.isTrustedBy(libc.userId())) {
            throw foreign(status.user(), libc.userId());
        }
    }

    /// {@return the failure of attaching a segment of another user, whom the caller did not agree to trust}
    static SharedMemoryException foreign(long owner, long user) {
        return new SharedMemoryException(Reason.NOT_PERMITTED,
                "it belongs to user " + owner + ", and this is user " + user
                        + "; only segments of oneself and of root are attached: take another name, or pass"
                        + " TrustedOwner.ANYBODY if that user is meant",
                null);
    }

    /// {@return a failure of the registry itself}
    ///
    /// @param message which directory, why, and what to do, in one line
    static SharedMemoryException failed(String message) {
        return new SharedMemoryException(Reason.REGISTRY, message, null);
    }

    /// Fails if another user could have created the directory or can change it.
    void checkOwned(String path) throws IOException {
        FileStatus status = libc.status(path).orElse(null);
        if (status == null) {
            return;
        }
        if (!status.isDirectory()) {
            throw failed(
                    path + " is no directory, but has the name of the registry of shared memory; move it"
                            + " away");
        }
        if (status.user() != libc.userId()) {
            throw failed(path + ", the registry of shared memory, belongs to user " + status.user()
                    + ", and this is user " + libc.userId() + "; ask that user or root to remove it");
        }
        if (status.isWritableByOthers()) {
            throw failed(path + ", the registry of shared memory, may be written by others; run"
                    + " chmod 700 " + path);
        }
    }
}
