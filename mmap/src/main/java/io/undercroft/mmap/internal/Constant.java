package io.undercroft.mmap.internal;

import java.util.Locale;

/// The numbers behind the names in the C headers of the systems that are supported. No other class contains them.
public enum Constant {
    // @formatter:off
    //                        Linux     macOS
    /// Opens for reading.
    O_RDONLY(                 0,        0),
    /// Opens for reading and writing.
    O_RDWR(                   0x2,      0x2),
    /// Creates what is not there.
    O_CREAT(                  0x40,     0x200),
    /// With [#O_CREAT]: fails if it is there.
    O_EXCL(                   0x80,     0x800),
    /// Not inherited by child processes.
    O_CLOEXEC(                0x80000,  0x1000000),
    /// Past the page cache; unknown to macOS.
    O_DIRECT(                 isArm() ? 0x10000 : 0x4000, -1),
    /// Does not wait until the other end of a pipe is opened; has no effect on files.
    O_NONBLOCK(               0x800,    0x4),

    /// Addresses that are only set aside.
    PROT_NONE(                0,        0),
    /// Pages may be read.
    PROT_READ(                0x1,      0x1),
    /// Pages may be written.
    PROT_WRITE(               0x2,      0x2),

    /// Writes reach the file.
    MAP_SHARED(               0x1,      0x1),
    /// Writes are copied.
    MAP_PRIVATE(              0x2,      0x2),
    /// Maps at exactly the given address, over what was there.
    MAP_FIXED(                0x10,     0x10),
    /// Maps at exactly the given address, or not at all; since Linux 4.17; unknown to macOS.
    MAP_FIXED_NOREPLACE(      0x100000, -1),
    /// Maps zeros, not a file.
    MAP_ANONYMOUS(            0x20,     0x1000),
    /// Reserves no memory for pages that may never be written.
    MAP_NORESERVE(            0x4000,   0x40),

    /// Moves pages elsewhere, for `mremap`; unknown to macOS, as are the next two.
    MREMAP_MAYMOVE(           1,        -1),
    /// To exactly the given address, over what was there.
    MREMAP_FIXED(             2,        -1),
    /// Leaves a mapping of the same file behind, whose pages are found again when they are touched; of shared memory
    /// since Linux 5.13.
    MREMAP_DONTUNMAP(         4,        -1),

    /// A file stays as long as it is, for `fallocate`; unknown to macOS, as is the next one.
    FALLOC_FL_KEEP_SIZE(      1,        -1),
    /// Bytes become zeros that take no space.
    FALLOC_FL_PUNCH_HOLE(     2,        -1),

    /// Writes back and waits.
    MS_SYNC(                  0x4,      0x10),

    /// Advice, for `madvise`.
    MADV_NORMAL(              0,        0),
    /// Advice, for `madvise`.
    MADV_RANDOM(              1,        1),
    /// Advice, for `madvise`.
    MADV_SEQUENTIAL(          2,        2),
    /// Advice, for `madvise`.
    MADV_WILLNEED(            3,        3),
    /// Frees memory without losing bytes: `MADV_PAGEOUT`, since Linux 5.4; on macOS `MADV_DONTNEED` has that
    /// meaning.
    MADV_RELEASE(             21,       4),
    /// Forgets private copies of pages; on macOS only [#MADV_RELEASE].
    MADV_DONTNEED(            4,        -1),
    /// Huge pages; unknown to macOS.
    MADV_HUGEPAGE(            14,       -1),
    /// Since Linux 5.14; unknown to macOS.
    MADV_POPULATE_READ(       22,       -1),
    /// Since Linux 5.14; unknown to macOS.
    MADV_POPULATE_WRITE(      23,       -1),

    /// Fails if something has the name; unknown to macOS.
    RENAME_NOREPLACE(         1,        -1),
    /// A shared lock.
    LOCK_SH(                  1,        1),
    /// Locks for one.
    LOCK_EX(                  2,        2),
    /// With the two: does not wait.
    LOCK_NB(                  4,        4),
    /// Locks no longer.
    LOCK_UN(                  8,        8),
    /// A file system in memory; unknown to macOS.
    TMPFS_MAGIC(              0x1021994, -1),
    /// A file system in memory; unknown to macOS.
    RAMFS_MAGIC(              0x858458F6, -1),
    /// Not inherited by child processes, for `memfd_create`; unknown to macOS.
    MFD_CLOEXEC(              1,        -1),

    /// An error number: the file is locked by another descriptor.
    EWOULDBLOCK(              11,       35),
    /// An error number: the directory has something in it.
    ENOTEMPTY(                39,       66),
    /// An error number: a name, or the whole path, has too many bytes.
    ENAMETOOLONG(             36,       63),

    /// The offset in `struct stat` of the kind and the permissions of the file: 32 bits, on macOS 16.
    STAT_MODE_OFFSET(         isGeneric() ? 16 : 24, 4),
    /// The offset in `struct stat` of the owner of the file, a 32-bit number.
    STAT_USER_OFFSET(         isGeneric() ? 24 : 28, 16),
    /// The offset in `struct stat` of the inode, a 64-bit number: the same on all 64-bit processors.
    STAT_INODE_OFFSET(        8,        8),
    /// The offset in `struct stat` of the size of the file, a 64-bit number: the same on all 64-bit processors.
    STAT_SIZE_OFFSET(         48,       96),

    /// The longest name of shared memory in bytes, without its slash.
    SHM_NAME_MAX(             255,      30);
    // @formatter:on

    static final boolean IS_MAC = System.getProperty("os.name").toLowerCase(Locale.ROOT).startsWith("mac");

    private final int linux;
    private final int mac;

    Constant(int linux, int mac) {
        this.linux = linux;
        this.mac = mac;
    }

    /// {@return the number on this system, or -1 where the system does not have it}
    public int value() {
        return IS_MAC ? mac : linux;
    }

    /// {@return whether `struct stat` is that of the processors that Linux supports since 64 bits are usual (ARM,
    /// RISC-V), and not an older one}
    private static boolean isGeneric() {
        String processor = System.getProperty("os.arch");
        return processor.equals("aarch64") || processor.equals("riscv64") || processor.equals("loongarch64");
    }

    private static boolean isArm() {
        return System.getProperty("os.arch").equals("aarch64");
    }

    /// {@return whether the names of shared memory are files that may be linked and renamed: Linux}
    static boolean namesAreFiles() {
        return !IS_MAC;
    }

    /// {@return several flags in one number}
    ///
    /// @param flags the flags
    public static int flags(Constant... flags) {
        int all = 0;
        for (Constant flag : flags) {
            all |= flag.value();
        }
        return all;
    }
}
