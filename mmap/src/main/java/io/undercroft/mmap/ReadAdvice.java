package io.undercroft.mmap;

/// The expected use of mapped bytes, for [Pages#advise]. A hint, which is ignored if the system does not support it.
public enum ReadAdvice {
    /// No particular pattern: the default read-ahead of the system.
    NORMAL,
    /// The bytes are read once, in ascending order: more read-ahead.
    SEQUENTIAL,
    /// The bytes are read in random order: no read-ahead.
    RANDOM,
    /// The bytes are needed soon: the system starts to read them in the background.
    WILL_NEED,
    /// The bytes are not needed soon: the system may reclaim their memory (`MADV_PAGEOUT`, which keeps changes of
    /// copy-on-write pages, unlike `MADV_DONTNEED`).
    DONT_NEED,
    /// Huge pages should be used: fewer page faults and TLB misses in large anonymous memory. (Shared memory has them
    /// only if `/sys/kernel/mm/transparent_hugepage/shmem_enabled` is `advise`.)
    HUGE_PAGES,
    /// All pages are faulted in for reading before the call returns.
    POPULATE_READ,
    /// Fault all pages in for writing, now: makes a private copy of every page of a copy-on-write map.
    POPULATE_WRITE
}
