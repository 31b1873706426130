/// Where the bytes of storages live on this host: mapped files, shared memory, anonymous memory.
///
/// **Mapping** a file gives its bytes as a [java.lang.foreign.MemorySegment] without reading them: the system brings a
/// page in when it is first touched, and processes that map the same file have its pages in common. [MapMode] says what
/// may be written and who sees it. A mapping may be *stitched*: one contiguous range of addresses made of
/// [pieces][Piece] of one or several files, and of zeros. As a process has a limited number of mappings, stitched
/// ranges take theirs from a [MapBudget], and are copied where too little is left of it.
///
/// **Shared memory** is a run of bytes that outlives its creator and that any process of the same user may attach:
/// [SharedMemory], by a name or, without one, by a descriptor. A [NameLifetime] says how long a name lasts. So that it
/// goes when it should however its holders end, they are *registered*: in a directory next to the segments, where each
/// process that holds something keeps a file locked. The kernel unlocks the file of a process that is killed, and
/// whoever comes next removes what was to last no longer. [SharedMemory#list] shows who holds what, [SharedMemory#gc]
/// collects what the dead left; there is no daemon, and nothing is written into the segments. A [SharedMemoryDraft] is
/// a segment that is filled before anybody sees it, and takes the place of another in one step.
///
/// **Storages** on either are opened by [FileStorage], as Torch7 and PyTorch open theirs; which bytes of a file they
/// have says a [ByteRange]. A [SharedStorageHandle] or [SharedTensorHandle] is a line of text by which another process
/// finds what is shared; handles to one storage open to one storage, on one mapping. Memory of devices is shared by the
/// modules that implement [io.undercroft.mmap.spi.SharedDeviceMemory].
///
/// **Pages.** [Pages] gives advice on mapped bytes, locks them in memory, tells how many are there, and writes them to
/// the disk. A file that is cut short takes its bytes from under its mappings. What this library does with many bytes
/// then throws [TruncatedMappingException]; loops over elements get an [InternalError] from the JVM, which
/// [Pages#guard] turns into that exception; and native code ends the JVM, so [Pages#probe] looks before. Files that are
/// replaced by renaming never do this.
///
/// **Anonymous memory** belongs to this process alone: [AnonymousMemory]. That of [CopyOnWriteMemory] can be frozen
/// too: a reader gets its bytes of now, while its storage goes on being written to.
///
/// | made by | who may touch it | who gives it back |
/// |---|---|---|
/// | [MappedFile#map(long, long)] | any thread, until the file's last holder releases it | [MappedFile#close] |
/// | [MappedFile#allocation(long, long)] | any thread, until the allocation is freed | the storage that owns the allocation, which holds the file so long |
/// | [SharedMemory#segment] | any thread and process, until the last holder in this process releases it | [SharedMemory#close] the mapping; the name as its [NameLifetime] says, or [SharedMemory#unlink]; the bytes go when no process maps them and they have no name |
/// | [SharedMemory#allocator] | any thread and process, until the allocation is freed | the storage that owns the allocation; the name goes with the last holder in any process |
/// | [SharedMemory#anonymous], [SharedMemory#anonymousAllocator] | any thread, and processes that got the descriptor, until the last holder releases it | [SharedMemory#close], or the storage; the descriptor goes with the mapping |
/// | [SharedMemory#attachDescriptor(int)] | any thread, until the last holder releases it | [SharedMemory#close] the mapping; the descriptor stays the caller's |
/// | [SharedMemoryDraft] | one thread, until it is published or closed | [SharedMemoryDraft#close], or the segment that [SharedMemoryDraft#publish] returns |
/// | [MappedFile#attach] | as of any file | [MappedFile#close], the hold on the name included |
/// | [FileStorage] | any thread, shared ones any process, until the storage is freed | the storage |
/// | [SharedStorageHandle#open], [SharedTensorHandle#open] | as of the storage that it finds | the storage; each call adds a reference |
/// | [AnonymousMemory#allocator] | any thread, until the allocation is freed | the storage that owns the allocation |
/// | [CopyOnWriteMemory#allocator] | as of anonymous memory; an image of it, until that is closed | the storage; the bytes that an image shows, who closes the image |
///
/// What is used after it was given back throws [IllegalStateException]; memory that is gone is never read. What is
/// never given back goes when the garbage collector finds that nobody can reach it.
///
/// **Systems.** Linux and macOS are called through the foreign function interface, which wants
/// `--enable-native-access`. Where that is denied, and on Windows, files are mapped by [java.nio.channels.FileChannel]
/// (copy-on-write and stitched maps become copies), anonymous memory comes from the JDK, none can be frozen, [Pages]
/// ignores hints, and shared memory says that it is not supported. On macOS the names of shared memory are no files:
/// holders are known within their process only, and there are no drafts.
///
/// Nothing here takes or returns null unless it says so.
@NullMarked
package io.undercroft.mmap;

import org.jspecify.annotations.NullMarked;
