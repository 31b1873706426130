package io.undercroft.interop.torch;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A state as PyTorch saves it: a pickle, and the storages that it names by their numbers.
///
/// @param bytes the pickle
/// @param storages in the order in which the pickle first names them
record Pickle(MemorySegment bytes, List<Storage> storages) {
    /// Pickles a state.
    ///
    /// @param state the root of the tree
    /// @return the pickle
    /// @throws IllegalArgumentException if it holds something that PyTorch has no place for; the message has its path
    static Pickle of(@Nullable Object state) {
        StorageKeys keys = new StorageKeys(Set.of());
        byte[] bytes = Pickler.pickle(state, keys);
        StateCheck.checkReadable(state);
        if (!keys.mixed().isEmpty()) {
            keys = new StorageKeys(keys.mixed());
            bytes = Pickler.pickle(state, keys);
        }
        return new Pickle(MemorySegment.ofArray(bytes), keys.inOrder());
    }
}
