package io.undercroft.interop.internal;

import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The storages that the selected tensors of a file use. They are known only when all tensors have their names, so a
/// file of which some tensors were selected is read twice, the first time without bytes. For use by one thread.
public final class StorageFilter {
    private final @Nullable Set<Object> wanted;
    /// The keys of the storages; null unless they are read for their names.
    private final @Nullable Map<Storage, Object> keys;
    /// The prefix of all keys; empty if keys are not texts.
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
        return new StorageFilter(wanted, keys, part + name + "/");
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

    /// {@return a storage of the file: one with bytes, or if no tensor on it was chosen, one on the meta device}
    ///
    /// @param key its key in the file
    /// @param nbytes its size in bytes
    /// @param maker makes the one with bytes
    public Storage make(Object key, long nbytes, Supplier<Storage> maker) {
        Object known = part.isEmpty() ? key : part + key;
        Storage made = wanted == null || wanted.contains(known) ? maker.get() : Storage.meta(nbytes);
        if (keys != null) {
            keys.put(made, known);
        }
        return made;
    }
}
