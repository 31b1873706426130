package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.Optional;
import java.util.OptionalInt;

/// The lock of the registry, which one process has at a time: `flock` on the directory itself, which the kernel
/// releases when a process is killed.
///
/// The last process removes the directory, so that a waiting one may get the lock of a removed directory: it then opens
/// the path again and waits for the lock of the new one.
final class RegistryLock implements AutoCloseable {
    private final RegistryFiles files;
    private final int fd;

    private RegistryLock(RegistryFiles files, int fd) {
        this.files = files;
        this.fd = fd;
    }

    /// Waits for the lock of a directory, which is created if it does not exist.
    ///
    /// @param files the steps
    /// @param folder the directory
    /// @param deadline the end of the wait
    /// @return the lock
    /// @throws RegistryException if the directory belongs to another user, or its lock cannot be taken
    /// @throws ErrnoException if the directory cannot be made or opened
    static RegistryLock take(RegistryFiles files, String folder, Deadline deadline) throws IOException {
        while (true) {
            Optional<RegistryLock> lock = takeIfThere(files, folder, deadline);
            if (lock.isPresent()) {
                return lock.get();
            }
            files.makeFolder(folder);
        }
    }

    private static Optional<RegistryLock> takeIfThere(RegistryFiles files, String folder, Deadline deadline)
            throws IOException {
        while (true) {
            files.checkOwned(folder);
            OptionalInt fd = files.open(folder);
            if (fd.isEmpty()) {
                return Optional.empty();
            }
            if (isTaken(files, folder, fd.getAsInt(), deadline)) {
                return Optional.of(new RegistryLock(files, fd.getAsInt()));
            }
        }
    }

    /// Releases the lock.
    @Override
    public void close() {
        files.unlock(fd);
        files.close(fd);
    }

    private static boolean isTaken(RegistryFiles files, String folder, int fd, Deadline deadline) throws IOException {
        boolean taken = false;
        try {
            if (!files.tryLock(fd)) {
                deadline.await(() -> files.tryLock(fd), folder + " is locked by another process", folder);
            }
            // Checked again, as another file may have had the name before it was opened. Other users cannot replace a
            // directory of this user.
            files.checkOwned(folder);
            taken = files.inode(folder).equals(Optional.of(files.inode(fd)));
        } finally {
            if (!taken) {
                files.unlock(fd);
                files.close(fd);
            }
        }
        return taken;
    }
}
