package io.undercroft.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Untyped bytes with an identity: what several tensors may stand on. The counterpart of `torch.UntypedStorage` and
/// C++'s `StorageImpl`.
///
/// Two storages are the same only if they are the same object; [#contentEquals] compares bytes. A storage's bytes may
/// come late: those of a mapped file are mapped at the first call that needs them.
///
/// **Lifetime.** A new storage has one reference, its creator's. [#retain] adds one, [#release] takes one away, and the
/// bytes are given back when none is left; from then on every access throws [IllegalStateException], never reads freed
/// memory. Tensors do not count as references. A storage that nobody releases is given back with its allocation: by the
/// garbage collector, or when the file it was mapped from is closed.
///
/// **Threads.** Identity, size and reference count are safe for any thread. Bytes have the guarantees of
/// [MemorySegment]: racing writes are not ordered, but never harm the JVM.
public final class Storage {
    /// Alignment, in bytes, of what this library allocates and stores: a cache line, enough for any vector unit.
    public static final long ALIGNMENT = 64;

    private static final AtomicLong IDS = new AtomicLong();

    private final long id = IDS.incrementAndGet();
    private final long nbytes;
    private final Device device;
    private final AtomicInteger references = new AtomicInteger(1);
    private final Object lock = new Object();
    /// Makes the bytes at first need; null once they are there.
    private @Nullable Supplier<Allocation> source;
    private volatile @Nullable Allocation allocation;

    private Storage(long nbytes, Device device, @Nullable Allocation allocation,
            @Nullable Supplier<Allocation> source) {
        this.nbytes = checkSize(nbytes);
        this.device = Objects.requireNonNull(device, "device");
        this.allocation = allocation;
        this.source = source;
    }

    /// Allocates a zeroed storage off the heap. (PyTorch leaves new storages uninitialised; ours never show old
    /// memory.)
    ///
    /// @param nbytes its size in bytes, 0 or more
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    public static Storage allocate(long nbytes) {
        return allocate(nbytes, Allocator.offHeap());
    }

    /// Allocates a zeroed storage.
    ///
    /// @param nbytes its size in bytes, 0 or more
    /// @param allocator where the bytes come from
    /// @return the storage
    /// @throws IllegalArgumentException if the size is negative
    public static Storage allocate(long nbytes, Allocator allocator) {
        return over(allocator.allocate(checkSize(nbytes)));
    }

    /// A storage that takes over an allocation and gives it back when its last reference goes.
    ///
    /// @param allocation the bytes
    /// @return the storage
    public static Storage over(Allocation allocation) {
        return new Storage(allocation.segment().byteSize(), Device.CPU, allocation, null);
    }

    /// A storage on bytes that somebody else owns; what is written through it shows there.
    ///
    /// @param segment the bytes, on or off the heap
    /// @return the storage, of the segment's size
    public static Storage wrap(MemorySegment segment) {
        return over(Allocation.collected(segment));
    }

    /// A storage with a copy of the given bytes.
    ///
    /// @param bytes what to copy
    /// @return the storage
    public static Storage copyOf(byte... bytes) {
        Storage storage = allocate(bytes.length);
        MemorySegment.copy(bytes, 0, storage.segment(), ValueLayout.JAVA_BYTE, 0, bytes.length);
        return storage;
    }

    /// A storage whose bytes are made at the first call that needs them.
    ///
    /// @param nbytes its size in bytes
    /// @param source makes an allocation of exactly that size; called by the thread that needs it first, and again only
    ///     if it failed. It must not touch this storage
    /// @return the storage
    public static Storage deferred(long nbytes, Supplier<Allocation> source) {
        return new Storage(nbytes, Device.CPU, null, Objects.requireNonNull(source, "source"));
    }

    /// A storage with a size and a device but no bytes, as on PyTorch's meta device.
    ///
    /// @param nbytes its size in bytes
    /// @return the storage
    public static Storage meta(long nbytes) {
        return new Storage(nbytes, Device.META, null, null);
    }

    /// {@return a number that no other storage of this process has}
    public long id() {
        return id;
    }

    /// {@return the size in bytes}
    public long nbytes() {
        return nbytes;
    }

    /// {@return where the bytes live}
    public Device device() {
        return device;
    }

    /// {@return whether the bytes are there already, so that [#segment] maps and allocates nothing}
    public boolean isMaterialized() {
        return allocation != null;
    }

    /// {@return whether other processes see what is written here (`is_shared` in PyTorch)}
    public boolean isShared() {
        return !device.isMeta() && allocation().sharing() == Allocation.Sharing.SHARED;
    }

    /// {@return whether writing throws}
    public boolean isReadOnly() {
        return !device.isMeta() && segment().isReadOnly();
    }

    /// {@return the file or shared memory name behind the bytes, or null when there is none (`filename` in PyTorch)}
    public @Nullable String filename() {
        return device.isMeta() ? null : allocation().filename();
    }

    /// The bytes themselves, made now if they were not needed before. The segment must not be used after the storage is
    /// freed.
    ///
    /// @return a segment of [#nbytes] bytes
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public MemorySegment segment() {
        return allocation().segment();
    }

    /// {@return the byte at an index}
    ///
    /// @param index from 0 to `nbytes() - 1`
    /// @throws IndexOutOfBoundsException if there is no such byte
    public byte get(long index) {
        return segment().get(ValueLayout.JAVA_BYTE, checkIndex(index));
    }

    /// Writes one byte.
    ///
    /// @param index from 0 to `nbytes() - 1`
    /// @param value what to write
    /// @throws IndexOutOfBoundsException if there is no such byte
    /// @throws UnsupportedOperationException if the storage is read-only
    public void set(long index, byte value) {
        writable().set(ValueLayout.JAVA_BYTE, checkIndex(index), value);
    }

    /// Writes one value over all bytes.
    ///
    /// @param value what to write
    /// @throws UnsupportedOperationException if the storage is read-only
    public void fill(byte value) {
        writable().fill(value);
    }

    /// Copies all bytes of another storage of the same size.
    ///
    /// @param source where to copy from
    /// @throws IllegalArgumentException if the sizes differ (as `copy_` in PyTorch)
    /// @throws UnsupportedOperationException if this storage is read-only
    public void copyFrom(Storage source) {
        if (source.nbytes != nbytes) {
            throw new IllegalArgumentException(
                    "cannot copy a storage of " + source.nbytes + " bytes over one of " + nbytes);
        }
        writable().copyFrom(source.segment());
    }

    /// {@return a new storage with a copy of the bytes (`clone` in PyTorch)}
    public Storage copy() {
        if (device.isMeta()) {
            return meta(nbytes);
        }
        Storage copy = allocate(nbytes);
        copy.copyFrom(this);
        return copy;
    }

    /// {@return whether both have the same bytes; identity does not matter}
    ///
    /// @param other another storage
    public boolean contentEquals(Storage other) {
        return nbytes == other.nbytes && segment().mismatch(other.segment()) < 0;
    }

    /// Adds a reference (`THStorage_retain`).
    ///
    /// @return this storage
    /// @throws IllegalStateException if it was freed
    public Storage retain() {
        if (references.getAndUpdate(count -> count == 0 ? 0 : count + 1) == 0) {
            throw freed();
        }
        return this;
    }

    /// Takes a reference away and gives the bytes back if it was the last (`THStorage_free`).
    ///
    /// @throws IllegalStateException if it was freed before
    public void release() {
        int before = references.getAndUpdate(count -> Math.max(count - 1, 0));
        if (before == 0) {
            throw freed();
        }
        if (before == 1) {
            free();
        }
    }

    /// {@return how many references there are; 0 once the storage is freed}
    public int referenceCount() {
        return references.get();
    }

    /// {@return the identity, size and device, for messages}
    @Override
    public String toString() {
        return "storage #" + id + " of " + nbytes + " bytes on " + device + (references.get() == 0 ? " (freed)" : "");
    }

    private Allocation allocation() {
        Allocation there = allocation;
        return there != null ? there : materialize();
    }

    private Allocation materialize() {
        synchronized (lock) {
            if (references.get() == 0) {
                throw freed();
            }
            Allocation there = allocation;
            if (there != null) {
                return there;
            }
            if (source == null) {
                throw new IllegalStateException(this + " has a size but no bytes to read or write");
            }
            Allocation made = source.get();
            if (made.segment().byteSize() != nbytes) {
                made.free();
                throw new IllegalStateException(
                        "an allocation of " + made.segment().byteSize() + " bytes came for " + this);
            }
            allocation = made;
            source = null;
            return made;
        }
    }

    private void free() {
        synchronized (lock) {
            Allocation there = allocation;
            allocation = null;
            source = null;
            if (there != null) {
                there.free();
            }
        }
    }

    /// The bytes, for writing.
    MemorySegment writable() {
        MemorySegment bytes = segment();
        if (bytes.isReadOnly()) {
            throw new UnsupportedOperationException(this + " is read-only; open it copy-on-write or copy it to write");
        }
        return bytes;
    }

    private long checkIndex(long index) {
        if (index < 0 || index >= nbytes) {
            throw new IndexOutOfBoundsException("byte " + index + " of " + this);
        }
        return index;
    }

    private IllegalStateException freed() {
        return new IllegalStateException("storage #" + id + " of " + nbytes + " bytes was freed");
    }

    private static long checkSize(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
        return nbytes;
    }
}
