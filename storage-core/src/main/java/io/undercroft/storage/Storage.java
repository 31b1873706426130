package io.undercroft.storage;

import io.undercroft.storage.internal.Endian;
import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.internal.support.Freezable;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import io.undercroft.storage.spi.Backing;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.DeviceMemory.HostWriter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/// A block of untyped bytes with an identity, which several tensors may use. The counterpart of `torch.UntypedStorage`,
/// Torch7's `THStorage` and C++'s `StorageImpl`.
///
/// Two storages are the same only if they are the same object; [#contentEquals] compares bytes. The bytes of a storage
/// may be deferred: those of a file are mapped by the first call that needs them.
///
/// **Slices.** [#slice] creates a storage on a part of the bytes of another storage, its base. A slice has a separate
/// identity, cannot be resized, and keeps its base alive. (As in PyTorch and Torch7.)
///
/// **Size.** A storage that was allocated by an [Allocator] can be resized. Tensors and slices on it see the new bytes,
/// and throw [IllegalStateException] for elements beyond the new size. (PyTorch and Torch7 read freed memory.)
///
/// **Lifetime.** A new storage has one reference, that of its creator. [#retain] adds one, [#release] removes one, and
/// the bytes are freed with the last. After that every access throws [IllegalStateException] and never reads freed
/// memory. Memory of [Allocator#offHeap] and of the heap is freed by the garbage collector, when no segment of it is
/// reachable either. Tensors do not count as references, slices do. A storage that is never released is freed when it
/// is unreachable, or when the file it was mapped from is closed.
///
/// **Threads.** Identity, size and reference count are thread-safe. Access to bytes has the guarantees of
/// [MemorySegment]: concurrent writes are not ordered, but never crash the JVM. A thread whose access races with
/// [#release] or [#resize] reads the former bytes or throws [IllegalStateException]; its writes may be lost. If the JVM
/// stops such an access, it also sets the interrupted status of the thread. Methods that access many bytes restore that
/// status, and their exceptions name the object that was closed; methods that access a single element do neither.
///
/// **Mapped files.** If a mapped file is truncated, its mappings lose their bytes. Methods that access many bytes then
/// throw an exception that names the file, also if the new end is within a page, the rest of which reads as zeros.
/// Methods that access a single element, here and in [Tensor] and [TypedStorage], and their streams and iterators,
/// throw the [InternalError] of the JVM, possibly later. Loops over elements of a file that may be truncated should run
/// in `Pages.guard` of `io.undercroft.mmap`.
///
/// **Devices.** The host cannot access the bytes of a storage on another device. Such storages and their
/// [slices][#slice] can be copied and filled as a whole, and [read in parts][#forEachPart]. A meta storage has a size
/// and no bytes: writing does nothing, reading throws (as in PyTorch).
public final class Storage implements Iterable<Integer> {
    /// The alignment, in bytes, of storages that this library allocates and stores: a cache line.
    public static final long ALIGNMENT = 64;

    private static final AtomicLong IDS = new AtomicLong();
    /// The number of calls of [#borrow] that decode separately. After that the storage keeps the bytes, which is
    /// faster.
    private static final int SEPARATE_DECODES = 4;
    /// The maximum number of elements that are printed, and the number at each end if there are more.
    private static final long PRINTED_WHOLE = 1000;
    private static final long PRINTED_ENDS = 3;

    private final long id = IDS.incrementAndGet();
    private final Device device;
    private final StorageBacking backing;
    /// The offset of a slice in its base, in bytes.
    private final long start;
    private volatile long nbytes;
    private volatile @Nullable Allocator allocator;
    /// The bytes of a CPU storage that is not a slice, after they were made. Read without synchronization, for speed: a
    /// segment has only final fields, and access to a freed segment throws.
    private @Nullable MemorySegment bytes;
    /// The bytes of a slice, and the bytes of the base that they are a part of.
    private @Nullable Window window;
    /// The object that releases the storage when it is closed, or null; set before the storage is published.
    private @Nullable Object owner;

    private Storage(long nbytes, Device device, @Nullable Allocator allocator, StorageBacking backing, long start) {
        this.nbytes = checkSize(nbytes);
        this.device = Objects.requireNonNull(device, "device");
        this.allocator = allocator;
        this.backing = backing;
        this.start = start;
    }

    // ---- making ----

    /// Allocates a zeroed storage off the heap. (PyTorch does not initialise new storages.)
    ///
    /// @param nbytes the size in bytes, 0 or more
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static Storage allocate(long nbytes) {
        return allocate(nbytes, Allocator.offHeap());
    }

    /// Allocates a zeroed storage.
    ///
    /// @param nbytes the size in bytes, 0 or more
    /// @param allocator the allocator of the bytes
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    /// @throws OutOfMemoryError if the bytes cannot be allocated; for memory of a device see [Allocator#allocate]
    public static Storage allocate(long nbytes, Allocator allocator) {
        return over(make(allocator, checkSize(nbytes)), allocator.device(), allocator);
    }

    /// Creates a storage that owns an allocation and frees it with its last reference. It cannot be resized.
    ///
    /// @param allocation the bytes
    /// @return the storage
    public static Storage over(Allocation allocation) {
        return over(allocation, Device.CPU, null);
    }

    /// Creates a storage that owns an allocation on a device and frees it with its last reference. It cannot be
    /// resized.
    ///
    /// @param allocation the bytes, in memory of the device
    /// @param device the device, with its index
    /// @return the storage
    public static Storage over(Allocation allocation, Device device) {
        return over(allocation, device, null);
    }

    /// Creates a storage on the bytes of a segment, which it does not own. Writes to one are visible in the other. The
    /// storage cannot be resized. Access throws as access to the segment does: after its arena is closed, and from
    /// another thread than that of a confined arena.
    ///
    /// @param segment the bytes, on or off the heap
    /// @return the storage, of the segment's size
    public static Storage wrap(MemorySegment segment) {
        return over(Allocation.collected(segment));
    }

    /// Creates a storage on memory at an address, as Torch7's constructor with a size and a pointer. The memory is
    /// neither copied nor freed, and the storage cannot be resized. The memory must stay valid as long as the storage
    /// is used; otherwise the JVM may crash. [#wrap] of a [MemorySegment] is the safe alternative.
    ///
    /// This is a restricted operation: it needs `--enable-native-access`.
    ///
    /// @param address the address of the first byte
    /// @param nbytes the size in bytes
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative, the address is 0, or the end is beyond the last
    ///     address
    @SuppressWarnings("restricted")
    public static Storage ofAddress(long address, long nbytes) {
        checkSize(nbytes);
        boolean wraps = Long.compareUnsigned(address + nbytes, address) < 0;
        if (wraps || (address == 0 && nbytes > 0)) {
            throw new IllegalArgumentException(
                    "there can be no " + nbytes + " bytes of memory at address 0x" + Long.toHexString(address));
        }
        return wrap(MemorySegment.ofAddress(address).reinterpret(nbytes));
    }

    /// Creates a storage with a copy of the given bytes.
    ///
    /// @param bytes the bytes to copy
    /// @return the storage
    public static Storage copyOf(byte... bytes) {
        return copyOf(MemorySegment.ofArray(bytes));
    }

    /// Creates a storage with a copy of the given bytes.
    ///
    /// @param bytes the bytes to copy
    /// @return the storage
    public static Storage copyOf(MemorySegment bytes) {
        Storage storage = allocate(bytes.byteSize());
        storage.segment().copyFrom(bytes);
        return storage;
    }

    /// Creates a storage with a copy of the elements of a buffer (`from_buffer` in PyTorch).
    ///
    /// @param buffer the elements, without gaps
    /// @param dtype their type
    /// @param order the byte order of the buffer; the storage is little-endian
    /// @return the storage
    /// @throws IllegalArgumentException if the size of the buffer is not a multiple of the element size
    public static Storage copyOf(MemorySegment buffer, DType dtype, ByteOrder order) {
        checkWhole(buffer.byteSize(), dtype);
        Storage storage = copyOf(buffer);
        if (order == ByteOrder.BIG_ENDIAN) {
            storage.byteswap(dtype);
        }
        return storage;
    }

    /// Creates a storage whose bytes are made by the first call that needs them. It cannot be resized.
    ///
    /// @param nbytes the size in bytes
    /// @param source makes an allocation of exactly that size. It is called by the first thread that needs the bytes,
    ///     and again only if it failed. It must not use this storage
    /// @return the storage
    public static Storage deferred(long nbytes, Supplier<Allocation> source) {
        Objects.requireNonNull(source, "source");
        return new Storage(nbytes, Device.CPU, null, StorageBacking.deferred(source), 0);
    }

    /// Creates a storage whose bytes are made by the first call that needs them, and which its owner releases when it
    /// is closed. Access after that throws an exception that names the owner.
    ///
    /// @param nbytes the size in bytes
    /// @param source as for [#deferred(long, Supplier)]
    /// @param owner the owner, for instance the path of a file, for messages
    /// @return the storage
    public static Storage deferred(long nbytes, Supplier<Allocation> source, Object owner) {
        Storage storage = deferred(nbytes, source);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage on a device whose bytes are made by the first call that needs them, and which its owner
    /// releases when it is closed.
    ///
    /// @param nbytes the size in bytes
    /// @param memory the memory of the device
    /// @param source as for [#deferred(long, Supplier)]; makes an allocation on the device
    /// @param owner as for [#deferred(long, Supplier, Object)]
    /// @return the storage
    public static Storage deferred(long nbytes, DeviceMemory memory, Supplier<Allocation> source, Object owner) {
        Objects.requireNonNull(source, "source");
        Storage storage = new Storage(nbytes, memory.device(), memory, StorageBacking.deferred(source), 0);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage whose bytes are decoded by the first call that needs them, as those of [#deferred], and which
    /// [#borrow] can decode without keeping them.
    ///
    /// @param nbytes the size in bytes
    /// @param source decodes the bytes into an allocation of exactly that size. It is called by any thread, several
    ///     times and concurrently. It must not use this storage
    /// @param owner the owner, for instance the path of a file, for messages
    /// @return the storage
    public static Storage decoded(long nbytes, Supplier<Allocation> source, Object owner) {
        Storage storage = decoded(nbytes, source);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage as [#decoded(long, Supplier, Object)], without an owner.
    ///
    /// @param nbytes the size in bytes
    /// @param source as for [#decoded(long, Supplier, Object)]
    /// @return the storage
    public static Storage decoded(long nbytes, Supplier<Allocation> source) {
        Objects.requireNonNull(source, "source");
        return new Storage(nbytes, Device.CPU, null, StorageBacking.decoded(source, SEPARATE_DECODES), 0);
    }

    /// Creates a storage with a size and a device but no bytes, as on PyTorch's meta device.
    ///
    /// @param nbytes the size in bytes
    /// @return the storage
    public static Storage meta(long nbytes) {
        return new Storage(nbytes, Device.META, null, StorageBacking.nothing(), 0);
    }

    /// Creates a storage as [#meta(long)], which is released when what it describes is closed.
    ///
    /// @param nbytes the size in bytes
    /// @param owner as for [#deferred(long, Supplier, Object)]
    /// @return the storage
    public static Storage meta(long nbytes, Object owner) {
        Storage storage = meta(nbytes);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    private static Allocation make(Allocator allocator, long nbytes) {
        return allocator.allocate(nbytes).checkSize(nbytes);
    }

    private static Storage over(Allocation allocation, Device device, @Nullable Allocator allocator) {
        StorageBacking backing = StorageBacking.of(allocation);
        Storage storage = new Storage(allocation.segment().byteSize(), device, allocator, backing, 0);
        synchronized (backing) {
            backing.cleanAfter(storage);
            storage.bytes = device.isCpu() ? allocation.segment() : null;
        }
        return storage;
    }

    // ---- what it is ----

    /// {@return a number that no other storage of this process has}
    public long id() {
        return id;
    }

    /// Returns the address of the first byte (`data_ptr` in PyTorch), for native code. It does not identify the
    /// storage, as [#id] does: a slice may have the address of its base, and addresses are reused after a storage is
    /// freed.
    ///
    /// @return the address, on the storage's device; 0 for a meta or empty storage
    /// @throws UnsupportedOperationException if the bytes are on the heap, where the garbage collector moves them
    /// @throws IllegalStateException if the storage was freed
    public long dataPtr() {
        if (isMeta() || nbytes == 0) {
            return 0;
        }
        MemorySegment segment = deviceSegment();
        if (!segment.isNative()) {
            throw new UnsupportedOperationException(describe() + " lies on the heap and has no address");
        }
        return segment.address();
    }

    /// {@return the size in bytes}
    public long nbytes() {
        return nbytes;
    }

    /// {@return the number of elements, which are bytes: the same as [#nbytes]}
    public long size() {
        return nbytes;
    }

    /// {@return the size of an element in bytes: 1}
    public int elementSize() {
        return 1;
    }

    /// {@return the device of the bytes}
    public Device device() {
        return device;
    }

    /// {@return whether the bytes are on a CUDA device}
    public boolean isCuda() {
        return device.isCuda();
    }

    /// {@return whether this is a meta storage, which has a size and no bytes}
    public boolean isMeta() {
        return device.isMeta();
    }

    /// {@return whether the bytes are in pinned host memory}
    public boolean isPinned() {
        Storage root = root();
        Allocator from = root.allocator;
        Allocation allocation = root.backing.allocation();
        return (from != null && from.isPinned()) || (allocation != null && allocation.isPinned());
    }

    /// {@return whether writes are visible to other processes (`is_shared` in PyTorch)} Makes deferred bytes.
    ///
    /// @throws IllegalStateException if the storage was freed
    public boolean isShared() {
        return !isMeta() && root().allocation().sharing() == Allocation.Sharing.SHARED;
    }

    /// {@return whether writes throw} Makes deferred bytes.
    ///
    /// @throws IllegalStateException if the storage was freed
    public boolean isReadOnly() {
        return !isMeta() && deviceSegment().isReadOnly();
    }

    /// {@return the name of the file or shared memory that has the bytes (`filename` in PyTorch); empty for other
    /// memory and for slices} Makes deferred bytes.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Optional<String> filename() {
        return isMeta() || backing.base() != null ? Optional.empty() : allocation().filename();
    }

    /// {@return the origin of the bytes for messages: the file that was opened, otherwise as [#filename]; of a slice,
    /// that of its base; empty for other memory} Does not make deferred bytes.
    public Optional<String> location() {
        Storage root = root();
        Object from = isMeta() ? null : root.owner;
        Allocation allocation = root.backing.allocation();
        return from != null
                ? Optional.of(from.toString())
                : allocation == null ? Optional.empty() : allocation.filename();
    }

    /// {@return what releases the storage when it is closed, as it was given when the storage was made; nothing for a
    /// slice and for a storage that was made without an owner}
    public Optional<Object> owner() {
        return Optional.ofNullable(owner);
    }

    /// {@return the origin of the allocation; of a slice, that of its base} Makes deferred bytes.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Optional<Allocation.Origin> origin() {
        return isMeta() ? Optional.empty() : root().allocation().origin();
    }

    /// {@return the backing of the allocation; of a slice, that of its base; empty if the bytes are deferred or have
    /// none}
    public Optional<Backing> backing() {
        Allocation allocation = root().backing.allocation();
        return allocation == null ? Optional.empty() : allocation.backing();
    }

    /// Compares bytes with the checksums of the file that they are mapped from, as [Backing#check]. Does nothing if the
    /// bytes are deferred or the file has no checksums. Callers use it before they copy bytes, as damage cannot be
    /// detected in the copy.
    ///
    /// @param from the offset of the first byte
    /// @param to the end, exclusive
    /// @throws IllegalStateException if the storage is freed meanwhile; the interrupted status of the thread is kept
    /// @throws RuntimeException if bytes are damaged
    public void checkBytes(long from, long to) {
        Backing file = backing().filter(Backing::hasChecksums).orElse(null);
        if (file == null) {
            return;
        }
        boolean wasInterrupted = Thread.currentThread().isInterrupted();
        try {
            file.check(start + from, start + to);
        } catch (IllegalStateException e) {
            throw Faults.ended(e, wasInterrupted, this::segment);
        }
    }

    /// {@return the allocator of the bytes; empty if they were not allocated by one, but are for instance those of a
    /// file or a wrapped segment}
    public Optional<Allocator> allocator() {
        return Optional.ofNullable(allocator);
    }

    /// {@return the base of a slice, which is never a slice itself}
    public Optional<Storage> base() {
        return Optional.ofNullable(backing.base());
    }

    /// {@return the offset of a slice in its base, in bytes; 0 if this is not a slice}
    public long sliceOffset() {
        return start;
    }

    /// {@return whether the bytes are not deferred (any more), so that [#segment] neither maps nor allocates memory}
    public boolean isMaterialized() {
        return root().backing.allocation() != null;
    }

    /// Makes deferred bytes, on whichever device they are.
    ///
    /// @return this storage
    /// @throws IllegalStateException if the storage was freed
    public Storage materialize() {
        checkAlive();
        if (!isMeta()) {
            var _ = root().allocation();
        }
        return this;
    }

    /// {@return the source of deferred bytes, for code that makes those of many storages at once; of a slice, that of
    /// its base; empty if the bytes are not deferred}
    public Optional<Supplier<Allocation>> source() {
        return Optional.ofNullable(root().backing.source());
    }

    // ---- bytes ----

    /// Returns the bytes, without a copy. Makes deferred bytes. The segment must not be used after the storage is
    /// freed, resized or collected.
    ///
    /// @return a segment of [#nbytes] bytes
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta), is on a device that the host cannot
    ///     access, or is a slice of a storage that became too small
    public MemorySegment segment() {
        MemorySegment segment = bytes;
        return segment != null ? segment : hostSegment();
    }

    /// {@return whether [#borrow] would decode deferred bytes for the borrower only} Decodes nothing.
    public boolean isDecodedOnDemand() {
        Storage root = root();
        return root.referenceCount() > 0 && root.backing.isDecodedOnDemand();
    }

    /// Borrows the bytes for one operation that reads all of them, so that an operation on all storages of a file needs
    /// memory for one storage at a time. Deferred bytes that are compressed, byte-swapped or unaligned in the file are
    /// decoded for the borrower only, and freed when it is closed. So are bytes of a `.croft` file that are in several
    /// extents or belong to several storages. A storage that is borrowed several times keeps its bytes. The bytes of
    /// any other storage are made, kept and returned. The bytes of a device are copied to the host for the borrower
    /// only; [#forEachPart] needs less memory.
    ///
    /// @return the bytes, which must be closed
    /// @throws IllegalStateException if the storage was freed
    public BorrowedBytes borrow() {
        checkAlive();
        if (isRemote()) {
            Storage copy = cpu();
            return new BorrowedBytes(this, copy, copy::free);
        }
        Storage root = root();
        Supplier<Allocation> source = root.backing.borrow();
        if (source == null) {
            return new BorrowedBytes(this, this, () -> {});
        }
        Timing timing = Operation.DECODE.begin();
        Storage made = over(source.get().checkSize(root.nbytes));
        timing.end(root.owner, root.nbytes);
        if (root == this) {
            return new BorrowedBytes(this, made, made::free);
        }
        Storage slice = made.slice(start, nbytes);
        return new BorrowedBytes(this, slice, () -> {
            slice.free();
            made.free();
        });
    }

    /// Passes bytes to an action in one or more parts, in ascending order, in the calling thread. Bytes that the host
    /// can access are passed in place, as one part; bytes of a device are copied through host buffers of bounded size.
    ///
    /// @param offset the offset of the first byte
    /// @param length the number of bytes
    /// @param work called with each part, which is valid during the call, and its offset from `offset`
    /// @throws IndexOutOfBoundsException if the range is not inside this storage
    /// @throws IllegalStateException if this storage was freed, or has no bytes (meta)
    public void forEachPart(long offset, long length, HostWriter work) {
        Objects.checkFromIndexSize(offset, length, nbytes);
        checkBytes();
        DeviceMemory memory = deviceMemory();
        if (memory == null) {
            BulkAccess.run(this, () -> work.write(0, segment().asSlice(offset, length)));
        } else {
            BulkAccess.run(this, () -> memory.download(deviceSegment().asSlice(offset, length), work));
        }
    }

    /// Releases a reference if there is one.
    private void free() {
        if (referenceCount() > 0) {
            release();
        }
    }

    /// {@return the byte at an index}
    ///
    /// @param index from 0 to `nbytes() - 1`
    /// @throws IndexOutOfBoundsException if there is no such byte
    /// @throws IllegalStateException as [#segment]
    public byte get(long index) {
        return segment().get(ValueLayout.JAVA_BYTE, checkIndex(index));
    }

    /// {@return the byte at an index as an unsigned number, from 0 to 255, as in PyTorch}
    ///
    /// @param index from 0 to `nbytes() - 1`
    /// @throws IndexOutOfBoundsException if there is no such byte
    /// @throws IllegalStateException as [#segment]
    public int getUnsigned(long index) {
        return Byte.toUnsignedInt(get(index));
    }

    /// Writes one byte.
    ///
    /// @param index from 0 to `nbytes() - 1`
    /// @param value the value
    /// @throws IndexOutOfBoundsException if there is no such byte
    /// @throws UnsupportedOperationException if the storage is read-only
    /// @throws IllegalStateException if it was freed or is on a device that the host cannot access
    public void set(long index, byte value) {
        checkIndex(index);
        if (!isMeta()) {
            writable().set(ValueLayout.JAVA_BYTE, index, value);
        }
    }

    /// {@return the bytes in order, from 0 to 255}
    public IntStream stream() {
        checkBytes();
        return LongStream.range(0, nbytes).mapToInt(this::getUnsigned);
    }

    /// {@return the bytes in order, from 0 to 255}
    @Override
    public Iterator<Integer> iterator() {
        return stream().iterator();
    }

    /// {@return the bytes, from 0 to 255, in a new list (`tolist` in PyTorch)} A list takes many times the
    /// memory of the storage.
    public List<Integer> toList() {
        return BulkAccess.ask(this, () -> stream().boxed().toList());
    }

    /// Sets all bytes to one value (`fill_` in PyTorch).
    ///
    /// @param value the value
    /// @return this storage
    /// @throws UnsupportedOperationException if the storage is read-only
    public Storage fill(byte value) {
        checkAlive();
        if (!isMeta()) {
            BulkAccess.run(this, () -> fillBytes(value));
        }
        return this;
    }

    private void fillBytes(byte value) {
        DeviceMemory memory = deviceMemory();
        if (memory == null) {
            writable().fill(value);
        } else {
            memory.fill(checkWritable(deviceSegment()), value);
        }
    }

    /// Copies all bytes of another storage of the same size, from any device to any other (`copy_` in PyTorch).
    /// Overlapping slices are copied as if through a temporary buffer.
    ///
    /// @param source the storage to copy
    /// @return this storage
    /// @throws IllegalArgumentException if the sizes differ
    /// @throws UnsupportedOperationException if this storage is read-only
    /// @throws IllegalStateException if one of the storages was freed, or the source has no bytes (meta)
    public Storage copyFrom(Storage source) {
        if (source.nbytes != nbytes) {
            throw new IllegalArgumentException(
                    "cannot copy a storage of " + source.nbytes + " bytes over one of " + nbytes);
        }
        if (!isMeta()) {
            copyBytes(source);
        }
        return this;
    }

    /// Reverses the byte order of all elements in place (`byteswap` in PyTorch). The two parts of a complex number are
    /// reversed separately.
    ///
    /// @param dtype the type of the elements
    /// @return this storage
    /// @throws IllegalArgumentException if the size of the storage is not a multiple of the element size
    /// @throws UnsupportedOperationException if the storage is read-only
    public Storage byteswap(DType dtype) {
        checkWhole(nbytes, dtype);
        int parts = dtype.kind() == DType.Kind.COMPLEX ? 2 : 1;
        if (!isMeta()) {
            BulkAccess.run(this, () -> Endian.swapBytes(writable(), dtype.itemsize() / parts));
        }
        return this;
    }

    /// {@return whether both storages have the same size and bytes}
    ///
    /// @param other another storage
    public boolean contentEquals(Storage other) {
        return BulkAccess.ask(this, other, () -> nbytes == other.nbytes && haveSameBytes(segment(), other.segment()));
    }

    // ---- size ----

    /// {@return whether the storage can be resized: it was allocated by an allocator, is not a slice and not shared
    /// with other processes} A meta storage can be resized unless it is a slice.
    public boolean isResizable() {
        if (isMeta()) {
            return backing.base() == null;
        }
        Allocation memory = backing.allocation();
        return allocator != null && memory != null && memory.sharing() == Allocation.Sharing.PRIVATE;
    }

    /// Changes the size (`resize_` in PyTorch, `resize` in Torch7). The bytes move to new memory and are truncated or
    /// padded with zeros. If the method throws, nothing has changed.
    ///
    /// @param newSize the new size in bytes
    /// @return this storage
    /// @throws IllegalArgumentException if the size is negative
    /// @throws UnsupportedOperationException if [#isResizable] is false
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    /// @throws IllegalStateException if the storage was freed
    public Storage resize(long newSize) {
        checkSize(newSize);
        checkAlive();
        if (!isResizable()) {
            throw new UnsupportedOperationException(describe() + " cannot be resized to " + newSize
                    + " bytes: it is a slice, a mapped file, shared, or memory of another owner; copy() it first");
        }
        if (isMeta()) {
            nbytes = newSize;
        } else {
            move(Objects.requireNonNull(allocator), newSize);
        }
        return this;
    }

    // ---- copies and slices ----

    /// {@return a new storage on the same device with a copy of the bytes (`clone` in PyTorch)} It is allocated by the
    /// same allocator, or off the heap if there is none.
    @CheckReturnValue
    public Storage copy() {
        checkAlive();
        return isMeta() ? meta(nbytes) : copyTo(likeAllocator());
    }

    /// {@return a new zeroed storage on the same device, allocated by the same allocator, or off the heap if there is
    /// none (`new` in PyTorch and Torch7)}
    ///
    /// @param size the size in bytes
    @CheckReturnValue
    public Storage allocateLike(long size) {
        if (isMeta()) {
            return meta(size);
        }
        return allocate(size, likeAllocator());
    }

    private Allocator likeAllocator() {
        Allocator from = root().allocator;
        return from == null || isShared() ? Allocator.on(device) : from;
    }

    /// {@return a new storage with one element for each byte, converted from its unsigned value (`float()`, `long()`, …
    /// of PyTorch's untyped storages)}
    ///
    /// @param dtype the type
    @CheckReturnValue
    public TypedStorage to(DType dtype) {
        return new TypedStorage(this, DType.UINT8).to(dtype);
    }

    /// Returns a storage on a part of the bytes. Writes to one are visible in the other. The slice has a separate
    /// identity, and holds a reference to this storage until it is released or collected.
    ///
    /// @param offset the offset of the first byte
    /// @param size the size in bytes
    /// @return the slice
    /// @throws IndexOutOfBoundsException if the slice is not inside this storage (PyTorch truncates it)
    /// @throws IllegalStateException if this storage was freed
    @CheckReturnValue
    public Storage slice(long offset, long size) {
        checkAlive();
        if (offset < 0 || size < 0 || offset > nbytes - size) {
            throw new IndexOutOfBoundsException(
                    "a slice of " + size + " bytes from byte " + offset + " of " + describe());
        }
        StorageBacking held = StorageBacking.slice(root());
        Storage slice = new Storage(size, device, null, held, start + offset);
        synchronized (held) {
            held.cleanAfter(slice);
        }
        return slice;
    }

    // ---- devices ----

    /// {@return this storage if it is in host memory, otherwise a copy in host memory}
    ///
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    @CheckReturnValue
    public Storage cpu() {
        return to(Device.CPU);
    }

    /// {@return this storage if it is on the first CUDA device, otherwise a copy on it}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no such device
    @CheckReturnValue
    public Storage cuda() {
        return to(Device.cuda(0));
    }

    /// {@return this storage if it is on the device, otherwise a copy on it} [StorageCopier] copies several tensors and
    /// keeps the sharing of their storages.
    ///
    /// @param target the device; if it has no index, the first of its type
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no such device
    @CheckReturnValue
    public Storage to(Device target) {
        checkAlive();
        if (target.equals(device)) {
            return this;
        } else if (target.isMeta()) {
            return meta(nbytes);
        }
        checkBytes();
        Allocator allocator = Allocator.on(target);
        return allocator.device().equals(device) ? this : copyTo(allocator);
    }

    /// {@return this storage if it is pinned, otherwise a copy in pinned host memory}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no pinned memory
    @CheckReturnValue
    public Storage pinMemory() {
        checkAlive();
        checkBytes();
        return isPinned() ? this : copyTo(MemoryProviders.pinned());
    }

    /// Pins the bytes in place, so that devices copy from and to them directly (`cudaHostRegister`). Nothing is copied,
    /// and the storage keeps its identity. It is pinned until it is released, resized or moved. A slice is pinned with
    /// its base. Does nothing if the storage is pinned already.
    ///
    /// Bytes that are not pinned are copied through pinned buffers. Pinning costs time for each page, so it pays only
    /// for bytes that are copied more than once. Pinned pages stay in physical memory: a mapped file is read
    /// completely, and each page of a copy-on-write mapping is copied; a read-only mapping pins the pages of the page
    /// cache. No storage is pinned implicitly. Some drivers refuse to pin bytes in a page that has other pinned bytes;
    /// anonymous mappings do not share pages.
    ///
    /// Bytes that the storage does not own, such as those of [#wrap], must stay valid until this storage is released.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed, is not in host memory off the heap, there is no CUDA device, or
    ///     the system refuses to pin the bytes; nothing has changed then
    public Storage pinInPlace() {
        checkAlive();
        checkBytes();
        Storage root = root();
        synchronized (root.backing) {
            if (!isPinned() && root.nbytes > 0) {
                root.backing.wrap(root, root.pinned());
            }
        }
        return this;
    }

    private Allocation pinned() {
        Allocation allocation = allocation();
        if (!device.isCpu() || !allocation.segment().isNative()) {
            throw new IllegalStateException(describe() + " is not in memory of the host off the heap, and cannot be "
                    + "pinned in place; copy it with pinMemory()");
        }
        if (allocation.origin().filter(Freezable.class::isInstance).isPresent()) {
            throw new IllegalStateException(describe() + " is in memory that can be frozen, whose pages are replaced, "
                    + "and cannot be pinned in place; copy it with pinMemory()");
        }
        BulkAccess.probe(this);
        return allocation.pinnedInPlace();
    }

    /// Moves the bytes to memory of the same device that other processes can open by a handle, on the CPU also by
    /// [#filename] (`share_memory_` in PyTorch, which does nothing for CUDA storages). The storage keeps its identity,
    /// tensors and slices, but cannot be resized any more. A slice moves with its base. (In PyTorch, it moves alone.)
    /// Does nothing if the storage is shared already.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no shared memory on its device
    /// @throws OutOfMemoryError if there is not enough shared memory; nothing has changed then
    public Storage shareMemory() {
        checkAlive();
        checkBytes();
        Storage root = root();
        // Of several threads one moves the bytes: the others have given no handle to memory that is left again.
        synchronized (root.backing) {
            if (!isShared()) {
                root.moveTo(MemoryProviders.shared(device));
            }
        }
        return this;
    }

    /// Moves the bytes to other memory of the same device. The storage keeps its identity, tensors and slices. Segments
    /// that were returned before must not be used any more.
    ///
    /// @param target the allocator of the new memory
    /// @return this storage
    /// @throws IllegalArgumentException if the allocator is for another device
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or is a slice
    /// @throws OutOfMemoryError if the bytes cannot be allocated; nothing has changed then
    public Storage moveTo(Allocator target) {
        if (!target.device().equals(device)) {
            throw new IllegalArgumentException(
                    describe() + " cannot move to " + target.device() + "; copy it there with to(Device)");
        }
        checkBytes();
        if (backing.base() != null) {
            throw new IllegalStateException(describe() + " is a slice and moves with its base only");
        }
        move(target, nbytes);
        return this;
    }

    // ---- lifetime ----

    /// {@return a weak reference to this storage}
    public WeakStorage weak() {
        return new WeakStorage(this);
    }

    /// Adds a reference (`retain` in Torch7). The operation is atomic.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed
    public Storage retain() {
        if (!tryRetain()) {
            throw freed();
        }
        return this;
    }

    /// Removes a reference, and frees the bytes if it was the last (`free` in Torch7). The operation is atomic. Bytes
    /// of [Allocator#offHeap] and of the heap are freed by the garbage collector.
    ///
    /// @throws IllegalStateException if it was freed before
    public void release() {
        int before = backing.release();
        if (before == 0) {
            throw freed();
        }
        if (before == 1) {
            synchronized (backing) {
                bytes = null;
                window = null;
                backing.endBorrow();
            }
        }
    }

    /// {@return the number of references; 0 after the storage was freed}
    public int referenceCount() {
        return backing.references();
    }

    // ---- printing ----

    /// {@return the identity, size and device, for messages}
    public String describe() {
        return "storage #" + id + " of " + nbytes + " bytes on " + device + (referenceCount() == 0 ? " (freed)" : "");
    }

    /// {@return the bytes as PyTorch prints an untyped storage, one on a line; of more than 1000 only those at the
    /// ends} Makes deferred bytes. Bytes that the host cannot access are not printed.
    @Override
    public String toString() {
        String elements = BulkAccess.ask(this, () -> lines(nbytes, index -> Integer.toString(getUnsigned(index))));
        return elements + "\n[torch.storage.UntypedStorage(device=" + device + ") of size " + nbytes + "]";
    }

    /// Returns elements as PyTorch prints them, each on a line; of many, only those at the ends; dots if the host
    /// cannot access them.
    ///
    /// @param size their number
    /// @param text the text of the one at an index
    String lines(long size, LongFunction<String> text) {
        if (!device.isCpu() || missing() != null) {
            return "...";
        }
        StringBuilder lines = new StringBuilder(" ");
        for (long index = 0; index < size; index++) {
            lines.append(index == 0 ? "" : "\n ");
            if (size > PRINTED_WHOLE && index == PRINTED_ENDS) {
                lines.append("...\n ");
                index = size - PRINTED_ENDS;
            }
            lines.append(text.apply(index));
        }
        return lines.toString();
    }

    /// Returns the reason why there are no bytes, for messages; null if there are bytes.
    @Nullable
    String missing() {
        Storage root = root();
        if (referenceCount() == 0 || root.referenceCount() == 0) {
            return "freed";
        }
        return start > root.nbytes - nbytes ? "too small" : null;
    }

    // ---- for this package ----

    boolean tryRetain() {
        return backing.retain();
    }

    /// Returns the bytes, for writing by the host.
    MemorySegment writable() {
        return checkWritable(segment());
    }

    private MemorySegment checkWritable(MemorySegment all) {
        if (all.isReadOnly()) {
            throw new UnsupportedOperationException(
                    describe() + " is read-only; open it copy-on-write or copy it to write");
        }
        return all;
    }

    private static boolean haveSameBytes(MemorySegment one, MemorySegment other) {
        return one.byteSize() == other.byteSize() && Faults.haveSameBytes(one, other);
    }

    /// Returns whether the bytes are mapped from a file, which may be truncated. Does not make deferred bytes.
    boolean isFileBacked() {
        Allocation allocation = root().backing.allocation();
        return allocation != null && allocation.filename().isPresent();
    }

    /// Returns a storage from an allocator with a copy of the bytes.
    Storage copyTo(Allocator target) {
        long size = nbytes;
        Allocation bytes = target instanceof DeviceMemory memory
                ? memory.allocateUninitialized(size)
                : target.allocate(size);
        Storage made = over(bytes.checkSize(size), target.device(), target);
        try {
            made.copyBytes(this);
            return made;
        } catch (RuntimeException | Error e) {
            made.release();
            throw e;
        }
    }

    private MemorySegment hostSegment() {
        checkBytes();
        if (!device.isCpu()) {
            checkAlive();
            throw new IllegalStateException(
                    describe() + " is out of the host's reach; copy it with cpu(), or copy to it with copyFrom");
        }
        if (backing.base() != null) {
            return window();
        }
        synchronized (backing) {
            MemorySegment segment = allocation().segment();
            bytes = segment;
            return segment;
        }
    }

    /// Returns the bytes on any device. The host can access them only on the CPU.
    private MemorySegment deviceSegment() {
        return device.isCpu() ? segment() : backing.base() != null ? window() : allocation().segment();
    }

    private MemorySegment window() {
        checkAlive();
        Storage base = root();
        MemorySegment whole = base.deviceSegment();
        Window last = window;
        if (last == null || last.whole != whole) {
            if (start > whole.byteSize() - nbytes) {
                throw new IllegalStateException(describe() + " is the slice from byte " + start + " on of "
                        + base.describe() + ", which was resized and is too small for it now");
            }
            last = new Window(whole, whole.asSlice(start, nbytes));
            window = last;
        }
        return last.part;
    }

    private Allocation allocation() {
        synchronized (backing) {
            checkAlive();
            return Objects.requireNonNull(backing.materialize(this));
        }
    }

    private void copyBytes(Storage source) {
        DeviceMemory memory = deviceMemory();
        DeviceMemory sourceMemory = source.deviceMemory();
        source.checkBytes();
        source.deviceSegment();
        source.checkBytes(0, source.nbytes);
        BulkAccess.run(this, source, () -> copyBytes(source, memory, sourceMemory));
    }

    private void copyBytes(Storage source, @Nullable DeviceMemory memory, @Nullable DeviceMemory sourceMemory) {
        MemorySegment from = source.deviceSegment();
        MemorySegment to = checkWritable(deviceSegment());
        if (from.byteSize() != to.byteSize()) {
            throw new IllegalStateException(source.describe() + " or " + describe() + " was resized while the "
                    + "one was copied to the other");
        }
        if (memory != null || sourceMemory != null) {
            BulkAccess.probe(this);
            BulkAccess.probe(source);
        }
        if (memory != null) {
            copyToDevice(memory, sourceMemory, from, to);
        } else if (sourceMemory != null) {
            sourceMemory.toHost(from, to);
        } else {
            to.copyFrom(from);
        }
    }

    private static void copyToDevice(DeviceMemory memory, @Nullable DeviceMemory source, MemorySegment from,
            MemorySegment to) {
        if (source == null) {
            memory.fromHost(from, to);
        } else if (source.device().equals(memory.device())) {
            memory.copy(from, to);
        } else {
            memory.copyFrom(source, from, to);
        }
    }

    private void move(Allocator target, long newSize) {
        synchronized (backing) {
            Allocation from = allocation();
            long kept = Math.min(newSize, nbytes);
            checkBytes(0, kept);
            Allocation made = make(target, newSize);
            try {
                // Also waits for a fault, so that a partial copy does not replace the old bytes.
                BulkAccess.run(this, () -> copy(from.segment().asSlice(0, kept), made.segment().asSlice(0, kept)));
            } catch (RuntimeException | Error e) {
                made.free();
                throw e;
            }
            bytes = null;
            allocator = target;
            nbytes = newSize;
            backing.replace(this, made);
        }
    }

    private void copy(MemorySegment source, MemorySegment target) {
        DeviceMemory memory = deviceMemory();
        if (memory == null) {
            target.copyFrom(source);
        } else {
            memory.copy(source, target);
        }
    }

    /// Returns the memory of the device that copies and fills the bytes; null if the host does.
    private @Nullable DeviceMemory deviceMemory() {
        if (!isRemote()) {
            return null;
        }
        return root().allocator instanceof DeviceMemory memory ? memory : MemoryProviders.device(device);
    }

    /// Returns whether there are bytes that the host cannot access.
    private boolean isRemote() {
        return !device.isCpu() && !isMeta();
    }

    private Storage root() {
        Storage base = backing.base();
        return base == null ? this : base;
    }

    private void checkAlive() {
        if (referenceCount() == 0) {
            throw freed();
        }
    }

    private void checkBytes() {
        if (isMeta()) {
            throw new IllegalStateException(describe() + " has a size but no bytes to read or share");
        }
    }

    private long checkIndex(long index) {
        if (index < 0 || index >= nbytes) {
            throw new IndexOutOfBoundsException("byte " + index + " of " + describe());
        }
        return index;
    }

    private IllegalStateException freed() {
        Object from = owner;
        return new IllegalStateException("storage #" + id + " of " + nbytes + " bytes was freed" + (from == null
                ? ""
                : ": it is from " + from
                        + ", and is freed when that is closed; close it later, or before that call retain() on"
                        + " the storage or copy() on the tensor"));
    }

    private static long checkSize(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
        return nbytes;
    }

    private static void checkWhole(long nbytes, DType dtype) {
        if (nbytes % dtype.itemsize() != 0) {
            throw new IllegalArgumentException(
                    nbytes + " bytes are no whole number of " + dtype.name() + " elements of " + dtype.itemsize());
        }
    }

    /// The bytes of a slice, valid while the bytes of its base are `whole`.
    private record Window(MemorySegment whole, MemorySegment part) {}
}
