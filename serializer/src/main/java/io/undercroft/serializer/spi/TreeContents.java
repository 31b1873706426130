package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;
import org.jspecify.annotations.Nullable;

/// The contents of a format whose whole state tree is read when a file is opened.
public final class TreeContents implements Contents {
    private final @Nullable Object state;
    private final Map<String, String> metadata;
    private final StateIndex index;
    private final Check check;

    /// How a format checks a file against its checksums.
    @FunctionalInterface
    public interface Check {
        /// Reads the file whole.
        ///
        /// @return what is damaged
        /// @throws IOException if reading fails
        List<Damage> run() throws IOException;
    }

    private TreeContents(@Nullable Object state, Map<String, String> metadata, Check check) {
        this.state = state;
        this.metadata = metadata;
        this.index = index(state);
        this.check = check;
    }

    /// Contents of a state tree.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @return the contents
    /// @throws FormatException if the tree is deeper or its paths are longer than [StateIndex] allows
    public static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check) {
        return new TreeContents(state, metadata, check);
    }

    private static StateIndex index(@Nullable Object state) {
        try {
            return StateIndex.of(state);
        } catch (IllegalArgumentException e) {
            throw new FormatException("STATE-LIMIT", String.valueOf(e.getMessage()), FormatException.NO_OFFSET,
                    "Save a flatter state with shorter keys", e);
        }
    }

    @Override
    public @Nullable Object state() {
        return state;
    }

    @Override
    public Map<String, String> metadata() {
        return metadata;
    }

    @Override
    public SequencedCollection<String> names() {
        return index.tensors().sequencedKeySet();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        return Optional.ofNullable(index.tensors().get(name));
    }

    @Override
    public List<Storage> storages() {
        return index.storages();
    }

    @Override
    public List<Damage> verify() throws IOException {
        return check.run();
    }
}
