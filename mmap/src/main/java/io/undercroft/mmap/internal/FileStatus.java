package io.undercroft.mmap.internal;

/// The status of a file: its identity, type and owner.
///
/// @param identity the identity of the file
/// @param mode its kind and its permissions, as `st_mode`
/// @param user the number of its owner
/// @param size its size in bytes
record FileStatus(FileIdentity identity, int mode, long user, long size) {
    private static final int KIND = 0170000;
    private static final int REGULAR = 0100000;
    private static final int DIRECTORY = 0040000;
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final long ROOT = 0;

    /// {@return whether it is a regular file, and neither a directory, a pipe, a socket, a device nor a link}
    boolean isRegular() {
        return (mode & KIND) == REGULAR;
    }

    /// {@return whether it is a directory, and no link to one}
    boolean isDirectory() {
        return (mode & KIND) == DIRECTORY;
    }

    /// {@return whether its permissions let others than its owner write it}
    boolean isWritableByOthers() {
        return (mode & WRITABLE_BY_OTHERS) != 0;
    }

    /// {@return whether its owner is a given user or root, which has access anyway}
    ///
    /// @param self the number of the user
    boolean isTrustedBy(long self) {
        return user == self || user == ROOT;
    }
}
