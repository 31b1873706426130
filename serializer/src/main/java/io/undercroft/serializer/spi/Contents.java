package io.undercroft.serializer.spi;

import io.undercroft.serializer.Damage;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;
import org.jspecify.annotations.Nullable;

/// What an open file holds. [TreeContents] makes one of a state tree; a format that can find tensors faster than by reading
/// the tree implements it itself. Safe for use by several threads.
public interface Contents {
    /// {@return the state tree, as [io.undercroft.serializer.state] describes it}
    @Nullable
    Object state();

    /// {@return free-form text about the file, as safetensors keeps it}
    Map<String, String> metadata();

    /// {@return the names of all tensors in the order in which the state holds them; a tensor may have several}
    SequencedCollection<String> names();

    /// Finds a tensor.
    ///
    /// @param name its name
    /// @return the same object for every call and for every name of the tensor, or nothing
    Optional<Tensor> tensor(String name);

    /// {@return the storages in the order in which the state first uses them}
    List<Storage> storages();

    /// Reads everything and checks it against the checksums that the file has.
    ///
    /// @return what is damaged; empty if all is well
    /// @throws IOException if reading fails
    List<Damage> verify() throws IOException;

    /// Releases the storages, when the checkpoint is closed. A storage that somebody retained is mapped first if it was not
    /// yet, since the file goes with the checkpoint.
    default void release() {
        storages().forEach(Contents::release);
    }

    /// Releases one storage as [#release] does it.
    ///
    /// @param storage a storage of these contents
    static void release(Storage storage) {
        int references = storage.referenceCount();
        if (references > 1 && !storage.device().isMeta()) {
            storage.segment();
        }
        if (references > 0) {
            storage.release();
        }
    }
}
