/// Memory of this host for storages: mapped files, shared memory, anonymous memory.
///
/// **Mapping** a file gives its bytes as a [java.lang.foreign.MemorySegment] without reading them: the system loads a
/// page when it is first touched, and processes that map the same file share its pages. [MapMode] chooses whether it
/// can be written to, and whether other processes see the writes. A mapping may be *stitched*: one contiguous range of
/// addresses made of [pieces][Piece] of one or several files, and of zeros. As the number of mappings of a process is
/// limited, stitched ranges count against a [MapBudget], and are copied if too little of it is left.
///
/// **Files in stores.** An object of a store, such as a file on a web server, is a [MappedFile] too: a
/// [io.undercroft.mmap.spi.RangeSource] reads ranges of it, which are fetched into a temporary file when they are first
/// read or mapped. Failures are [RemoteFileException]s.
///
/// **Shared memory** is a run of bytes that outlives its creator and that any process of the same user may attach:
/// [SharedMemory], by a name or, without one, by a descriptor. A [NameLifetime] determines when a name is removed.
/// Holders are *registered*, so that names of killed processes are removed too: in a directory next to the segments,
/// each process that holds a segment keeps a file locked. The kernel unlocks the file of a process that is killed, and
/// the next process that uses the registry removes the names that should not outlive it. [SharedMemory#list] lists
/// segments and their holders, [SharedMemory#gc] removes the names that killed processes left; there is no daemon, and
/// nothing is written into the segments. A [SharedMemoryDraft] is a segment that is written before other processes can
/// see it, and replaces another in one step.
///
/// **Storages** on files or shared memory are opened by [FileStorage], as in Torch7 and PyTorch; a [ByteRange] chooses
/// a part of a file. A [SharedStorageHandle] or [SharedTensorHandle] is a line of text by which another process opens
/// the same memory; handles to one storage open one storage, on one mapping. Memory of devices is shared through
/// modules that implement [io.undercroft.mmap.spi.SharedDeviceMemory].
///
/// **Pages.** [Pages] gives advice on mapped bytes, locks them in memory, counts the resident ones, and writes them to
/// the disk. If a mapped file is truncated, its mappings lose their bytes. Methods that work on many bytes then throw a
/// [TruncatedMappingException]; loops over elements get an [InternalError] from the JVM, which [Pages#guard] converts
/// to that exception; and native code crashes the JVM, so call [Pages#probe] before. Replacing a file by renaming has
/// no such effect.
///
/// **Anonymous memory** belongs to this process alone: [AnonymousMemory]. That of [AnonymousMemory#freezableAllocator]
/// can also be frozen: a background save then reads the bytes of that moment, while the storage can still be written
/// to.
///
/// | created by | may be accessed by | is released by |
/// |---|---|---|
/// | [MappedFile#map(long, long)] | any thread, until the last reference to the file is released | [MappedFile#close] |
/// | [MappedFile#allocation(long, long)] | any thread, until the allocation is freed | its storage, which keeps the file open |
/// | [SharedMemory#segment] | any thread and process, until the last holder in this process releases it | the mapping by [SharedMemory#close]; the name as its [NameLifetime] defines, or by [SharedMemory#unlink]; the bytes when no process maps them and they have no name |
/// | [SharedMemory#allocator] | any thread and process, until the allocation is freed | the storage that owns the allocation; the name is removed with the last holder in any process |
/// | [SharedMemory#anonymous], [SharedMemory#anonymousAllocator] | any thread, and processes that received the descriptor, until the last holder releases it | [SharedMemory#close], or the storage; the descriptor is closed with the mapping |
/// | [SharedMemory#attachDescriptor(int)] | any thread, until the last holder releases it | the mapping by [SharedMemory#close]; the descriptor by the caller |
/// | [SharedMemoryDraft] | one thread, until it is published or closed | [SharedMemoryDraft#close], or the segment that [SharedMemoryDraft#publish] returns |
/// | [MappedFile#attach] | any thread, as for any mapped file | [MappedFile#close], which also releases the name |
/// | [FileStorage] | any thread, shared ones any process, until the storage is freed | the storage |
/// | [SharedStorageHandle#open], [SharedTensorHandle#open] | as for the storage that is opened | the storage; each call adds a reference |
/// | [AnonymousMemory#allocator] | any thread, until the allocation is freed | the storage that owns the allocation |
/// | [AnonymousMemory#freezableAllocator] | as for anonymous memory; an image by any thread, until it is closed | the storage; an image by closing it |
///
/// Using released memory throws [IllegalStateException]; freed memory is never read. Memory that is never released is
/// released by the garbage collector once it is unreachable.
///
/// **Systems.** Linux is called through the foreign function interface, which requires `--enable-native-access`.
/// Without it, and on macOS and Windows, files are mapped by [java.nio.channels.FileChannel] (copy-on-write and
/// stitched maps become copies), anonymous memory is allocated by the JDK, none can be frozen, [Pages] ignores hints,
/// and shared memory is not supported.
///
/// Nothing here takes or returns null unless documented otherwise.
@NullMarked
package io.undercroft.mmap;

import org.jspecify.annotations.NullMarked;
