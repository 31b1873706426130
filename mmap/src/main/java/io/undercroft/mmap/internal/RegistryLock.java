package io.undercroft.mmap.internal;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;

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
    /// @throws SharedMemoryException if the directory belongs to another user, or its lock cannot be taken
    /// @throws ErrnoException if the directory cannot be made or opened
    static RegistryLock take(RegistryFiles files, String folder, Deadline deadline) throws IOException {
        while (true) {
            files.checkOwned(folder);
            OptionalInt fd = files.open(folder);
            if (fd.isEmpty()) {
                files.makeFolder(folder);
            } else if (isTaken(files, folder, fd.getAsInt(), deadline)) {
                return new RegistryLock(files, fd.getAsInt());
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

    /// The end of a wait.
    ///
    /// @param patience the maximum time of the wait
    /// @param end the end of the wait, in the time of [System#nanoTime]
    record Deadline(Duration patience, long end) {
        private static final long FIRST_PAUSE = Duration.ofNanos(20_000).toNanos();
        private static final long LONGEST_PAUSE = Duration.ofMillis(1).toNanos();

        /// {@return the deadline of a wait that starts now}
        ///
        /// @param patience the maximum time
        static Deadline in(Duration patience) {
            return new Deadline(patience, System.nanoTime() + patience.toNanos());
        }

        /// Repeats an attempt until it succeeds, since a blocking call could not be ended at the deadline. An interrupt
        /// is restored at the end, as it would end each pause at once.
        ///
        /// @param attempt the attempt; returns whether it succeeded
        /// @param what a description of the wait, for the message of a failure
        /// @param folder the directory that is locked, for the same message
        /// @throws SharedMemoryException if it did not succeed in time
        void await(IoTask<Boolean> attempt, String what, String folder) throws IOException {
            long pause = FIRST_PAUSE;
            boolean interrupted = false;
            try {
                while (!attempt.run()) {
                    if (end - System.nanoTime() <= 0) {
                        throw RegistryFiles.failed(what + " for " + patience.toSeconds()
                                + " seconds; find the process that has it open with `fuser " + folder
                                + "`, and end it if it hangs");
                    }
                    LockSupport.parkNanos(pause);
                    pause = Math.min(2 * pause, LONGEST_PAUSE);
                    interrupted |= Thread.interrupted();
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}
