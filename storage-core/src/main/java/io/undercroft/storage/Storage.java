package io.undercroft.storage;

import io.undercroft.storage.internal.Endian;
import io.undercroft.storage.spi.Backing;
import io.undercroft.storage.spi.DeviceMemory.HostWriter;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.Faults;
import io.undercroft.storage.spi.Freezable;
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
/// Two storages are the same only if they are the same object; [#contentEquals] compares bytes. A storage's bytes may
/// be deferred: those of a file are mapped at the first call that needs them.
///
/// **Slices.** [#slice] makes a storage on a part of the bytes of another one. It has a separate identity, cannot be
/// resized, and keeps its base alive. (As in PyTorch and Torch7.)
///
/// **Size.** A storage that came from an [Allocator] can be resized. Tensors and slices on it see the new bytes, and
/// throw [IllegalStateException] for elements beyond the new size. (PyTorch and Torch7 read freed memory.)
///
/// **Lifetime.** A new storage has one reference, its creator's. [#retain] adds one, [#release] removes one, and the
/// bytes are freed with the last; from then on every access throws [IllegalStateException] and never reads freed
/// memory. Memory of [Allocator#offHeap] and of the heap is an exception: the garbage collector frees it once no
/// segment of it is reachable either. Tensors do not count as references, slices do. A storage that is never released
/// is freed when it is unreachable, or when the file it was mapped from is closed.
///
/// **Threads.** Identity, size and reference count are safe for any thread. Bytes have the guarantees of
/// [MemorySegment]: racing writes are not ordered, but never harm the JVM. A thread that races with [#release] or
/// [#resize] reads the bytes from before or throws [IllegalStateException]; its writes may be lost. If the JVM ends
/// such an access while it is under way, it also sets the interrupted status of the thread. Methods that work on many
/// bytes leave that as it was, and name what was closed; reading a single element does neither.
///
/// **Mapped files.** If a mapped file is truncated, its mappings lose their bytes. Methods that work on many bytes then
/// throw an exception that names the file, also if the new end is within a page, whose rest reads as zeros. Reading a
/// single element, here and in [Tensor], [TypedStorage] and their streams and iterators, throws the JVM's
/// [InternalError], perhaps later: run loops over elements of a file that may be truncated in `Pages.guard` of
/// `io.undercroft.mmap`.
///
/// **Devices.** The bytes of a storage on another device cannot be accessed by the host: storages and [slices][#slice]
/// are copied and filled there as a whole, and [read part by part][#forEachPart]. A meta storage has a size and no
/// bytes: writing does nothing, reading throws (as in PyTorch).
public final class Storage implements Iterable<Integer> {
    /// Alignment, in bytes, of what this library allocates and stores: a cache line, enough for any vector unit.
    public static final long ALIGNMENT = 64;

    private static final AtomicLong IDS = new AtomicLong();
    /// How many loans a storage makes bytes for. Work that needs them more often is faster and not larger by much if
    /// they stay.
    private static final int LOANS = 4;
    /// The most elements that are printed, and how many of each end if there are more.
    private static final long PRINTED_WHOLE = 1000;
    private static final long PRINTED_ENDS = 3;

    private final long id = IDS.incrementAndGet();
    private final Device device;
    private final StorageBacking holding;
    /// Where a slice begins in its base, in bytes.
    private final long start;
    private volatile long nbytes;
    private volatile @Nullable Allocator allocator;
    /// The bytes of a CPU storage that is no slice, once they are there. Read without synchronization, for speed: a
    /// segment has only final fields, and access to one that was freed meanwhile throws.
    private @Nullable MemorySegment bytes;
    /// The bytes of a slice, and the bytes of the base that they were cut from.
    private @Nullable Window window;
    /// What releases the storage when it is closed, if that is known; set before anybody else sees the storage.
    private @Nullable Object owner;

    private Storage(long nbytes, Device device, @Nullable Allocator allocator, StorageBacking holding, long start) {
        this.nbytes = checkSize(nbytes);
        this.device = Objects.requireNonNull(device, "device");
        this.allocator = allocator;
        this.holding = holding;
        this.start = start;
    }

    // ---- making ----

    /// Allocates a zeroed storage off the heap. (PyTorch leaves new storages uninitialised; ours never show old
    /// memory.)
    ///
    /// @param nbytes its size in bytes, 0 or more
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    /// @throws OutOfMemoryError if the bytes cannot be allocated
    public static Storage allocate(long nbytes) {
        return allocate(nbytes, Allocator.offHeap());
    }

    /// Allocates a zeroed storage.
    ///
    /// @param nbytes its size in bytes, 0 or more
    /// @param allocator the allocator of the bytes
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    /// @throws OutOfMemoryError if the bytes are not available; for memory of a device see [Allocator#allocate]
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
    /// @param allocation the bytes, which the memory of that device can copy
    /// @param device where they are, with its index
    /// @return the storage
    public static Storage over(Allocation allocation, Device device) {
        return over(allocation, device, null);
    }

    /// Creates a storage on bytes of a segment, which it does not own. Writes are visible in both. It cannot be
    /// resized. After the segment's arena is closed, or from another thread than that of a confined one, access throws
    /// as that of [MemorySegment].
    ///
    /// @param segment the bytes, on or off the heap
    /// @return the storage, of the segment's size
    public static Storage wrap(MemorySegment segment) {
        return over(Allocation.collected(segment));
    }

    /// Creates a storage on memory at an address, as Torch7's constructor with a size and a pointer: the memory is
    /// neither copied nor ever freed, and the storage cannot be resized. The caller has to keep the memory for as long
    /// as the storage is used; otherwise the JVM may crash. [#wrap] of a [MemorySegment] is the safe alternative.
    ///
    /// This is a restricted operation: it needs `--enable-native-access`.
    ///
    /// @param address where the bytes begin
    /// @param nbytes how many there are
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative, or no memory can be there: at address 0, or beyond the
    ///     last address
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
    /// @param bytes what to copy
    /// @return the storage
    public static Storage copyOf(byte... bytes) {
        return copyOf(MemorySegment.ofArray(bytes));
    }

    /// Creates a storage with a copy of the given bytes.
    ///
    /// @param bytes what to copy
    /// @return the storage
    public static Storage copyOf(MemorySegment bytes) {
        Storage storage = allocate(bytes.byteSize());
        storage.segment().copyFrom(bytes);
        return storage;
    }

    /// Creates a storage with a copy of the elements of a buffer (`from_buffer` in PyTorch).
    ///
    /// @param buffer the elements, one after the other
    /// @param dtype their type
    /// @param order their byte order; in the storage they are in little-endian order
    /// @return the storage
    /// @throws IllegalArgumentException if the buffer is no whole number of elements
    public static Storage copyOf(MemorySegment buffer, DType dtype, ByteOrder order) {
        checkWhole(buffer.byteSize(), dtype);
        Storage storage = copyOf(buffer);
        if (order == ByteOrder.BIG_ENDIAN) {
            storage.byteswap(dtype);
        }
        return storage;
    }

    /// Creates a storage whose bytes are made at the first call that needs them. It cannot be resized.
    ///
    /// @param nbytes its size in bytes
    /// @param source makes an allocation of exactly that size; called by the thread that needs it first, and again only
    ///     if it failed. It must not touch this storage
    /// @return the storage
    public static Storage deferred(long nbytes, Supplier<Allocation> source) {
        Objects.requireNonNull(source, "source");
        return new Storage(nbytes, Device.CPU, null, StorageBacking.deferred(source), 0);
    }

    /// Creates a storage whose bytes are made at the first call that needs them, and which is released when what it was
    /// made from is closed. Using it after that throws an exception that names it.
    ///
    /// @param nbytes its size in bytes
    /// @param source as of [#deferred(long, Supplier)]
    /// @param owner what releases it when it is closed, for instance the path of a file, for messages
    /// @return the storage
    public static Storage deferred(long nbytes, Supplier<Allocation> source, Object owner) {
        Storage storage = deferred(nbytes, source);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage on a device whose bytes are made at the first call that needs them, and which is released when
    /// what it was made from is closed. Once the bytes are there it is like any other storage of that device.
    ///
    /// @param nbytes its size in bytes
    /// @param memory the memory of the device, for copies
    /// @param source as of [#deferred(long, Supplier)]; makes an allocation on the device
    /// @param owner as of [#deferred(long, Supplier, Object)]
    /// @return the storage
    public static Storage deferred(long nbytes, DeviceMemory memory, Supplier<Allocation> source, Object owner) {
        Objects.requireNonNull(source, "source");
        Storage storage = new Storage(nbytes, memory.device(), memory, StorageBacking.deferred(source), 0);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage whose bytes are decoded at the first call that needs them, as those of [#deferred], and which
    /// [#borrow] can decode without keeping them.
    ///
    /// @param nbytes its size in bytes
    /// @param source decodes into an allocation of exactly that size; called by any thread, several times, also at
    ///     once. It must not touch this storage
    /// @param owner what releases it when it is closed, for instance the path of a file, for messages
    /// @return the storage
    public static Storage decoded(long nbytes, Supplier<Allocation> source, Object owner) {
        Objects.requireNonNull(source, "source");
        Storage storage = new Storage(nbytes, Device.CPU, null, StorageBacking.decoded(source, LOANS), 0);
        storage.owner = Objects.requireNonNull(owner, "owner");
        return storage;
    }

    /// Creates a storage with a size and a device but no bytes, as on PyTorch's meta device.
    ///
    /// @param nbytes its size in bytes
    /// @return the storage
    public static Storage meta(long nbytes) {
        return new Storage(nbytes, Device.META, null, StorageBacking.nothing(), 0);
    }

    /// Creates a storage as [#meta(long)], which is released when what it describes is closed.
    ///
    /// @param nbytes its size in bytes
    /// @param owner as of [#deferred(long, Supplier, Object)]
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
        StorageBacking holding = StorageBacking.of(allocation);
        Storage storage = new Storage(allocation.segment().byteSize(), device, allocator, holding, 0);
        synchronized (holding) {
            holding.cleanAfter(storage);
            storage.bytes = device.isCpu() ? allocation.segment() : null;
        }
        return storage;
    }

    // ---- what it is ----

    /// {@return a number that no other storage of this process has}
    public long id() {
        return id;
    }

    /// Returns the address of the first byte (`data_ptr` in PyTorch), for native code; [#id] identifies storages more
    /// reliably, since a slice may begin where its base does and an address is used again after its storage is freed.
    ///
    /// @return the address, on the storage's device; 0 for a meta or empty storage
    /// @throws UnsupportedOperationException if the bytes lie on the heap, where the garbage collector moves them
    /// @throws IllegalStateException if the storage was freed
    public long dataPtr() {
        if (isMeta() || nbytes == 0) {
            return 0;
        }
        MemorySegment there = deviceSegment();
        if (!there.isNative()) {
            throw new UnsupportedOperationException(describe() + " lies on the heap and has no address");
        }
        return there.address();
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

    /// {@return whether there is a size and no bytes}
    public boolean isMeta() {
        return device.isMeta();
    }

    /// {@return whether the bytes are in pinned host memory}
    public boolean isPinned() {
        Storage root = root();
        Allocator from = root.allocator;
        Allocation there = root.holding.allocation();
        return (from != null && from.isPinned()) || (there != null && there.isPinned());
    }

    /// {@return whether other processes see what is written here (`is_shared` in PyTorch)} Bytes that are not there yet
    /// are made now.
    ///
    /// @throws IllegalStateException if the storage was freed
    public boolean isShared() {
        return !isMeta() && root().allocation().sharing() == Allocation.Sharing.SHARED;
    }

    /// {@return whether writing throws} Bytes that are not there yet are made now.
    ///
    /// @throws IllegalStateException if the storage was freed
    public boolean isReadOnly() {
        return !isMeta() && deviceSegment().isReadOnly();
    }

    /// {@return the file or the name of shared memory that has the bytes (`filename` in PyTorch); empty for other
    /// memory and for slices} Bytes that are not there yet are made now.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Optional<String> filename() {
        return isMeta() || holding.base() != null ? Optional.empty() : allocation().filename();
    }

    /// {@return what the bytes are made of, as messages name it: the file that was opened, or as [#filename]; empty for
    /// other memory; of a slice, that of its base} Makes no bytes.
    public Optional<String> location() {
        Storage root = root();
        Object from = isMeta() ? null : root.owner;
        Allocation there = root.holding.allocation();
        return from != null
                ? Optional.of(from.toString())
                : there == null ? Optional.empty() : there.filename();
    }

    /// {@return what releases the storage when it is closed, as it was given when the storage was made; nothing for a
    /// slice and for a storage that was made without an owner}
    public Optional<Object> owner() {
        return Optional.ofNullable(owner);
    }

    /// {@return the properties that the allocation has for the memory; of a slice, those of its base} Bytes
    /// that are not there yet are made now.
    ///
    /// @throws IllegalStateException if the storage was freed
    public Optional<Allocation.Origin> origin() {
        return isMeta() ? Optional.empty() : root().allocation().origin();
    }

    /// {@return the file behind the bytes, if they are there already and there is one that can be queried; of a slice,
    /// that of its base} Makes no bytes.
    public Optional<Backing> backing() {
        Allocation there = root().holding.allocation();
        return there == null ? Optional.empty() : there.backing();
    }

    /// Compares bytes with the checksums of the file that they are mapped from, as [Backing#check], if the bytes are
    /// there and the file has checksums. Done before bytes are copied, as nothing finds damage in a copy.
    ///
    /// @param from the first byte
    /// @param to the end, exclusive
    /// @throws IllegalStateException if the storage is freed meanwhile; the interrupted status of the thread stays
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

    /// {@return the allocator of the bytes, if they came from one: not from a file or a wrapped segment}
    public Optional<Allocator> allocator() {
        return Optional.ofNullable(allocator);
    }

    /// {@return the storage that this one is a slice of; of a slice of a slice, the one at the bottom}
    public Optional<Storage> base() {
        return Optional.ofNullable(holding.base());
    }

    /// {@return where a slice begins in its base, in bytes; 0 if this is no slice}
    public long sliceOffset() {
        return start;
    }

    /// {@return whether the bytes are there already, so that [#segment] maps and allocates nothing}
    public boolean isMaterialized() {
        return root().holding.allocation() != null;
    }

    /// Makes the bytes now, wherever they are, if they are not there yet.
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

    /// {@return what makes the bytes, if they are not there yet: for code that makes those of many storages at once} Of
    /// a slice, it is that of its base.
    public Optional<Supplier<Allocation>> source() {
        return Optional.ofNullable(root().holding.source());
    }

    // ---- bytes ----

    /// Returns the bytes themselves, made now if they were not needed before. The segment must not be used after the
    /// storage is freed or resized, nor after it was collected.
    ///
    /// @return a segment of [#nbytes] bytes
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta), lies on a device that the host
    ///     cannot reach, or is a slice of a storage that became too small for it
    public MemorySegment segment() {
        MemorySegment there = bytes;
        return there != null ? there : hostSegment();
    }

    /// {@return whether [#borrow] would decode the bytes for the loan alone, since they were not needed before} Decodes
    /// nothing.
    public boolean isDecodedOnDemand() {
        Storage root = root();
        return root.referenceCount() > 0 && root.holding.isLent();
    }

    /// Borrows the bytes for one piece of work that reads them from end to end. Bytes of a compressed, swapped or
    /// unaligned storage that are not there yet are decoded for the loan alone and freed when it is closed, and those
    /// of a `.croft` file that are in several runs, or that several storages have, are mapped or copied for it alone.
    /// So work on all storages of a file needs memory for one at a time. Every other storage lends the bytes that it
    /// has, or makes and keeps them. A storage that is borrowed many times keeps them too. The bytes of a device are
    /// copied to the host for the loan alone; [#forEachPart] needs less memory.
    ///
    /// @return the loan, which has to be closed
    /// @throws IllegalStateException if the storage was freed
    public Loan borrow() {
        checkAlive();
        if (isRemote()) {
            Storage copy = cpu();
            return new Loan(this, copy, copy::free);
        }
        Storage root = root();
        Supplier<Allocation> source = root.holding.lend();
        if (source == null) {
            return new Loan(this, this, () -> {});
        }
        Storage made = over(source.get().checkSize(root.nbytes));
        if (root == this) {
            return new Loan(this, made, made::free);
        }
        Storage slice = made.slice(start, nbytes);
        return new Loan(this, slice, () -> {
            slice.free();
            made.free();
        });
    }

    /// Passes bytes to some work, part after part in ascending order, in the calling thread. Those that the host can
    /// reach are passed in place and as one part; those of a device come through host buffers of bounded size.
    ///
    /// @param offset the first byte
    /// @param length how many bytes
    /// @param work called with each part, which is valid during the call, and its offset from the first byte
    /// @throws IndexOutOfBoundsException if that is not inside this storage
    /// @throws IllegalStateException if this storage was freed, or has no bytes (meta)
    public void forEachPart(long offset, long length, HostWriter work) {
        Objects.checkFromIndexSize(offset, length, nbytes);
        checkBytes();
        DeviceMemory memory = deviceMemory();
        if (memory == null) {
            Bulk.run(this, () -> work.write(0, segment().asSlice(offset, length)));
        } else {
            Bulk.run(this, () -> memory.download(deviceSegment().asSlice(offset, length), work));
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

    /// {@return the byte at an index as PyTorch shows it, from 0 to 255}
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
    /// @param value what to write
    /// @throws IndexOutOfBoundsException if there is no such byte
    /// @throws UnsupportedOperationException if the storage is read-only
    /// @throws IllegalStateException if it was freed or lies on a device that the host cannot reach
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
        return Bulk.ask(this, () -> stream().boxed().toList());
    }

    /// Sets all bytes to one value (`fill_` in PyTorch).
    ///
    /// @param value what to write
    /// @return this storage
    /// @throws UnsupportedOperationException if the storage is read-only
    public Storage fill(byte value) {
        checkAlive();
        if (!isMeta()) {
            Bulk.run(this, () -> fillBytes(value));
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
    /// @param source where to copy from
    /// @return this storage
    /// @throws IllegalArgumentException if the sizes differ
    /// @throws UnsupportedOperationException if this storage is read-only
    /// @throws IllegalStateException if one of both was freed, or the source has no bytes (meta)
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

    /// Reverses the byte order of all elements, in place (`byteswap` in PyTorch); of a complex number, that of its
    /// two parts.
    ///
    /// @param dtype the type of the elements
    /// @return this storage
    /// @throws IllegalArgumentException if the storage is no whole number of elements
    /// @throws UnsupportedOperationException if the storage is read-only
    public Storage byteswap(DType dtype) {
        checkWhole(nbytes, dtype);
        int parts = dtype.kind() == DType.Kind.COMPLEX ? 2 : 1;
        if (!isMeta()) {
            Bulk.run(this, () -> Endian.swapBytes(writable(), dtype.itemsize() / parts));
        }
        return this;
    }

    /// {@return whether both have the same bytes; identity does not matter}
    ///
    /// @param other another storage
    public boolean contentEquals(Storage other) {
        return Bulk.ask(this, other, () -> nbytes == other.nbytes && haveSameBytes(segment(), other.segment()));
    }

    // ---- size ----

    /// {@return whether [#resize] works: the storage came from an allocator, is no slice, and no other process shares
    /// it} A meta storage has no bytes to move, and can be resized unless it is a slice.
    public boolean isResizable() {
        if (isMeta()) {
            return holding.base() == null;
        }
        Allocation there = holding.allocation();
        return allocator != null && there != null && there.sharing() == Allocation.Sharing.PRIVATE;
    }

    /// Changes the size (`resize_` in PyTorch, `resize` in Torch7). The bytes move to another place: as many as fit
    /// stay, new ones are zero. If it fails, nothing has changed.
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

    /// {@return a new storage on the same device with a copy of the bytes (`clone` in PyTorch)} It comes from the same
    /// allocator, or off the heap.
    @CheckReturnValue
    public Storage copy() {
        checkAlive();
        return isMeta() ? meta(nbytes) : copyTo(likeAllocator());
    }

    /// {@return a new zeroed storage on the same device and from the same allocator, or off the heap (`new` in PyTorch
    /// and Torch7)}
    ///
    /// @param size its size in bytes
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

    /// {@return the bytes, each read as an unsigned integer, converted to elements of a type (`float()`, `long()`, … of
    /// PyTorch's untyped storages)}
    ///
    /// @param dtype the type
    @CheckReturnValue
    public TypedStorage to(DType dtype) {
        return new TypedStorage(this, DType.UINT8).to(dtype);
    }

    /// Returns a storage on a part of the bytes: what is written to one shows in the other. It has a separate identity,
    /// and holds a reference to this storage until it is released or collected.
    ///
    /// @param offset the first byte
    /// @param size how many bytes
    /// @return the slice
    /// @throws IndexOutOfBoundsException if that is not inside this storage (PyTorch cuts it off at the end)
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

    /// {@return this storage if the host can reach its bytes, else a copy that the host can reach}
    ///
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    @CheckReturnValue
    public Storage cpu() {
        return to(Device.CPU);
    }

    /// {@return this storage if it is on the first CUDA device, else a copy there}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no such device
    @CheckReturnValue
    public Storage cuda() {
        return to(Device.cuda(0));
    }

    /// {@return this storage if it is on the device, else a copy there} Of several tensors that share a storage, use
    /// [StorageCopier] to keep them sharing.
    ///
    /// @param target the device; without an index, the first one of its type
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

    /// {@return this storage if it is pinned, else a copy in pinned host memory}
    ///
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no pinned memory
    @CheckReturnValue
    public Storage pinMemory() {
        checkAlive();
        checkBytes();
        return isPinned() ? this : copyTo(MemoryProviders.pinned());
    }

    /// Pins the bytes where they are, so that devices copy from and to them directly (`cudaHostRegister`). Nothing is
    /// copied, and the storage keeps its identity. It is pinned until it is released, resized or moved; a slice is
    /// pinned with its base. Does nothing if it is pinned already.
    ///
    /// Bytes that are not pinned are copied through pinned buffers. Pinning takes time for each page, so it is for
    /// bytes that are copied more than once. All pages come into physical memory, and stay there: a mapped file is read
    /// from its first byte to its last, and each page of a copy-on-write mapping is copied; the pages of a read-only
    /// one are those of the page cache. So no storage is pinned implicitly. Some drivers refuse bytes in a page of
    /// which other bytes are pinned already; anonymous mappings share no pages.
    ///
    /// Bytes that the storage does not own, as those of [#wrap], have to stay valid until this storage is released.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed, is not in memory of the host off the heap, there is no CUDA
    ///     device, or the system refuses; the storage is as before then, and is copied through pinned buffers
    public Storage pinInPlace() {
        checkAlive();
        checkBytes();
        Storage root = root();
        synchronized (root.holding) {
            if (!isPinned() && root.nbytes > 0) {
                root.holding.wrap(root, root.pinned());
            }
        }
        return this;
    }

    private Allocation pinned() {
        Allocation there = allocation();
        if (!device.isCpu() || !there.segment().isNative()) {
            throw new IllegalStateException(describe() + " is not in memory of the host off the heap, and cannot be "
                    + "pinned in place; copy it with pinMemory()");
        }
        if (there.origin().filter(Freezable.class::isInstance).isPresent()) {
            throw new IllegalStateException(describe() + " is in memory that can be frozen, whose pages are replaced, "
                    + "and cannot be pinned in place; copy it with pinMemory()");
        }
        Bulk.probe(this);
        return there.pinnedInPlace();
    }

    /// Moves the bytes to memory of the same device that other processes can open by a handle, on the CPU also by
    /// [#filename] (`share_memory_` in PyTorch, which does nothing for CUDA storages). The storage keeps its identity,
    /// tensors and slices, but cannot be resized any more. A slice moves with its base. (In PyTorch it
    /// leaves it.) Does nothing if it is shared already.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed, has no bytes (meta), or there is no shared memory on its device
    /// @throws OutOfMemoryError if there is not that much shared memory; nothing has changed then
    public Storage shareMemory() {
        checkAlive();
        checkBytes();
        Storage root = root();
        // Of several threads one moves the bytes: the others have given no handle to memory that is left again.
        synchronized (root.holding) {
            if (!isShared()) {
                root.moveTo(MemoryProviders.shared(device));
            }
        }
        return this;
    }

    /// Moves the bytes to other memory of the same device. The storage keeps its identity, tensors and slices. Segments
    /// that were taken before must not be used any more.
    ///
    /// @param target where to move them
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
        if (holding.base() != null) {
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

    /// Adds a reference (`retain` in Torch7). Atomic.
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed
    public Storage retain() {
        if (!tryRetain()) {
            throw freed();
        }
        return this;
    }

    /// Removes a reference and frees the bytes if it was the last (`free` in Torch7). Atomic. Those of
    /// [Allocator#offHeap] and of the heap are left to the garbage collector.
    ///
    /// @throws IllegalStateException if it was freed before
    public void release() {
        int before = holding.release();
        if (before == 0) {
            throw freed();
        }
        if (before == 1) {
            synchronized (holding) {
                bytes = null;
                window = null;
                holding.giveBack();
            }
        }
    }

    /// {@return how many references there are; 0 once the storage is freed}
    public int referenceCount() {
        return holding.references();
    }

    // ---- printing ----

    /// {@return the identity, size and device, for messages}
    public String describe() {
        return "storage #" + id + " of " + nbytes + " bytes on " + device + (referenceCount() == 0 ? " (freed)" : "");
    }

    /// {@return the bytes as PyTorch prints an untyped storage, one on a line; of more than 1000 only the ends} Bytes
    /// that are not there yet are fetched; those that the host cannot read are not shown.
    @Override
    public String toString() {
        String elements = Bulk.ask(this, () -> lines(nbytes, index -> Integer.toString(getUnsigned(index))));
        return elements + "\n[torch.storage.UntypedStorage(device=" + device + ") of size " + nbytes + "]";
    }

    /// Returns elements as PyTorch prints them, each on a line; of many only the ends, where PyTorch shows them all;
    /// dots if the host cannot read them.
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

    /// Returns the reason why there are no bytes, in a word or two; null if there are.
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
        return holding.retain();
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

    /// Returns whether a file is behind the bytes, which may become shorter. Those that are not there yet are not made.
    boolean isFileBacked() {
        Allocation there = root().holding.allocation();
        return there != null && there.filename().isPresent();
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
        if (holding.base() != null) {
            return window();
        }
        synchronized (holding) {
            MemorySegment there = allocation().segment();
            bytes = there;
            return there;
        }
    }

    /// Returns the bytes on whatever device. The host may follow them only on the CPU.
    private MemorySegment deviceSegment() {
        return device.isCpu() ? segment() : holding.base() != null ? window() : allocation().segment();
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
        synchronized (holding) {
            checkAlive();
            return Objects.requireNonNull(holding.materialize(this));
        }
    }

    private void copyBytes(Storage source) {
        DeviceMemory here = deviceMemory();
        DeviceMemory there = source.deviceMemory();
        source.checkBytes();
        source.deviceSegment();
        source.checkBytes(0, source.nbytes);
        Bulk.run(this, source, () -> copyBytes(source, here, there));
    }

    private void copyBytes(Storage source, @Nullable DeviceMemory here, @Nullable DeviceMemory there) {
        MemorySegment from = source.deviceSegment();
        MemorySegment to = checkWritable(deviceSegment());
        if (from.byteSize() != to.byteSize()) {
            throw new IllegalStateException(source.describe() + " or " + describe() + " was resized while the "
                    + "one was copied to the other");
        }
        if (here != null || there != null) {
            Bulk.probe(this);
            Bulk.probe(source);
        }
        if (here != null) {
            copyToDevice(here, there, from, to);
        } else if (there != null) {
            there.toHost(from, to);
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
        synchronized (holding) {
            Allocation from = allocation();
            long kept = Math.min(newSize, nbytes);
            checkBytes(0, kept);
            Allocation made = make(target, newSize);
            try {
                // Also waits for a fault, so that a partial copy does not replace the old bytes.
                Bulk.run(this, () -> copy(from.segment().asSlice(0, kept), made.segment().asSlice(0, kept)));
            } catch (RuntimeException | Error e) {
                made.free();
                throw e;
            }
            bytes = null;
            allocator = target;
            nbytes = newSize;
            holding.replace(this, made);
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

    /// What copies and fills the bytes if the host cannot.
    private @Nullable DeviceMemory deviceMemory() {
        if (!isRemote()) {
            return null;
        }
        return root().allocator instanceof DeviceMemory memory ? memory : MemoryProviders.device(device);
    }

    /// Returns whether there are bytes, and out of the host's reach.
    private boolean isRemote() {
        return !device.isCpu() && !isMeta();
    }

    private Storage root() {
        Storage base = holding.base();
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

    /// The bytes of a slice, for as long as the base has the bytes they were cut from.
    private record Window(MemorySegment whole, MemorySegment part) {}
}
