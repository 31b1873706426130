package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/// The status of a file: its identity, type and owner.
///
/// @param identity the identity of the file
/// @param mode its kind and its permissions, as `st_mode`
/// @param user the number of its owner
/// @param size its size in bytes
record FileStatus(FileIdentity identity, int mode, long user, long size) {
    /// More than `struct stat` has on any processor.
    static final long STRUCT_BYTES = 512;

    /// The processors that Linux supports since 64 bits are usual have one `struct stat`, and older ones another.
    private static final boolean IS_GENERIC = Set.of("aarch64", "riscv64", "loongarch64")
            .contains(System.getProperty("os.arch"));
    private static final int INODE_OFFSET = 8;
    private static final int MODE_OFFSET = IS_GENERIC ? 16 : 24;
    private static final int USER_OFFSET = IS_GENERIC ? 24 : 28;
    private static final int SIZE_OFFSET = 48;

    private static final int KIND = 0170000;
    private static final int REGULAR = 0100000;
    private static final int DIRECTORY = 0040000;
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final long ROOT = 0;

    /// {@return the status in a `struct stat`}
    ///
    /// @param stat the bytes of the structure
    static FileStatus of(MemorySegment stat) {
        FileIdentity identity = new FileIdentity(stat.get(JAVA_INT, 0), stat.get(JAVA_LONG, INODE_OFFSET));
        return new FileStatus(identity, stat.get(JAVA_INT, MODE_OFFSET),
                Integer.toUnsignedLong(stat.get(JAVA_INT, USER_OFFSET)), stat.get(JAVA_LONG, SIZE_OFFSET));
    }

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
