package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.state.PythonObjects;
import io.undercroft.serializer.state.StateIndex;
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
import java.util.OptionalLong;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/// The contents of a format whose whole state tree is read when a file is opened.
public final class TreeContents implements Contents {
    private final @Nullable Object state;
    private final Map<String, String> metadata;
    private final SequencedMap<String, Tensor> all;
    /// The tensors that were chosen.
    private final SequencedMap<String, Tensor> tensors;
    private final List<Storage> storages;
    private final Check check;
    private final Details details;
    private @Nullable Map<String, String> aliases;

    /// What a format adds to the state.
    private record Details(Function<Storage, OptionalLong> places, long unverifiedExtents, long unverifiedBytes,
            List<UnreadPart> unread, List<ForeignClass> foreign) {
        static final Details NONE = new Details(_ -> OptionalLong.empty(), 0, 0, List.of(), List.of());
    }

    /// How a format checks a file against its checksums.
    @FunctionalInterface
    public interface Check {
        /// Reads the file whole.
        ///
        /// @return what is damaged
        /// @throws IOException if reading fails
        List<Damage> run() throws IOException;
    }

    private TreeContents(@Nullable Object state, Map<String, String> metadata, SequencedMap<String, Tensor> all,
            SequencedMap<String, Tensor> tensors, List<Storage> storages, Check check, Details details) {
        this.state = state;
        this.metadata = metadata;
        this.all = all;
        this.tensors = tensors;
        this.storages = storages;
        this.check = check;
        this.details = details;
    }

    private TreeContents with(Details other) {
        return new TreeContents(state, metadata, all, tensors, storages, check, other);
    }

    /// Contents of a state tree.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @return the contents
    /// @throws FormatException if the tree is deeper or its paths are longer than [StateIndex] allows
    public static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check) {
        return of(state, metadata, check, _ -> {});
    }

    /// Contents of a state tree whose names are charged to a budget: a short file can contain very many long names.
    ///
    /// @param state the tree
    /// @param metadata free-form text about the file, in the file's order
    /// @param check how to verify the file
    /// @param budget what reading the file may cost
    /// @return the contents
    /// @throws FormatException if the tree is deeper or its paths are longer than [StateIndex] allows, or its names
    ///     cost more than is left of the budget
    public static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check,
            ReadBudget budget) {
        return of(state, metadata, check, budget::takeName);
    }

    private static TreeContents of(@Nullable Object state, Map<String, String> metadata, Check check,
            LongConsumer names) {
        StateIndex index = index(state, names);
        return new TreeContents(state, metadata, index.tensors(), index.tensors(), readable(index), check,
                Details.NONE);
    }

    /// Leaves those tensors out that were not chosen, and the storages that only they use.
    ///
    /// @param options which tensors were chosen
    /// @return the same contents, or a part of them
    public TreeContents only(OpenOptions options) {
        if (!options.isPartial()) {
            return this;
        }
        SequencedMap<String, Tensor> chosen = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            if (options.isChosen(name)) {
                chosen.put(name, tensor);
            }
        });
        List<Storage> left = chosen.values().stream().map(Tensor::storage).distinct().filter(storages::contains)
                .toList();
        return new TreeContents(state, metadata, all, Collections.unmodifiableSequencedMap(chosen), left, check,
                details);
    }

    /// Adds the offsets of storages in the file.
    ///
    /// @param offsets the results of [#placeOf]; must be safe for several threads
    /// @return the same contents, with places
    public TreeContents withPlaces(Function<Storage, OptionalLong> offsets) {
        return with(new Details(offsets, details.unverifiedExtents, details.unverifiedBytes, details.unread,
                details.foreign));
    }

    /// Records how much of the file has no checksum, for the report of a verification.
    ///
    /// @param extents how many runs of bytes
    /// @param nbytes how many bytes these have
    /// @return the same contents, with that
    public TreeContents withUnverified(long extents, long nbytes) {
        return with(new Details(details.places, extents, nbytes, details.unread, details.foreign));
    }

    /// Sets which parts of the file the state does not contain.
    ///
    /// @param parts what [#unread] returns
    /// @return the same contents, with that
    public TreeContents withUnread(List<UnreadPart> parts) {
        return with(new Details(details.places, details.unverifiedExtents, details.unverifiedBytes,
                List.copyOf(parts), details.foreign));
    }

    /// Sets which classes of another language the file names.
    ///
    /// @param classes what [#foreignClasses] returns
    /// @return the same contents, with these
    public TreeContents withForeignClasses(List<ForeignClass> classes) {
        return with(new Details(details.places, details.unverifiedExtents, details.unverifiedBytes, details.unread,
                List.copyOf(classes)));
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
        damages.addAll(check.run());
        return new Verification(damages, details.unverifiedExtents, details.unverifiedBytes);
    }

    @Override
    public List<UnreadPart> unread() {
        return details.unread;
    }

    @Override
    public List<ForeignClass> foreignClasses() {
        return details.foreign;
    }

    @Override
    public synchronized Map<String, String> aliases() {
        if (aliases == null) {
            aliases = PythonObjects.aliases(state, all);
        }
        return aliases;
    }

    @Override
    public OptionalLong placeOf(Storage storage) {
        return details.places.apply(storage);
    }
}
