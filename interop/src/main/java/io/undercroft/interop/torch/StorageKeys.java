package io.undercroft.interop.torch;

import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The storages of a pickle that is being written: the number of each, in the order in which the pickle names them, and
/// the class that it is named with.
///
/// PyTorch gives a storage the class that it is first named with, so all places that name it have to agree. Most
/// storages hold elements of one type, and have its class. One that tensors of several types share can only be named as
/// bytes, even if it has none; that is known after the whole pickle was written, which is then written again. What
/// cannot be named as bytes is refused then. But PyTorch itself writes storages without bytes that have several
/// classes: where these cannot be named as bytes, they get a number for each class.
final class StorageKeys {
    /// Storages that are named as bytes, and those that have several classes.
    private final Set<Storage> untyped;
    private final Set<Storage> divided;
    private final Map<Named, Integer> keys = new LinkedHashMap<>();
    private final Map<Storage, StorageClass> classes = new HashMap<>();
    private final Map<Storage, StorageClass> plain = new HashMap<>();
    private final Set<Storage> mixed = new HashSet<>();
    private final Set<Storage> mixedPlain = new HashSet<>();

    /// For a pickle that is written for the first time.
    StorageKeys() {
        this.untyped = Set.of();
        this.divided = Set.of();
    }

    /// @param first what the same pickle had when it was written for the first time
    StorageKeys(StorageKeys first) {
        this.untyped = first.mixedPlain;
        this.divided = first.mixed;
    }

    /// What has a number.
    ///
    /// @param type null but for a storage without bytes that has several classes
    private record Named(Storage storage, @Nullable StorageClass type) {}

    /// {@return the class to name a storage with where it cannot be named as bytes; that of bytes if there is none}
    StorageClass typedClassOf(Storage storage, DType dtype) {
        StorageClass type = Globals.storageClass(dtype);
        return type != null && storage.nbytes() == 0 ? type : classOf(storage, dtype);
    }

    /// {@return the class to name a storage with for elements of a type; that of bytes if there is none}
    StorageClass classOf(Storage storage, DType dtype) {
        StorageClass type = Globals.storageClass(dtype);
        if (type == null || storage.nbytes() % type.itemsize() != 0 || untyped.contains(storage)) {
            return Globals.UNTYPED;
        }
        return type;
    }

    /// {@return the number of a storage, which is given to it if it has none}
    ///
    /// @param storage the storage, by identity
    /// @param type what it is named with here
    /// @param needsClass whether it cannot be named as bytes here
    int keyOf(Storage storage, StorageClass type, boolean needsClass) {
        note(storage, type, classes, mixed);
        if (!needsClass || storage.nbytes() > 0) {
            note(storage, type, plain, mixedPlain);
        }
        boolean isApart = needsClass && storage.nbytes() == 0 && divided.contains(storage);
        return keys.computeIfAbsent(new Named(storage, isApart ? type : null), _ -> keys.size());
    }

    private static void note(Storage storage, StorageClass type, Map<Storage, StorageClass> first,
            Set<Storage> several) {
        StorageClass known = first.putIfAbsent(storage, type);
        if (known != null && !known.equals(type)) {
            several.add(storage);
        }
    }

    /// {@return the storages that were named with several classes}
    Set<Storage> mixed() {
        return mixed;
    }

    /// {@return all storages in the order of their numbers}
    List<Storage> inOrder() {
        return keys.keySet().stream().map(Named::storage).toList();
    }
}
