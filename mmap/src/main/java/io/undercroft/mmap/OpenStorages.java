package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedStorageHandle.Home;
import io.undercroft.mmap.spi.SharedDeviceMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import io.undercroft.storage.WeakStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/// The storages of this process that handles were made of or opened to, so that the next handle to one of them finds
/// it again. There is one table for the process because there is one memory: two mappings of the same bytes would make
/// two storages of what is one. It keeps no storage alive.
final class OpenStorages {
    private static final int FIRST_SWEEP = 64;

    /// Without a lock: opening may wait for disks and for other processes, which must not delay threads that open
    /// another storage.
    private static final ConcurrentMap<Key, WeakStorage> KNOWN = new ConcurrentHashMap<>();
    /// The number of entries at which entries of collected storages are removed next.
    private static volatile int sweepAt = FIRST_SWEEP;

    /// The identity of shared memory. It may have several names, and a descriptor has another number in each process
    /// that has it open.
    private record Key(Home home, String name, long identity, MapMode mode, ByteRange base, ByteRange slice) {
        static Key of(SharedStorageHandle handle) {
            return new Key(handle.home(), handle.identity() == 0 ? handle.name() : "", handle.identity(),
                    handle.mode(), handle.base(), handle.slice());
        }
    }

    /// The providers that share memory of devices. Looked up when a storage on a device is shared or opened, and not
    /// for memory of the host.
    private static final class Providers {
        static final List<SharedDeviceMemory> ALL = ServiceLoader
                .load(SharedDeviceMemory.class, SharedDeviceMemory.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get).toList();

        private Providers() {}
    }

    private OpenStorages() {}

    /// Takes note of a storage that a handle was made of, unless there is another one on the same memory.
    static void remember(SharedStorageHandle handle, Storage storage) {
        known(handle, storage.retain()).release();
    }

    /// {@return the storage of a handle, with one reference for the caller}
    ///
    /// @throws IOException if it cannot be opened
    static Storage open(SharedStorageHandle handle) throws IOException {
        Optional<Storage> known = usable(KNOWN.get(Key.of(handle)), handle);
        return known.isPresent() ? known.get() : known(handle, opened(handle));
    }

    private static Storage opened(SharedStorageHandle handle) throws IOException {
        if (handle.isSlice()) {
            return slice(handle);
        }
        return handle.home() == Home.DEVICE ? onDevice(handle) : Storage.over(mapped(handle));
    }

    /// Adds a storage to the table unless another thread has added one.
    ///
    /// @param mine the storage, with a reference that is released if another storage is in the table
    /// @return the one that is in the table now, with a reference
    private static Storage known(SharedStorageHandle handle, Storage mine) {
        Key key = Key.of(handle);
        while (true) {
            WeakStorage existing = KNOWN.get(key);
            Optional<Storage> known = usable(existing, handle);
            if (known.isPresent()) {
                mine.release();
                return known.get();
            }
            boolean added = existing == null
                    ? KNOWN.putIfAbsent(key, mine.weak()) == null
                    : KNOWN.replace(key, existing, mine.weak());
            if (added) {
                sweep();
                return mine;
            }
        }
    }

    private static void sweep() {
        if (KNOWN.size() >= sweepAt) {
            KNOWN.values().removeIf(WeakStorage::isExpired);
            sweepAt = Math.max(FIRST_SWEEP, 2 * KNOWN.size());
        }
    }

    /// Returns a storage that lives, and was not moved to other memory.
    private static Optional<Storage> usable(@Nullable WeakStorage existing, SharedStorageHandle handle) {
        Optional<Storage> found = Optional.ofNullable(existing).flatMap(WeakStorage::retain);
        if (found.isPresent() && !isBackedBy(found.get(), handle)) {
            found.get().release();
            return Optional.empty();
        }
        return found;
    }

    private static boolean isBackedBy(Storage storage, SharedStorageHandle handle) {
        return storage.origin().orElse(null) instanceof SharedStorageHandle origin
                && Key.of(origin.whole()).equals(Key.of(handle.whole())) && haveOnePlace(origin, handle);
    }

    /// Returns whether two paths of a number mean one file: those of two file systems may have the same number.
    private static boolean haveOnePlace(SharedStorageHandle one, SharedStorageHandle other) {
        try {
            return one.home() != Home.FILE || one.name().equals(other.name())
                    || Files.isSameFile(one.path(), other.path());
        } catch (IOException _) {
            return false;
        }
    }

    private static Storage slice(SharedStorageHandle handle) throws IOException {
        Storage base = open(handle.whole());
        try {
            return base.slice(handle.slice().offset(), handle.slice().nbytes());
        } finally {
            base.release();
        }
    }

    private static Allocation mapped(SharedStorageHandle handle) throws IOException {
        return handle.home() == Home.FILE ? mappedFile(handle) : mappedMemory(handle);
    }

    private static Allocation mappedFile(SharedStorageHandle handle) throws IOException {
        try (MappedFile file = MappedFile.open(handle.path(), handle.mode())) {
            if (isOther(handle, file.identity())) {
                throw new FileSystemException(file.path().toString(), null,
                        "it is another file than the one that the handle was made of; ask for a new handle");
            }
            Allocation all = file.onlyAllocation(handle.base().offset(), handle.base().nbytes());
            return shared(all, all.segment(), handle);
        }
    }

    private static Allocation mappedMemory(SharedStorageHandle handle) throws IOException {
        try (SharedMemory memory = attached(handle)) {
            if (isOther(handle, memory.identity().orElse(0))) {
                throw new SharedMemoryException(Reason.NOT_FOUND, memory
                        + " is other memory than what the handle was made of, which is gone; ask for a new handle",
                        null);
            }
            if (memory.nbytes() < handle.base().nbytes()) {
                throw new SharedMemoryException(Reason.NOT_FOUND, memory + " is too small for a handle to "
                        + handle.base().nbytes() + " bytes; ask for a new handle", null);
            }
            Allocation all = memory.allocation();
            return shared(all, all.segment().asSlice(0, handle.base().nbytes()), handle);
        }
    }

    /// Writes of other processes are visible in a read-only mapping too.
    private static Allocation shared(Allocation all, MemorySegment bytes, SharedStorageHandle handle) {
        Allocation shared = new Allocation(bytes, Allocation.Sharing.SHARED, all.filename().orElse(null),
                handle.whole(), all::free);
        return all.backing().map(shared::withBacking).orElse(shared);
    }

    private static SharedMemory attached(SharedStorageHandle handle) throws SharedMemoryException {
        if (handle.home() == Home.DESCRIPTOR) {
            long[] descriptor = handle.descriptor();
            return SharedMemory.attachDescriptor(descriptor[0], Math.toIntExact(descriptor[1]), handle.mode());
        }
        // The number identifies the memory, whichever user owns it.
        return SharedMemory.attach(handle.name(), handle.mode(),
                handle.identity() == 0 ? TrustedOwner.SELF_OR_ROOT : TrustedOwner.ANYBODY);
    }

    private static boolean isOther(SharedStorageHandle handle, long identity) {
        return handle.identity() != 0 && identity != 0 && handle.identity() != identity;
    }

    /// Called when a handle to memory of a device is made.
    static void handOver(Storage storage) {
        Providers.ALL.forEach(each -> each.handOver(storage));
    }

    /// Opens all memory that a handle is to.
    private static Storage onDevice(SharedStorageHandle handle) throws IOException {
        try (SharedMemory memory = record(handle)) {
            for (SharedDeviceMemory each : Providers.ALL) {
                Optional<Storage> opened = each.open(memory, handle);
                if (opened.isPresent()) {
                    return opened.get();
                }
            }
        }
        throw new SharedMemoryException(Reason.UNSUPPORTED, handle
                + " cannot be opened: no module here knows the device; CUDA devices need undercroft-cuda on the class "
                + "path", null);
    }

    private static SharedMemory record(SharedStorageHandle handle) throws SharedMemoryException {
        SharedMemory attached;
        try {
            attached = SharedMemory.attach(handle.name(), MapMode.READ_ONLY, TrustedOwner.ANYBODY);
        } catch (SharedMemoryException e) {
            throw e.reason() == Reason.NOT_FOUND ? gone(handle, e) : e;
        }
        if (attached.identity().orElse(0) != handle.identity()) {
            attached.close();
            throw gone(handle, null);
        }
        return attached;
    }

    private static SharedMemoryException gone(SharedStorageHandle handle, @Nullable Throwable cause) {
        return new SharedMemoryException(Reason.NOT_FOUND,
                handle + " cannot be opened: the storage was released, or the "
                        + "process that shared it has ended; ask for a new handle",
                cause);
    }
}
