package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A state as PyTorch saves it: a pickle, and the storages that it names by their numbers.
///
/// @param bytes the pickle
/// @param storages in the order in which the pickle first names them
/// @param distrusted the names of what `torch.load(weights_only=True)` refuses
record Pickle(MemorySegment bytes, List<Storage> storages, List<String> distrusted) {
    /// A pickle of which `torch.load(weights_only=True)` refuses nothing.
    Pickle(MemorySegment bytes, List<Storage> storages) {
        this(bytes, storages, List.of());
    }

    /// Pickles a state.
    ///
    /// @param state the root of the tree
    /// @param writesObjects whether objects of foreign classes are written
    /// @return the pickle
    /// @throws IllegalArgumentException if it holds something that PyTorch has no place for; the message has its path
    static Pickle of(@Nullable Object state, boolean writesObjects) {
        StorageKeys keys = new StorageKeys();
        Set<String> distrusted = new LinkedHashSet<>();
        byte[] bytes = Pickler.pickle(state, keys, writesObjects, distrusted);
        if (!keys.mixed().isEmpty()) {
            keys = new StorageKeys(keys);
            bytes = Pickler.pickle(state, keys, writesObjects, distrusted);
        }
        Pickle pickle = new Pickle(MemorySegment.ofArray(bytes), keys.inOrder(), List.copyOf(distrusted));
        pickle.checkReadable(ForeignNames.of(!writesObjects));
        return pickle;
    }

    /// What would be refused when it is read is not written.
    private void checkReadable(ForeignNames names) {
        try {
            ReadBudget budget = ReadBudget.of(bytes.byteSize());
            Object state = new Unpickler(PickleInput.of(bytes, "the pickle", ArrayStorages.ofSizes()),
                    TorchStorages.ofSizes()::find, names, budget).run();
            StateCheck.check(state, names.isStrict(), tensor -> Unreadable.why(tensor).ifPresent(why -> {
                throw why;
            }));
            StateIndex.of(state, budget::takeName);
        } catch (IOException e) {
            throw new AssertionError("a pickle in memory is read without I/O", e);
        } catch (FormatException e) {
            throw new IllegalArgumentException("cannot save the state for PyTorch: " + e.what(), e);
        }
    }
}
