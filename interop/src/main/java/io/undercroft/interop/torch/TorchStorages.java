package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The storages of a file, by their keys: one storage for each key, however often the pickle refers to it.
final class TorchStorages {
    /// The longest key or location, in characters: a number, or a device.
    private static final int LONGEST_NAME = 256;

    private final OpenOptions options;
    private final StorageFilter filter;
    private final Source source;
    private final Tails tails;
    private final Map<String, Opened> byKey = new LinkedHashMap<>();
    private final Map<Storage, Entry> byStorage = new HashMap<>();
    /// The device for each location; a file names few locations many times.
    private final Map<String, Device> devices = new HashMap<>();

    /// The source of the bytes of storages.
    @FunctionalInterface
    interface Source {
        /// {@return a storage on the bytes of an entry}
        ///
        /// @param entry the entry
        /// @param device the target device; not meta
        /// @throws PickleFault if there are none, or not as many
        Storage open(Entry entry, Device device);
    }

    /// Tells how many bytes a storage has behind its last whole element. The pickle counts elements only, so that a
    /// storage of 10 bytes under a tensor of float32 is one of 2 elements there.
    @FunctionalInterface
    interface Tails {
        /// {@return fewer bytes than an element has}
        long of(Entry entry);
    }

    /// @param options the devices of storages
    /// @param filter which storages are loaded, by their keys; the others are on the meta device
    /// @param tails what the pickle does not count
    /// @param source where the bytes are
    TorchStorages(OpenOptions options, StorageFilter filter, Tails tails, Source source) {
        this.options = options;
        this.filter = filter;
        this.tails = tails;
        this.source = source;
    }

    /// {@return a table of the sizes of storages, without their bytes}
    static TorchStorages ofSizes() {
        return new TorchStorages(OpenOptions.defaults().onMeta(), StorageFilter.all(), _ -> 0,
                (entry, _) -> Storage.meta(entry.nbytes()));
    }

    /// A storage as the pickle refers to it. Further references must be the same.
    static final class Entry {
        private final String key;
        private final String location;
        private final StorageClass first;
        /// The bytes of the elements that the pickle counts.
        private final long counted;
        private long tail;
        /// Null as long as it was only an `UntypedStorage`.
        private @Nullable DType dtype;

        Entry(String key, String location, StorageClass first, long numel) {
            this.key = key;
            this.location = location;
            this.first = first;
            this.counted = bytesIn(first, numel);
            this.dtype = first.dtype();
        }

        String key() {
            return key;
        }

        /// {@return its size in bytes}
        long nbytes() {
            return counted + tail;
        }

        /// {@return the bytes of the elements that the pickle counts}
        long counted() {
            return counted;
        }

        /// {@return the size in bytes of an element of the class of the first reference}
        int itemsize() {
            return first.itemsize();
        }

        /// {@return the type of the elements, as far as it is known}
        @Nullable
        DType dtype() {
            return dtype;
        }

        void checkSame(String otherLocation, long otherNbytes) {
            if (counted != otherNbytes) {
                throw refused("has both " + counted + " and " + otherNbytes + " bytes");
            }
            if (!location.equals(otherLocation)) {
                throw refused("has two locations");
            }
        }

        void use(@Nullable DType other) {
            // PyTorch does not mind where there are no bytes.
            if (counted > 0 && dtype != null && other != null && !dtype.equals(other)) {
                throw refused("has elements of both " + dtype.name() + " and " + other.name());
            }
            dtype = dtype == null ? other : dtype;
        }

        PickleFault refused(String what) {
            return PickleFault.because("TORCH-STORAGE", "storage " + FormatException.quote(key) + " " + what,
                    PickleFault.DAMAGED);
        }
    }

    /// An entry and the storage made of it.
    private record Opened(Entry entry, Storage storage) {}

    /// Finds the storage that a persistent id names: `("storage", class, key, location, number of elements)`. In
    /// TorchScript archives of 2019 a sixth part is `None`, where files of `torch.save` had a view of the storage.
    ///
    /// @param id the id
    /// @return a [TypedStorage], or a [Storage] for PyTorch's untyped ones
    /// @throws PickleFault if the id is malformed, contradicts another one or its record
    Object find(@Nullable Object id) {
        if (id instanceof Tuple parts && (parts.size() == 5 || (parts.size() == 6 && parts.get(5) == null))) {
            return findStorage(parts);
        }
        throw notStorage();
    }

    /// Finds the storage that the first five parts of a persistent id name.
    ///
    /// @param parts at least five
    /// @return as [#find]
    /// @throws PickleFault if the id is malformed, contradicts another one or its record
    Object findStorage(Tuple parts) {
        StorageClass type = Globals.storageClass(parts.get(1));
        if (!("storage".equals(parts.get(0)) && type != null && parts.get(2) instanceof String key
                && parts.get(3) instanceof String location && parts.get(4) instanceof Long numel)
                || key.length() > LONGEST_NAME || location.length() > LONGEST_NAME) {
            throw notStorage();
        }
        Storage storage = storage(key, location, type, numel);
        return type.dtype() == null ? storage : new TypedStorage(storage, type.dtype());
    }

    /// Finds a storage.
    ///
    /// @param key its key
    /// @param location where it was saved from
    /// @param type its class
    /// @param numel the number of its elements
    /// @throws PickleFault if this contradicts an earlier call, or the record of the storage
    Storage storage(String key, String location, StorageClass type, long numel) {
        Opened opened = byKey.get(key);
        if (opened == null) {
            Entry entry = new Entry(key, location, type, numel);
            entry.tail = tails.of(entry);
            Device device = devices.computeIfAbsent(location, this::deviceOf);
            opened = new Opened(entry, filter.make(key, entry.nbytes(), () -> open(entry, device)));
            byKey.put(key, opened);
            byStorage.put(opened.storage, entry);
        } else {
            opened.entry.checkSame(location, bytesIn(type, numel));
            opened.entry.use(type.dtype());
        }
        return opened.storage;
    }

    static PickleFault notStorage() {
        return PickleFault.malformed("a persistent id that does not name a storage");
    }

    /// Takes note that a tensor uses an untyped storage of another byte order, so that its elements can be swapped
    /// to this machine's. (PyTorch does not swap these.)
    ///
    /// @param storage a storage of the table, or any other
    /// @param dtype the type of the tensor
    /// @throws PickleFault if tensors of two types use it
    void use(Storage storage, DType dtype) {
        Entry entry = byStorage.get(storage);
        if (entry != null) {
            entry.use(dtype);
        }
    }

    /// {@return all storages that the pickle refers to, in the order of first references}
    Collection<Entry> entries() {
        return byKey.values().stream().map(Opened::entry).toList();
    }

    /// Makes a storage of a part of another one, which versions of PyTorch before 0.4 could have.
    ///
    /// @param root the other one
    /// @param offset where it starts, an integer, in elements
    /// @param numel how many elements it has, an integer
    /// @param itemsize bytes in an element
    /// @return the slice
    /// @throws PickleFault if the part is not inside
    static Storage slice(Storage root, @Nullable Object offset, @Nullable Object numel, int itemsize) {
        try {
            if (offset instanceof Long first && numel instanceof Long count && first >= 0 && count >= 0) {
                return root.slice(Math.multiplyExact(first, itemsize), Math.multiplyExact(count, itemsize));
            }
        } catch (ArithmeticException | IndexOutOfBoundsException | IllegalArgumentException _) {
            // Said below.
        }
        throw PickleFault.because("TORCH-STORAGE", "a view of a storage does not lie inside it", PickleFault.DAMAGED);
    }

    private static long bytesIn(StorageClass type, long numel) {
        try {
            if (numel >= 0) {
                return Math.multiplyExact(numel, type.itemsize());
            }
        } catch (ArithmeticException _) {
            // Said below.
        }
        throw PickleFault.because("TORCH-STORAGE", "a storage of " + numel + " elements", PickleFault.DAMAGED);
    }

    private Storage open(Entry entry, Device device) {
        try {
            return device.isMeta() ? Storage.meta(entry.nbytes()) : source.open(entry, device);
        } catch (FormatException e) {
            throw e.code().equals(FileStorages.NO_DEVICE) ? noDevice(entry, e) : e;
        }
    }

    private static PickleFault noDevice(Entry entry, FormatException why) {
        return PickleFault.because("TORCH-DEVICE", "storage " + FormatException.quote(entry.key) + " was saved from "
                + FormatException.quote(entry.location) + ": " + why.what(), why.remedy());
    }

    private Device deviceOf(String location) {
        // Before PyTorch 0.4, storages without elements were on no device of theirs.
        String known = location.equals("cuda:-1") ? "cuda:0" : location;
        try {
            return options.deviceFor(Device.parse(known));
        } catch (IllegalArgumentException _) {
            throw PickleFault.because("TORCH-LOCATION", FormatException.quote(location) + " is no device",
                    PickleFault.DAMAGED);
        }
    }
}
