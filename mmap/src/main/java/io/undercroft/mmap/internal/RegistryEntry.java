package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.internal.HoldRecord.Role;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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
record RegistryEntry(Optional<NameLifetime> lifetime, List<HoldRecord> holds, List<String> stale, boolean isClear) {
    private static final Pattern LIFETIME = Pattern
            .compile("(\\d{1,18})\\.(UNTIL_UNLINKED|WITH_CREATOR|WITH_LAST_HOLDER)");

    RegistryEntry {
        holds = List.copyOf(holds);
        stale = List.copyOf(stale);
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

    /// Reads the names of files.
    ///
    /// @param inode of the segment that has the name now; -1 if there is none
    /// @param files the names, whatever they are
    /// @return the entries
    static RegistryEntry of(long inode, Collection<String> files) {
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
        return new RegistryEntry(first, holds, stale, isClear && lifetimes.size() <= 1);
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
    RegistryEntry without(HoldRecord hold) {
        List<HoldRecord> others = new ArrayList<>(holds);
        others.remove(hold);
        return new RegistryEntry(lifetime, others, stale, isClear);
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
        return isClear && lifetime.isPresent() && lifetime.get() != NameLifetime.UNTIL_UNLINKED && areDead(processes);
    }

    /// Returns whether no running process has a hold that counts: only that of the creator, if the name lasts as long
    /// as its creator.
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
