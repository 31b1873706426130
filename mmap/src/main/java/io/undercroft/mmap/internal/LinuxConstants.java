package io.undercroft.mmap.internal;

/// The numbers behind the names in the C headers of Linux. No other class contains them, except the error numbers
/// ([ErrnoException]) and the offsets in `struct stat` ([FileStatus]).
public final class LinuxConstants {
    /// Opens for reading.
    public static final int O_RDONLY = 0;
    /// Opens for reading and writing.
    public static final int O_RDWR = 0x2;
    /// Creates what is not there.
    public static final int O_CREAT = 0x40;
    /// With [#O_CREAT]: fails if it is there.
    public static final int O_EXCL = 0x80;
    /// Not inherited by child processes.
    public static final int O_CLOEXEC = 0x80000;
    /// Past the page cache.
    public static final int O_DIRECT = System.getProperty("os.arch").equals("aarch64") ? 0x10000 : 0x4000;
    /// Does not wait until the other end of a pipe is opened; has no effect on files.
    public static final int O_NONBLOCK = 0x800;
    /// Addresses that are only set aside.
    public static final int PROT_NONE = 0;
    /// Pages may be read.
    public static final int PROT_READ = 0x1;
    /// Pages may be written.
    public static final int PROT_WRITE = 0x2;
    /// Writes reach the file.
    public static final int MAP_SHARED = 0x1;
    /// Writes are copied.
    public static final int MAP_PRIVATE = 0x2;
    /// Maps at exactly the given address, over what was there.
    public static final int MAP_FIXED = 0x10;
    /// Maps at exactly the given address, or not at all; since Linux 4.17.
    public static final int MAP_FIXED_NOREPLACE = 0x100000;
    /// Maps zeros, not a file.
    public static final int MAP_ANONYMOUS = 0x20;
    /// Reserves no memory for pages that may never be written.
    public static final int MAP_NORESERVE = 0x4000;
    /// Moves pages elsewhere, for `mremap`.
    public static final int MREMAP_MAYMOVE = 1;
    /// To exactly the given address, over what was there.
    public static final int MREMAP_FIXED = 2;
    /// Leaves a mapping of the same file behind, whose pages are found again when they are touched; of shared memory
    /// since Linux 5.13.
    public static final int MREMAP_DONTUNMAP = 4;
    /// A file stays as long as it is, for `fallocate`.
    public static final int FALLOC_FL_KEEP_SIZE = 1;
    /// Bytes become zeros that take no space.
    public static final int FALLOC_FL_PUNCH_HOLE = 2;
    /// Writes back and waits.
    public static final int MS_SYNC = 0x4;
    /// Advice, for `madvise`.
    public static final int MADV_NORMAL = 0;
    /// Advice, for `madvise`.
    public static final int MADV_RANDOM = 1;
    /// Advice, for `madvise`.
    public static final int MADV_SEQUENTIAL = 2;
    /// Advice, for `madvise`.
    public static final int MADV_WILLNEED = 3;
    /// Frees memory without losing bytes; since Linux 5.4.
    public static final int MADV_PAGEOUT = 21;
    /// Forgets private copies of pages.
    public static final int MADV_DONTNEED = 4;
    /// Huge pages.
    public static final int MADV_HUGEPAGE = 14;
    /// Faults pages in; since Linux 5.14.
    public static final int MADV_POPULATE_READ = 22;
    /// Faults pages in; since Linux 5.14.
    public static final int MADV_POPULATE_WRITE = 23;
    /// Fails if something has the name.
    public static final int RENAME_NOREPLACE = 1;
    /// A shared lock.
    public static final int LOCK_SH = 1;
    /// Locks for one.
    public static final int LOCK_EX = 2;
    /// With the two: does not wait.
    public static final int LOCK_NB = 4;
    /// Locks no longer.
    public static final int LOCK_UN = 8;
    /// A file system in memory.
    public static final int TMPFS_MAGIC = 0x1021994;
    /// A file system in memory.
    public static final int RAMFS_MAGIC = 0x858458F6;
    /// Not inherited by child processes, for `memfd_create`.
    public static final int MFD_CLOEXEC = 1;
    /// The longest name of shared memory in bytes, without its slash.
    public static final int SHM_NAME_MAX = 255;

    private LinuxConstants() {}
}
