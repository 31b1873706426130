package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.MemoryReader;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The storages of an archive, by their keys: one storage for each key, however often the pickle refers to it.
///
/// A stored record is mapped where it lies when the storage is first touched. What cannot be mapped is copied into
/// memory then: compressed records, records that are not aligned for their elements, and those of another byte order. A
/// copy of a file that is not mapped copy-on-write is read-only, as writing to it would not reach the file.
final class StorageTable {
    /// From how many bytes on a copy has an arena of its own, which costs more to close than to allocate.
    private static final long LARGE = 1 << 20;
    /// The widest element, or part of one, that is read in one piece.
    private static final int WIDEST_ELEMENT = 8;

    private final MappedFile file;
    private final OpenOptions options;
    private final ZipDirectory zip;
    private final String prefix;
    private final ByteOrder order;
    private final Predicate<String> wanted;
    private final MemoryReader memory;
    private final Map<String, Opened> byKey = new HashMap<>();
    private final Map<Storage, Entry> byStorage = new HashMap<>();
    /// Where the records of storages start in the archive, if they are stored as they are.
    private final Map<Storage, Long> places = new HashMap<>();
    /// Where storages of a location go; a file names few locations many times.
    private final Map<String, Device> devices = new HashMap<>();

    /// @param file the archive
    /// @param options how to map it and where storages go
    /// @param zip its directory
    /// @param prefix what stands before a key in the name of a record
    /// @param order the byte order of the elements
    /// @param wanted which storages are loaded, by their keys; the others go to the meta device
    StorageTable(MappedFile file, OpenOptions options, ZipDirectory zip, String prefix, ByteOrder order,
            Predicate<String> wanted) {
        this.file = file;
        this.options = options;
        this.zip = zip;
        this.prefix = prefix;
        this.order = order;
        this.wanted = wanted;
        this.memory = new MemoryReader(file, options);
    }

    /// How the pickle speaks of a storage. Whoever speaks of it again has to say the same.
    private static final class Entry {
        private final String key;
        private final String location;
        private final long nbytes;
        /// Null as long as only `UntypedStorage` was said.
        private @Nullable DType dtype;

        Entry(String key, String location, long nbytes, @Nullable DType dtype) {
            this.key = key;
            this.location = location;
            this.nbytes = nbytes;
            this.dtype = dtype;
        }

        void checkSame(String otherLocation, long otherNbytes) {
            if (nbytes != otherNbytes) {
                throw refused("has both " + nbytes + " and " + otherNbytes + " bytes");
            }
            if (!location.equals(otherLocation)) {
                throw refused("has two locations");
            }
        }

        void use(@Nullable DType other) {
            if (dtype != null && other != null && !dtype.equals(other)) {
                throw refused("has elements of both " + dtype.name() + " and " + other.name());
            }
            dtype = dtype == null ? other : dtype;
        }

        Refused refused(String what) {
            return Refused.because("TORCH-STORAGE", "storage " + FormatException.quote(key) + " " + what,
                    Refused.DAMAGED);
        }
    }

    /// An entry and the storage made of it.
    private record Opened(Entry entry, Storage storage) {}

    /// Finds the storage that a persistent id names: `("storage", class, key, location, number of elements)`.
    ///
    /// @param id the id
    /// @return a [TypedStorage], or a [Storage] for PyTorch's untyped ones
    /// @throws Refused if the id is malformed, contradicts another one or its record
    Object find(@Nullable Object id) {
        if (!(id instanceof Tuple parts && parts.size() == 5 && "storage".equals(parts.get(0))
                && parts.get(1) instanceof StorageClass type && parts.get(2) instanceof String key
                && parts.get(3) instanceof String location && parts.get(4) instanceof Long numel)) {
            throw Refused.malformed("a persistent id that does not name a storage");
        }
        long nbytes = nbytes(type, numel);
        Opened opened = byKey.get(key);
        if (opened == null) {
            opened = open(new Entry(key, location, nbytes, type.dtype()));
            byKey.put(key, opened);
            byStorage.put(opened.storage, opened.entry);
        } else {
            opened.entry.checkSame(location, nbytes);
            opened.entry.use(type.dtype());
        }
        return type.dtype() == null ? opened.storage : new TypedStorage(opened.storage, type.dtype());
    }

    /// Takes note that a tensor stands on an untyped storage, so that its elements can be swapped to this machine's
    /// byte order. (PyTorch does not swap these.)
    ///
    /// @param storage a storage of the table, or any other
    /// @param dtype the type of the tensor
    /// @throws Refused if tensors of two types stand on it and its bytes have to be swapped
    void use(Storage storage, DType dtype) {
        Entry entry = byStorage.get(storage);
        if (entry != null && isForeign()) {
            entry.use(dtype);
        }
    }

    /// {@return the keys of storages}
    ///
    /// @param storages storages of this table
    Set<String> keys(Collection<Storage> storages) {
        return storages.stream().map(byStorage::get).filter(Objects::nonNull).map(entry -> entry.key)
                .collect(Collectors.toSet());
    }

    /// {@return where the bytes of a storage start in the archive, unless they are compressed or of another byte order}
    ///
    /// @param storage any storage
    OptionalLong placeOf(Storage storage) {
        Long place = places.get(storage);
        return place == null ? OptionalLong.empty() : OptionalLong.of(place);
    }

    private static long nbytes(StorageClass type, long numel) {
        try {
            if (numel >= 0) {
                return Math.multiplyExact(numel, type.itemsize());
            }
        } catch (ArithmeticException _) {
            // Said below.
        }
        throw Refused.because("TORCH-STORAGE", "a storage of " + numel + " elements", Refused.DAMAGED);
    }

    private Opened open(Entry entry) {
        Device device = devices.computeIfAbsent(entry.location, this::deviceOf);
        if (device.isMeta() || !wanted.test(entry.key)) {
            return new Opened(entry, Storage.meta(entry.nbytes));
        }
        if (device.isCpu()) {
            return new Opened(entry, fromRecord(entry));
        }
        throw Refused.because("TORCH-DEVICE", "storage " + FormatException.quote(entry.key) + " was saved from "
                + FormatException.quote(entry.location) + " and is to go to " + device + ", which is not supported",
                "Map devices when opening: OpenOptions.devices(d -> Device.CPU), or --map-location cpu");
    }

    private Device deviceOf(String location) {
        try {
            return options.deviceFor(Device.parse(location));
        } catch (IllegalArgumentException _) {
            throw Refused.because("TORCH-LOCATION", FormatException.quote(location) + " is no device", Refused.DAMAGED);
        }
    }

    private Storage fromRecord(Entry entry) {
        ZipRecord record = zip.find(prefix + checked(entry.key)).orElseThrow(() -> entry.refused("has no record"));
        if (record.size() != entry.nbytes) {
            throw entry.refused("of " + entry.nbytes + " bytes has a record of " + record.size());
        }
        try {
            // Asked now, so that a damaged archive is found when it is opened and not when it is used.
            long data = zip.dataOffset(record);
            Storage storage = Storage.deferred(entry.nbytes, () -> allocation(record, data, entry.dtype));
            if (record.isStored() && !isForeign()) {
                places.put(storage, data);
            }
            return storage;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String checked(String key) {
        boolean plain = !key.isEmpty()
                && key.chars().allMatch(c -> (c < 0x80 && Character.isLetterOrDigit(c)) || c == '_' || c == '-');
        if (!plain) {
            throw Refused.because("TORCH-STORAGE", FormatException.quote(key) + " is no key of a storage",
                    Refused.DAMAGED);
        }
        return key;
    }

    private boolean isForeign() {
        return order != ByteOrder.nativeOrder();
    }

    private Allocation allocation(ZipRecord record, long data, @Nullable DType dtype) {
        int unit = dtype == null ? WIDEST_ELEMENT : unit(dtype);
        boolean swaps = isForeign() && dtype != null && unit > 1;
        if (record.isStored() && record.size() > 0 && data % unit == 0 && !swaps) {
            return options.isInMemory()
                    ? memory.read(List.of(file.piece(data, record.size())))
                    : file.window(data, record.size());
        }
        return record.size() < LARGE
                ? Allocation.collected(copy(record, swaps ? unit : 1, Arena.ofAuto()))
                : ownedCopy(record, swaps ? unit : 1);
    }

    /// A large copy is given back with its storage and does not wait for the garbage collector.
    private Allocation ownedCopy(ZipRecord record, int swapUnit) {
        Arena arena = Arena.ofShared();
        try {
            MemorySegment copy = copy(record, swapUnit, arena);
            return new Allocation(copy, Allocation.Sharing.PRIVATE, null, arena::close);
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    /// Writes to a copy would not reach the file, so it takes them only where they should not.
    private MemorySegment copy(ZipRecord record, int swapUnit, Arena arena) {
        try {
            MemorySegment copy = zip.read(record, arena);
            if (swapUnit > 1) {
                ByteSwap.swap(copy, swapUnit);
            }
            return options.mapping() == MapMode.PRIVATE ? copy : copy.asReadOnly();
        } catch (FormatException e) {
            // Long after the file was opened, so nobody else says which one it was.
            throw e.withFile(file.path().toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// {@return bytes in the piece of an element that has a byte order: a complex number has two}
    private static int unit(DType dtype) {
        int size = dtype.kind() == DType.Kind.COMPLEX ? dtype.itemsize() / 2 : dtype.itemsize();
        return Math.min(size, WIDEST_ELEMENT);
    }
}
