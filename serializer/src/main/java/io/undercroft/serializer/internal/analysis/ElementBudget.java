package io.undercroft.serializer.internal.analysis;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.ElementLimit;
import io.undercroft.storage.Storage;
import java.util.List;
import java.util.OptionalLong;

/// The number of bytes of elements that one command may process, in proportion to the size of its files
/// ([ElementLimit#most]). It is one for all tensors: a short file can have very many, each with a storage
/// that is mostly zeros or that other tensors have too, and each can repeat its elements. For use by one thread.
public final class ElementBudget {
    /// Deflate compresses to a 1032nd at most.
    private static final long INFLATED = 1100;

    private final long most;
    private long left;

    private ElementBudget(long most) {
        this.most = most;
        this.left = most;
    }

    /// {@return the budget of one pass over the elements of files}
    ///
    /// @param checkpoints the open files
    public static ElementBudget of(Checkpoint... checkpoints) {
        long stored = 0;
        for (Checkpoint checkpoint : checkpoints) {
            stored = Sizes.sum(stored, stored(checkpoint));
        }
        return ofStored(stored);
    }

    /// {@return the budget of one pass over elements}
    ///
    /// @param stored the number of bytes that they are stored in, 0 or more
    public static ElementBudget ofStored(long stored) {
        return new ElementBudget(ElementLimit.most(stored));
    }

    /// {@return a budget that allows everything, for files that the user trusts}
    public static ElementBudget unlimited() {
        return new ElementBudget(Long.MAX_VALUE);
    }

    /// Bytes stored in another form, for instance compressed, count by their size in memory.
    private static long stored(Checkpoint checkpoint) {
        List<Storage> storages = checkpoint.storages().stream().filter(storage -> !storage.isMeta()).toList();
        OptionalLong onDisk = DiskBytes.of(checkpoint, storages);
        if (onDisk.isPresent()) {
            return onDisk.getAsLong();
        }
        long files = Sizes.sum(checkpoint.fileSizes().values().stream().mapToLong(Long::longValue));
        return Math.min(Sizes.sum(storages.stream().mapToLong(Storage::nbytes)),
                INFLATED * Math.min(files, Long.MAX_VALUE / INFLATED));
    }

    /// {@return the number of bytes of elements that it allows}
    public long most() {
        return most;
    }

    /// Charges bytes of elements. {@return whether they may be processed; if not, nothing is charged}
    ///
    /// @param nbytes the number of bytes, 0 or more
    public boolean take(long nbytes) {
        if (nbytes > left) {
            return false;
        }
        left -= nbytes;
        return true;
    }

    /// {@return the reason why elements were not processed, as a part of a sentence}
    public String refusal() {
        return "with those before it, more than " + (most >> 20) + " MiB of elements would be read, which is out of"
                + " proportion to what the file stores";
    }
}
