package io.undercroft.interop.internal;

import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The storages that the selected tensors of a file use. They are known only when all tensors have their names, so a
/// file of which some tensors were selected is read twice, the first time without bytes. For use by one thread.
public final class StorageFilter {
    private final @Nullable Set<Object> wanted;
    /// The keys of the storages; null unless they are read for their names.
    private final @Nullable Map<Storage, Object> keys;
    /// What precedes all keys; empty if keys are not texts.
    private final String part;

    private StorageFilter(@Nullable Set<Object> wanted, @Nullable Map<Storage, Object> keys, String part) {
        this.wanted = wanted;
        this.keys = keys;
        this.part = part;
    }

    /// {@return the same filter for the storages of a part of the file, which may have the keys of other storages}
    ///
    /// @param name the name of the part
    public StorageFilter in(String name) {
        return new StorageFilter(wanted, keys, name + "/");
    }

    private Object known(Object key) {
        return part.isEmpty() ? key : part + key;
    }

    /// Reads a file.
    @FunctionalInterface
    public interface Reader {
        /// {@return the contents of the file, all of it}
        ///
        /// @param options the options for opening
        /// @param filter the storages that have bytes; is to be shown each with its key
        /// @throws IOException if reading fails
        TreeContents read(OpenOptions options, StorageFilter filter) throws IOException;
    }

    /// {@return a filter that accepts all storages}
    public static StorageFilter all() {
        return new StorageFilter(null, null, "");
    }

    /// Reads a file, once or twice.
    ///
    /// @param options the options, and the selected tensors
    /// @param reader reads all of it
    /// @return the chosen tensors
    /// @throws IOException if reading fails
    public static TreeContents read(OpenOptions options, Reader reader) throws IOException {
        if (!options.isPartial()) {
            return reader.read(options, all());
        }
        Map<Storage, Object> keys = new HashMap<>();
        Set<Object> wanted = reader.read(options.onMeta(), new StorageFilter(null, keys, "")).only(options).storages()
                .stream().map(storage -> keys.get(storage.base().orElse(storage))).filter(Objects::nonNull)
                .collect(Collectors.toSet());
        return reader.read(options, new StorageFilter(wanted, null, "")).only(options);
    }

    /// {@return whether a storage is to have bytes}
    ///
    /// @param key its key in the file
    public boolean isWanted(Object key) {
        return wanted == null || wanted.contains(known(key));
    }

    /// Adds a storage that was made.
    ///
    /// @param key its key in the file
    /// @param storage the storage, with bytes or without
    public void add(Object key, Storage storage) {
        if (keys != null) {
            keys.put(storage, known(key));
        }
    }
}
