package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.OpenOptions;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/// The storages of a snapshot that chosen tensors use. If not all tensors are chosen, the names are read once, on first
/// use. Safe for any thread.
public final class ChosenStorages {
    private final Snapshot snapshot;
    private final OpenOptions options;
    private @Nullable BitSet numbers;

    /// The storages of a snapshot.
    ///
    /// @param snapshot the snapshot
    /// @param options the tensors that were chosen
    public ChosenStorages(Snapshot snapshot, OpenOptions options) {
        this.snapshot = snapshot;
        this.options = options;
    }

    /// {@return whether a chosen tensor uses a storage}
    ///
    /// @param number the number of the storage
    public boolean contains(int number) {
        return !options.isPartial() || numbers().get(number);
    }

    private synchronized BitSet numbers() {
        if (numbers == null) {
            numbers = find();
        }
        return numbers;
    }

    private BitSet find() {
        BitSet found = new BitSet();
        for (int name = 0; name < snapshot.nameCount(); name++) {
            try {
                if (options.isChosen(snapshot.name(name))) {
                    found.set(snapshot.tensor(snapshot.tensorOfName(name)).storage());
                }
            } catch (FormatException _) {
                // Reading that tensor throws it again.
            }
        }
        return found;
    }
}
