package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.Optional;
import java.util.OptionalInt;

/// The processes that hold something: an empty file each, which its process keeps locked. A process lives exactly as
/// long as its file is locked, since the kernel unlocks it when the process ends, however it ends. That holds across
/// containers, and whoever has its number afterwards.
///
/// What is called a process here is one copy of this library: a JVM has several when several class loaders load it.
/// They know nothing of each other, and lock a file each.
///
/// Used under the lock of the registry only, so that nobody sees a file between making and locking it.
final class Processes implements RegistryEntry.Liveness {
    private final RegistryFiles files;
    private final String folder;
    /// Chosen when this process enters, and kept until it leaves.
    private ProcessKey self;
    /// The descriptor of this process's own file, while it holds something.
    private volatile OptionalInt own = OptionalInt.empty();

    Processes(RegistryFiles files, String folder, ProcessKey self) {
        this.files = files;
        this.folder = folder;
        this.self = self;
    }

    /// {@return which process this is, from [#enter] to [#leave]}
    ProcessKey self() {
        return self;
    }

    /// Puts this process among those that live. Does nothing if it is there.
    ///
    /// @throws IOException if that cannot be done
    void enter() throws IOException {
        if (isStillIn()) {
            return;
        }
        // The first time; or somebody cleared the directory away, and the file with it.
        closeOwn();
        files.makeFolder(folder);
        // Also past one that is dead: a process that got its number, and started in the same moment, would take over
        // what it held.
        while (files.inode(path(self)).isPresent()) {
            self = self.next();
        }
        int fd = files.create(path(self));
        own = OptionalInt.of(fd);
        if (!files.tryLock(fd)) {
            throw new RegistryException(path(self) + " is locked by another process");
        }
    }

    /// Takes this process away from those that live, and their directory if it was the last.
    ///
    /// @throws IOException if that cannot be done
    void leave() throws IOException {
        if (isStillIn()) {
            files.remove(path(self));
        }
        closeOwn();
        files.removeFolder(folder);
    }

    @Override
    public boolean isAlive(ProcessKey process) throws IOException {
        OptionalInt fd = files.open(path(process));
        if (fd.isEmpty()) {
            return false;
        }
        try {
            return files.isLocked(fd.getAsInt());
        } finally {
            files.close(fd.getAsInt());
        }
    }

    /// Removes the files of processes that are dead.
    ///
    /// @throws IOException if that cannot be done
    void forgetTheDead() throws IOException {
        for (String name : files.list(folder)) {
            Optional<ProcessKey> process = ProcessKey.parse(name);
            if (process.isPresent() && !isAlive(process.get())) {
                files.remove(folder + "/" + name);
            }
        }
    }

    /// {@return whether this process entered, and has not left}
    boolean isEntered() {
        return own.isPresent();
    }

    /// Whether the file under its name is that which this process keeps locked.
    private boolean isStillIn() throws ErrnoException {
        return own.isPresent() && files.inode(path(self)).equals(Optional.of(files.inode(own.getAsInt())));
    }

    private void closeOwn() {
        own.ifPresent(files::close);
        own = OptionalInt.empty();
    }

    private String path(ProcessKey process) {
        return folder + "/" + process;
    }
}
