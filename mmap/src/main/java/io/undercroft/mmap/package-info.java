/// Where the bytes of storages live on this host: mapped files, shared memory, anonymous memory.
///
/// **Mapping** a file gives its bytes as a [java.lang.foreign.MemorySegment] without reading them: the system brings
/// a page in when it is first touched, and processes that map the same file have its pages in common. [MapMode] says
/// what may be written and who sees it. A mapping may be *stitched*: one contiguous range of addresses made of
/// [pieces][Piece] of one or several files, and of zeros. As a process has a limited number of mappings, stitched ranges
/// take theirs from a [MapBudget], and are copied where too little is left of it.
///
/// **Shared memory** is a named run of bytes that outlives its creator and that any process of the same user may
/// attach: [SharedMemory].
///
/// **Storages** on either are opened by [FileStorage], as Torch7 and PyTorch open theirs.
///
/// **Anonymous memory** belongs to this process alone: [AnonymousMemory].
///
/// | made by | who may touch it | who gives it back |
/// |---|---|---|
/// | [MappedFile#map(long, long)] | any thread, until the file's last holder lets go | [MappedFile#close] |
/// | [MappedFile#allocation(long, long)] | any thread, until the allocation is freed | the storage that owns the allocation, which holds the file so long |
/// | [SharedMemory#segment] | any thread and process, until the last holder lets go | [SharedMemory#close] the mapping, [SharedMemory#unlink] the bytes |
/// | [SharedMemory#allocator] | any thread and process, until the allocation is freed | the storage that owns the allocation, name included |
/// | [FileStorage] | any thread, shared ones any process, until the storage is freed | the storage |
/// | [AnonymousMemory#allocator] | any thread, until the allocation is freed | the storage that owns the allocation |
///
/// What is used after it was given back throws [IllegalStateException]; memory that is gone is never read. What is
/// never given back goes when the garbage collector finds that nobody can reach it.
///
/// **Systems.** Linux and macOS are called through the foreign function interface, which wants
/// `--enable-native-access`. Where that is denied, and on Windows, files are mapped by [java.nio.channels.FileChannel]
/// (copy-on-write and stitched maps become copies), anonymous memory comes from the JDK, and shared memory says that
/// it is not supported.
///
/// Nothing here takes or returns null unless it says so.
@NullMarked
package io.undercroft.mmap;

import org.jspecify.annotations.NullMarked;
