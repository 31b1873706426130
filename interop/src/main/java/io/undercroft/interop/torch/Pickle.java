package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.StateIndex;
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
        if (!keys.mixed().isEmpty()) {
            keys = new StorageKeys(keys.mixed());
            bytes = Pickler.pickle(state, keys);
        }
        Pickle pickle = new Pickle(MemorySegment.ofArray(bytes), keys.inOrder());
        pickle.checkReadable();
        return pickle;
    }

    /// What would be refused when it is read is not written.
    private void checkReadable() {
        try {
            ReadBudget budget = ReadBudget.of(bytes.byteSize());
            Object state = new Unpickler(new PickleInput(bytes), StorageTable.ofSizes()::find, budget)
                    .run(FormatException.NO_OFFSET);
            StateCheck.check(state, _ -> {});
            StateIndex.of(state, budget::takeName);
        } catch (FormatException e) {
            throw new IllegalArgumentException("cannot save the state for PyTorch: " + e.what(), e);
        }
    }
}
