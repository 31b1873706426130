package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import java.io.IOException;
import java.util.Collection;
import java.util.List;

/// The records of named segments: a directory for each name, with empty files whose names are the records.
/// [RegistryEntry] describes their meaning.
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
    RegistryEntry entry(String name, long inode) throws IOException {
        return RegistryEntry.of(inode, files.list(path(name)));
    }

    /// Creates the directory for the records of a name, if it does not exist.
    ///
    /// @param name the name
    /// @throws ErrnoException if a system call fails
    void open(String name) throws ErrnoException {
        files.makeFolder(folder);
        files.makeFolder(path(name));
    }

    /// Records the lifetime of a name.
    ///
    /// @param name the name, whose directory was created by [#open]
    /// @param inode the inode of the segment that will have the name
    /// @param lifetime its lifetime
    /// @throws ErrnoException if a system call fails
    void add(String name, long inode, NameLifetime lifetime) throws ErrnoException {
        files.touch(path(name) + "/" + RegistryEntry.record(inode, lifetime));
    }

    /// Records a hold.
    ///
    /// @param name the name, whose directory was created by [#open]
    /// @param hold the hold
    /// @throws ErrnoException if a system call fails
    void add(String name, HoldRecord hold) throws ErrnoException {
        files.touch(path(name) + "/" + hold);
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
}
