package io.undercroft.interop.torch7;

import io.undercroft.interop.torch7.Input.Elements;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/// The storages of a file, which are told apart by where they are read.
final class Torch7Storages {
    private final FileStorages storages;
    private final LongPredicate wanted;
    private final Map<Storage, Long> offsets = new HashMap<>();
    private final Set<Storage> nothing = new HashSet<>();

    /// @param file the file
    /// @param options how it is opened
    /// @param wanted which storages are loaded; the others go to the meta device
    Torch7Storages(MappedFile file, OpenOptions options, LongPredicate wanted) {
        this.storages = new FileStorages(file, options);
        this.wanted = wanted;
    }

    /// {@return a storage of the file}
    TypedStorage add(Elements elements, DType dtype) {
        Storage storage = storage(elements, dtype);
        offsets.put(storage, elements.offset());
        return new TypedStorage(storage, dtype);
    }

    private Storage storage(Elements elements, DType dtype) {
        if (!wanted.test(elements.offset())) {
            return storages.blank(elements.nbytes());
        }
        return elements.decoder() == null
                ? storages.stored(elements.offset(), elements.nbytes(), dtype.itemsize())
                : storages.decoded(elements.nbytes(), elements.decoder());
    }

    /// {@return a storage without bytes, for a tensor that has none}
    ///
    /// @param offset where the tensor says so
    Storage addNothing(long offset) {
        Storage storage = wanted.test(offset) ? storages.decoded(0, _ -> {}) : storages.blank(0);
        offsets.put(storage, offset);
        nothing.add(storage);
        return storage;
    }

    /// {@return whether a storage stands for that of a tensor that has none}
    boolean isNothing(Storage storage) {
        return nothing.contains(storage);
    }

    OptionalLong placeOf(Storage storage) {
        return storages.placeOf(storage);
    }

    /// {@return which of the storages are those given, as the constructor takes it}
    LongPredicate among(Collection<Storage> some) {
        Set<Long> places = some.stream().map(offsets::get).filter(offset -> offset != null)
                .collect(Collectors.toSet());
        return places::contains;
    }
}
