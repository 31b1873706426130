package io.undercroft.interop.torch7;

import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.torch7.Input.Elements;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.util.HashSet;
import java.util.Set;

/// The storages of a file, which are distinguished by their offsets.
final class Torch7Storages {
    private final FileStorages storages;
    private final StorageFilter filter;
    private final Set<Storage> nothing = new HashSet<>();

    /// @param file the file
    /// @param options how it is opened
    /// @param filter which storages are loaded, by their places; the others are on the meta device
    Torch7Storages(MappedFile file, OpenOptions options, StorageFilter filter) {
        this.storages = new FileStorages(file, options);
        this.filter = filter;
    }

    /// {@return a storage of the file}
    TypedStorage add(Elements elements, DType dtype) {
        return new TypedStorage(filter.make(elements.offset(), elements.nbytes(), () -> elements.decoder() == null
                ? storages.stored(elements.offset(), elements.nbytes(), dtype.itemsize())
                : storages.decoded(elements.nbytes(), elements.decoder())), dtype);
    }

    /// {@return a storage without bytes, for a tensor that has none}
    ///
    /// @param offset the offset that the tensor records
    Storage addNothing(long offset) {
        Storage storage = filter.make(offset, 0, () -> storages.decoded(0, _ -> {}));
        nothing.add(storage);
        return storage;
    }

    /// {@return whether a storage stands for that of a tensor that has none}
    boolean isNothing(Storage storage) {
        return nothing.contains(storage);
    }
}
