package io.undercroft.mmap;

/// How a range of a mapping will be used, for [Pages#advise]. Only ever a hint: it changes speed, never bytes, and is
/// ignored where the system does not support it.
public enum ReadAdvice {
    /// No pattern to speak of: the system's default read-ahead.
    NORMAL,
    /// From front to back, once: read far ahead.
    SEQUENTIAL,
    /// In no order: do not read ahead.
    RANDOM,
    /// Soon: start reading now, in the background.
    WILL_NEED,
    /// Not soon: its memory may be reclaimed first. (`MADV_PAGEOUT`; the better known `MADV_DONTNEED` would
    /// throw copy-on-write changes away.)
    DONT_NEED,
    /// Back it by huge pages: fewer page faults and TLB misses in large anonymous memory. (Shared memory has them only
    /// where `/sys/kernel/mm/transparent_hugepage/shmem_enabled` is `advise`.)
    HUGE_PAGES,
    /// Fault all pages in for reading, now.
    POPULATE_READ,
    /// Fault all pages in for writing, now: makes a private copy of every page of a copy-on-write map.
    POPULATE_WRITE
}
