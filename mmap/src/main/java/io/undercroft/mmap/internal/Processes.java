package io.undercroft.mmap.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The processes that hold something: an empty file each, which its process keeps locked. A process lives exactly as
/// long as its file is locked, since the kernel unlocks it when the process ends, however it ends. That works across
/// containers, and also when its number is used again.
///
/// What is called a process here is one copy of this library: a JVM has several when several class loaders load it.
/// They lock a file each, independently.
///
/// Used only under the lock of the registry, so that no process sees a file that is created but not locked yet.
final class Processes implements SegmentRecords.Liveness {
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

    /// {@return the key of this process, from [#enter] to [#leave]}
    ProcessKey self() {
        return self;
    }

    /// Puts this process among those that live. Does nothing if it is there.
    ///
    /// @throws IOException if a system call fails
    void enter() throws IOException {
        if (isStillIn()) {
            return;
        }
        // The first time, or the directory was removed with the file.
        closeOwn();
        files.makeFolder(folder);
        // Past one of an ended process too: a process with the same number and start time would take over its holds.
        while (files.inode(path(self)).isPresent()) {
            self = self.next();
        }
        int fd = files.create(path(self));
        own = OptionalInt.of(fd);
        if (!files.tryLock(fd)) {
            throw RegistryFiles.failed(path(self) + " is locked by another process");
        }
    }

    /// Takes this process away from those that live, and their directory if it was the last.
    ///
    /// @throws IOException if a system call fails
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
    /// @throws IOException if a system call fails
    void forgetEnded() throws IOException {
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

    /// Returns whether the file under its name is that which this process keeps locked.
    private boolean isStillIn() throws ErrnoException {
        return own.isPresent() && files.inode(path(self)).equals(Optional.of(files.inode(own.getAsInt())));
    }

    private void closeOwn() {
        if (own.isPresent()) {
            files.close(own.getAsInt());
        }
        own = OptionalInt.empty();
    }

    private String path(ProcessKey process) {
        return folder + "/" + process;
    }

    /// The permanent identity of a process: its number, when it started, and the namespace of that number.
    /// Processes of two containers may have one number, and so may two processes one after the other.
    ///
    /// @param pid its number, as it sees itself
    /// @param startMillis the time at which it started, in milliseconds since 1970
    /// @param namespace the inode of its namespace of process numbers; 0 where there are none
    record ProcessKey(long pid, long startMillis, long namespace) {
        /// No number has more digits than fit into a `long`.
        static final String PATTERN = "(\\d{1,18})-(\\d{1,18})-(\\d{1,18})";

        private static final Pattern TEXT = Pattern.compile(PATTERN);
        private static final Path NAMESPACE = Path.of("/proc/self/ns/pid");

        /// {@return the key of this process, the same for every call and every copy of this library}
        static ProcessKey ofThisProcess() {
            return OfThisProcess.KEY;
        }

        /// {@return the key of a text, or nothing if the text is no key}
        ///
        /// @param text any text
        static Optional<ProcessKey> parse(String text) {
            Matcher matcher = TEXT.matcher(text);
            return matcher.matches() ? Optional.of(of(matcher, 1)) : Optional.empty();
        }

        /// {@return the key of a match of [#PATTERN]}
        ///
        /// @param match the match
        /// @param group the number of the first of its three groups
        static ProcessKey of(Matcher match, int group) {
            return new ProcessKey(Long.parseLong(match.group(group)), Long.parseLong(match.group(group + 1)),
                    Long.parseLong(match.group(group + 2)));
        }

        /// {@return the time at which it started}
        Instant start() {
            return Instant.ofEpochMilli(startMillis);
        }

        /// {@return another key of this process, for a second copy of this library in it}
        ProcessKey next() {
            return new ProcessKey(pid, startMillis + 1, namespace);
        }

        /// {@return the text that [#parse] takes}
        @Override
        public String toString() {
            return pid + "-" + startMillis + "-" + namespace;
        }

        private static final class OfThisProcess {
            static final ProcessKey KEY = make();

            private static ProcessKey make() {
                ProcessHandle self = ProcessHandle.current();
                Optional<Instant> start = self.info().startInstant();
                return new ProcessKey(self.pid(), (start.isPresent() ? start.get() : Instant.now()).toEpochMilli(),
                        namespace());
            }

            /// The link reads `pid:[4026531836]`.
            private static long namespace() {
                try {
                    String digits = Files.readSymbolicLink(NAMESPACE).toString().replaceAll("\\D", "");
                    return Long.parseLong(digits);
                } catch (IOException | NumberFormatException none) {
                    return 0;
                }
            }
        }
    }
}
