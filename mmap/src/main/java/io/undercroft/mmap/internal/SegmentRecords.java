package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import java.io.IOException;
import java.util.Collection;
import java.util.List;

/// What is written down of named segments: a directory for each name, in which the name of each empty file is a record.
/// See [RegistryEntry] for what they mean.
///
/// Used under the lock of the registry only.
final class SegmentRecords {
    private final RegistryFiles files;
    private final String folder;

    SegmentRecords(RegistryFiles files, String folder) {
        this.files = files;
        this.folder = folder;
    }

    /// {@return the names that have records}
    ///
    /// @throws IOException if that cannot be found out
    List<String> names() throws IOException {
        return files.list(folder);
    }

    /// {@return what is written down under a name}
    ///
    /// @param name the name
    /// @param inode which segment has it now
    /// @throws IOException if that cannot be found out
    RegistryEntry entry(String name, long inode) throws IOException {
        return RegistryEntry.of(inode, files.list(path(name)));
    }

    /// Makes the place for the records of a name, if it is not there.
    ///
    /// @param name the name
    /// @throws ErrnoException if that cannot be done
    void open(String name) throws ErrnoException {
        files.makeFolder(folder);
        files.makeFolder(path(name));
    }

    /// Writes down how long a name lasts.
    ///
    /// @param name the name, whose place is [open][#open]
    /// @param inode which segment will have it
    /// @param lifetime how long it lasts
    /// @throws ErrnoException if that cannot be done
    void add(String name, long inode, NameLifetime lifetime) throws ErrnoException {
        files.touch(path(name) + "/" + RegistryEntry.record(inode, lifetime));
    }

    /// Writes down a hold.
    ///
    /// @param name of which name, whose place is [open][#open]
    /// @param hold the hold
    /// @throws ErrnoException if that cannot be done
    void add(String name, HoldRecord hold) throws ErrnoException {
        files.touch(path(name) + "/" + hold);
    }

    /// Removes a hold.
    ///
    /// @param name of which name
    /// @param hold the hold
    /// @throws ErrnoException if that cannot be done
    void remove(String name, HoldRecord hold) throws ErrnoException {
        files.remove(path(name) + "/" + hold);
    }

    /// Removes all records of a segment.
    ///
    /// @param name the name it has, had or was to have
    /// @param inode which segment
    /// @throws IOException if that cannot be done
    void forget(String name, long inode) throws IOException {
        remove(name, files.list(path(name)).stream().filter(file -> file.startsWith(inode + ".")).toList());
    }

    /// Removes the records of all segments that do not have the name.
    ///
    /// @param name the name
    /// @param inode which segment has it
    /// @throws IOException if that cannot be done
    void forgetOthers(String name, long inode) throws IOException {
        remove(name, entry(name, inode).stale());
    }

    /// Removes the place for the records of all names, unless there are some.
    ///
    /// @throws ErrnoException if that cannot be done
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
}
