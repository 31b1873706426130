package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.internal.Processes.ProcessKey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The records of named segments: a directory for each name, with empty files whose names are the records.
/// [Entry] describes their meaning.
///
/// For use under the lock of the registry only.
final class SegmentRecords {
    private final RegistryFiles files;
    private final String folder;

    SegmentRecords(RegistryFiles files, String folder) {
        this.files = files;
        this.folder = folder;
    }

    /// {@return the names that have records}
    ///
    /// @throws IOException if a system call fails
    List<String> names() throws IOException {
        return files.list(folder);
    }

    /// {@return the records of a name}
    ///
    /// @param name the name
    /// @param inode the inode of the segment that has the name now
    /// @throws IOException if a system call fails
    Entry entry(String name, long inode) throws IOException {
        return Entry.of(inode, files.list(path(name)));
    }

    /// Creates the directory for the records of a name, if it does not exist.
    ///
    /// @param name the name
    /// @throws ErrnoException if a system call fails
    void open(String name) throws ErrnoException {
        files.makeFolder(folder);
        files.makeFolder(path(name));
    }

    /// Adds a record.
    ///
    /// @param name the name, whose directory was created by [#open]
    /// @param record a hold, or an [Entry#record] of the lifetime that the name will have
    /// @throws ErrnoException if a system call fails
    void add(String name, String record) throws ErrnoException {
        files.touch(path(name) + "/" + record);
    }

    /// Removes a hold.
    ///
    /// @param name the name
    /// @param hold the hold
    /// @throws ErrnoException if a system call fails
    void remove(String name, HoldRecord hold) throws ErrnoException {
        files.remove(path(name) + "/" + hold);
    }

    /// Removes all records of a segment.
    ///
    /// @param name the name that it has or had, or was to receive
    /// @param inode the inode of the segment
    /// @throws IOException if a system call fails
    void forget(String name, long inode) throws IOException {
        remove(name, files.list(path(name)).stream().filter(file -> file.startsWith(inode + ".")).toList());
    }

    /// Removes the records of all segments that do not have the name.
    ///
    /// @param name the name
    /// @param inode the inode of the segment
    /// @throws IOException if a system call fails
    void forgetOthers(String name, long inode) throws IOException {
        remove(name, entry(name, inode).stale());
    }

    /// Removes the directory for the records of all names, unless there are some.
    ///
    /// @throws ErrnoException if a system call fails
    void removeFolder() throws ErrnoException {
        files.removeFolder(folder);
    }

    private void remove(String name, Collection<String> records) throws ErrnoException {
        for (String each : records) {
            files.remove(path(name) + "/" + each);
        }
        files.removeFolder(path(name));
    }

    private String path(String name) {
        return folder + "/" + name;
    }

    /// Determines whether a process is running.
    @FunctionalInterface
    interface Liveness {
        /// {@return whether a process is running}
        ///
        /// @param process the process
        /// @throws IOException if a system call fails
        boolean isAlive(ProcessKey process) throws IOException;
    }

    /// The role of a holder of a segment.
    enum Role {
        /// It made it.
        CREATOR,
        /// It attached it.
        HOLDER
    }

    /// One hold on a segment, as the registry writes it down: the name of an empty file.
    ///
    /// @param inode the inode of the segment
    /// @param role the role of the holder
    /// @param process the process that has the hold
    /// @param number the number of the hold in that process
    record HoldRecord(long inode, Role role, ProcessKey process, long number) {
        private static final Pattern TEXT = Pattern
                .compile("(\\d{1,18})\\.(CREATOR|HOLDER)\\." + ProcessKey.PATTERN + "\\.(\\d{1,18})");

        /// {@return the hold that the name of a file stands for, or nothing if it is none}
        ///
        /// @param text any text
        static Optional<HoldRecord> parse(String text) {
            Matcher match = TEXT.matcher(text);
            if (!match.matches()) {
                return Optional.empty();
            }
            Role role = Role.valueOf(match.group(2));
            return Optional.of(new HoldRecord(Long.parseLong(match.group(1)), role, ProcessKey.of(match, 3),
                    Long.parseLong(match.group(6))));
        }

        /// Written out, since the JVM would make it at the first release.
        @Override
        public boolean equals(Object other) {
            return other instanceof HoldRecord that && toString().equals(that.toString());
        }

        @Override
        public int hashCode() {
            return Long.hashCode(number);
        }

        /// {@return the name of the file}
        @Override
        public String toString() {
            return inode + "." + role + "." + process + "." + number;
        }
    }

    /// The records of one name, for the segment that has the name now. Each record is the name of an empty file:
    /// `INODE.LIFETIME` or `INODE.ROLE.PROCESS.NUMBER`.
    ///
    /// Records of another inode are those of a segment that had the name before, or was to receive it and did not: they
    /// have no effect. If a name is not a valid record, the entry is unclear, and its lifetime never ends.
    ///
    /// @param lifetime the lifetime of the name; nothing if the segment is not registered
    /// @param holds the holds on the segment
    /// @param stale the records of other inodes
    /// @param isClear whether every name is a record, and the segment has one lifetime at most
    record Entry(Optional<NameLifetime> lifetime, List<HoldRecord> holds, List<String> stale, boolean isClear) {
        private static final Pattern LIFETIME = Pattern
                .compile("(\\d{1,18})\\.(UNTIL_UNLINKED|WITH_CREATOR|WITH_LAST_HOLDER)");

        Entry {
            holds = List.copyOf(holds);
            stale = List.copyOf(stale);
        }

        /// Reads the names of files.
        ///
        /// @param inode of the segment that has the name now; -1 if there is none
        /// @param files the names, whatever they are
        /// @return the entries
        static Entry of(long inode, Collection<String> files) {
            List<NameLifetime> lifetimes = new ArrayList<>();
            List<HoldRecord> holds = new ArrayList<>();
            List<String> stale = new ArrayList<>();
            boolean isClear = true;
            for (String file : files) {
                Optional<HoldRecord> hold = HoldRecord.parse(file);
                Matcher lifetime = LIFETIME.matcher(file);
                boolean isLifetime = lifetime.matches();
                if (hold.isPresent() && hold.get().inode() == inode) {
                    holds.add(hold.get());
                } else if (isLifetime && Long.parseLong(lifetime.group(1)) == inode) {
                    lifetimes.add(NameLifetime.valueOf(lifetime.group(2)));
                } else if (hold.isPresent() || isLifetime) {
                    stale.add(file);
                } else {
                    isClear = false;
                }
            }
            Optional<NameLifetime> first = lifetimes.isEmpty() ? Optional.empty() : Optional.of(lifetimes.getFirst());
            return new Entry(first, holds, stale, isClear && lifetimes.size() <= 1);
        }

        /// {@return the record of a lifetime}
        ///
        /// @param inode the inode of the segment
        /// @param lifetime the lifetime of its name
        static String record(long inode, NameLifetime lifetime) {
            return inode + "." + lifetime.name();
        }

        /// {@return the same without one hold}
        ///
        /// @param hold the hold
        Entry without(HoldRecord hold) {
            List<HoldRecord> others = new ArrayList<>(holds);
            others.remove(hold);
            return new Entry(lifetime, others, stale, isClear);
        }

        /// {@return whether the name lasts until it is unlinked, and no running process holds its segment}
        ///
        /// @param processes the running processes
        /// @throws IOException if a system call fails
        boolean isUnheld(Liveness processes) throws IOException {
            return isClear && lifetime.equals(Optional.of(NameLifetime.UNTIL_UNLINKED)) && areDead(processes);
        }

        /// {@return whether the lifetime of the name has ended}
        ///
        /// @param processes the running processes
        /// @throws IOException if a system call fails
        boolean isOver(Liveness processes) throws IOException {
            return isClear && lifetime.isPresent() && lifetime.get() != NameLifetime.UNTIL_UNLINKED
                    && areDead(processes);
        }

        /// Returns whether no running process has a hold that counts: only that of the creator, if the name lasts as
        /// long as its creator.
        private boolean areDead(Liveness processes) throws IOException {
            boolean all = lifetime.orElseThrow() != NameLifetime.WITH_CREATOR;
            for (HoldRecord hold : holds) {
                if ((all || hold.role() == Role.CREATOR) && processes.isAlive(hold.process())) {
                    return false;
                }
            }
            return true;
        }
    }
}
