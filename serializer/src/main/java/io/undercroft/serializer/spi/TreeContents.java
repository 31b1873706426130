package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/// The contents of a format whose whole state tree is read when a file is opened. What the methods that return this
/// object set is set before it is returned from [CheckpointFormat#open].
public class TreeContents implements Contents {
    private final @Nullable Object state;
    private final Map<String, String> metadata;
    private final Check check;
    private final SequencedMap<String, Tensor> all;
    /// The tensors that were chosen.
    private SequencedMap<String, Tensor> tensors;
    private List<Storage> storages;
    private long unverifiedExtents;
    private long unverifiedBytes;
    private List<UnreadPart> unread = List.of();
    private List<ForeignClass> foreign = List.of();
    private @Nullable Map<String, String> aliases;

    /// How a format checks a file against its checksums.
    @FunctionalInterface
    public interface Check {
        /// Reads the whole file.
        ///
        /// @param pulse to be run between reads of at most some MiB; what it throws ends the check
        /// @return what is damaged
        /// @throws IOException if reading fails
        List<Damage> run(Runnable pulse) throws IOException;
    }

    /// Contents of a state tree.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @throws FormatException if the tree is deeper or its paths are longer than a
    ///     [state][io.undercroft.serializer.state] may have
    protected TreeContents(@Nullable Object state, Map<String, String> metadata, Check check) {
        this(state, metadata, check, _ -> {});
    }

    private TreeContents(@Nullable Object state, Map<String, String> metadata, Check check, LongConsumer names) {
        this.state = state;
        this.metadata = metadata;
        this.check = check;
        StateIndex index = index(state, names);
        this.all = index.tensors();
        this.tensors = all;
        this.storages = readable(index);
    }

    /// Contents of a state tree.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @return the contents
    /// @throws FormatException if the tree is deeper or its paths are longer than a
    ///     [state][io.undercroft.serializer.state] may have
    public static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check) {
        return new TreeContents(state, metadata, check);
    }

    /// Contents of a state tree whose names are charged to a budget: a short file can contain very many long names.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @param budget what reading the file may cost
    /// @return the contents
    /// @throws FormatException if the tree is deeper or its paths are longer than a
    ///     [state][io.undercroft.serializer.state] may have, or its names cost more than is left of the budget
    public static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check,
            ReadBudget budget) {
        return new TreeContents(state, metadata, check, budget::takeName);
    }

    /// Leaves those tensors out that were not chosen, and the storages that only they use.
    ///
    /// @param options which tensors were chosen
    /// @return this
    public TreeContents only(OpenOptions options) {
        if (options.isPartial()) {
            SequencedMap<String, Tensor> chosen = new LinkedHashMap<>(tensors);
            chosen.keySet().removeIf(options.choice(this::aliases).negate());
            Set<Storage> known = new HashSet<>(storages);
            tensors = Collections.unmodifiableSequencedMap(chosen);
            storages = chosen.values().stream().map(Tensor::storage).distinct().filter(known::contains).toList();
        }
        return this;
    }

    /// Records how much of the file has no checksum, for the report of a verification.
    ///
    /// @param extents how many runs of bytes
    /// @param nbytes how many bytes these have
    /// @return this
    public TreeContents withUnverified(long extents, long nbytes) {
        unverifiedExtents = extents;
        unverifiedBytes = nbytes;
        return this;
    }

    /// Sets which parts of the file the state does not contain.
    ///
    /// @param parts what [#unread] returns
    /// @return this
    public TreeContents withUnread(List<UnreadPart> parts) {
        unread = List.copyOf(parts);
        return this;
    }

    /// Sets which classes of another language the file names.
    ///
    /// @param classes what [#foreignClasses] returns
    /// @return this
    public TreeContents withForeignClasses(List<ForeignClass> classes) {
        foreign = List.copyOf(classes);
        return this;
    }

    /// {@return the storages that the file has}
    private static List<Storage> readable(StateIndex index) {
        Set<Storage> standIns = new HashSet<>();
        for (Tensor tensor : index.tensors().values()) {
            if (Unreadable.why(tensor).isPresent()) {
                standIns.add(tensor.storage());
            }
        }
        return standIns.isEmpty()
                ? index.storages()
                : index.storages().stream().filter(storage -> !standIns.contains(storage)).toList();
    }

    private static StateIndex index(@Nullable Object state, LongConsumer names) {
        try {
            return StateIndex.of(state, names);
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
        return tensors.sequencedKeySet();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        Tensor found = tensors.get(name);
        if (found == null) {
            return Optional.empty();
        }
        Optional<FormatException> why = Unreadable.why(found);
        if (why.isPresent()) {
            throw why.get();
        }
        return Optional.of(found);
    }

    @Override
    public boolean contains(String name) {
        return tensors.containsKey(name);
    }

    @Override
    public List<Damage> damages() {
        return Unreadable.damages(Unreadable.in(tensors));
    }

    @Override
    public List<Storage> storages() {
        return storages;
    }

    @Override
    public Verification verify() throws IOException {
        List<Damage> damages = new ArrayList<>(damages());
        damages.addAll(check.run(() -> {}));
        return new Verification(damages, unverifiedExtents, unverifiedBytes);
    }

    @Override
    public void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        damages().forEach(found);
        check.run(pulse).forEach(found);
    }

    @Override
    public List<UnreadPart> unread() {
        return unread;
    }

    @Override
    public List<ForeignClass> foreignClasses() {
        return foreign;
    }

    @Override
    public synchronized Map<String, String> aliases() {
        if (aliases == null) {
            aliases = PythonObjects.aliases(state, all);
        }
        return aliases;
    }
}
