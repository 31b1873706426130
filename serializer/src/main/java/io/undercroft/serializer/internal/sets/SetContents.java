package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.TruncationCheck;
import io.undercroft.serializer.internal.loading.StoredBytes;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SequencedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The tensors of a set as the state of one file. Their storages are those of members that stay open, or *deferred*:
/// made of storages of members, which are opened when the storage is touched.
///
/// @param <C> the contents of a member
public final class SetContents<C extends Contents> extends TreeContents {
    private final OpenSet<C> set;
    private final Map<Storage, List<Place>> deferred;
    private final BiFunction<C, Integer, Storage> storageOf;
    /// The members other than the index, as they were when the set was opened.
    private final List<Companion> companions;
    /// The numbers of these members, in ascending order.
    private final List<Integer> numbers;
    /// The numbers of members by their files, if these stay open.
    private final IdentityHashMap<MappedFile, Integer> open = new IdentityHashMap<>();

    /// A storage of a member.
    ///
    /// @param member the number of the member
    /// @param storage the number of the storage
    record Place(int member, int storage) {}

    /// Contents of a set.
    ///
    /// @param set the set, which then belongs to the contents
    /// @param state the state
    /// @param metadata the metadata
    /// @param deferred what the deferred storages are made of
    /// @param storageOf finds a storage of a member by its number
    SetContents(OpenSet<C> set, @Nullable Object state, Map<String, String> metadata,
            Map<Storage, List<Place>> deferred, BiFunction<C, Integer, Storage> storageOf) {
        super(state, metadata, _ -> List.of());
        this.set = set;
        this.deferred = deferred;
        this.storageOf = storageOf;
        SequencedMap<Integer, Companion> others = set.companions();
        this.companions = List.copyOf(others.values());
        this.numbers = List.copyOf(others.keySet());
    }

    /// Contents of a set whose members stay open, and whose storages are those of these.
    ///
    /// @param set the set, which then belongs to the contents
    /// @param state the state
    /// @param metadata the metadata
    public SetContents(OpenSet<C> set, @Nullable Object state, Map<String, String> metadata) {
        this(set, state, metadata, Map.of(), (contents, number) -> contents.storages().get(number));
        for (int number = 0; number < set.size(); number++) {
            open.put(use(number, (file, _) -> file), number);
        }
    }

    private List<Place> places(Storage storage) {
        return deferred.getOrDefault(storage, List.of());
    }

    private SortedSet<Integer> members(Storage storage) {
        return places(storage).stream().map(Place::member).collect(Collectors.toCollection(TreeSet::new));
    }

    private <T> T use(int number, OpenSet.Use<? super C, T> use) {
        try {
            return set.use(number, use);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// The extents of the member that has the storage. A storage made of parts of several members has none.
    @Override
    public List<Extent> extents(Storage storage, MappedFile index) {
        if (deferred.isEmpty()) {
            Integer number = StoredBytes.of(storage).map(bytes -> open.get(bytes.file())).orElse(null);
            return number == null
                    ? List.of()
                    : inMember(number, use(number, (file, held) -> held.extents(storage, file)));
        }
        List<Place> parts = places(storage);
        if (parts.size() != 1 || !storage.device().isCpu()) {
            return List.of();
        }
        Place from = parts.getFirst();
        return inMember(from.member, use(from.member,
                (file, held) -> held.extents(storageOf.apply(held, from.storage), file)));
    }

    private List<Extent> inMember(int number, List<Extent> extents) {
        int file = set.name(number).isEmpty() ? 0 : 1 + Collections.binarySearch(numbers, number);
        return extents.stream().map(extent -> new Extent(extent.start(), extent.length(), extent.place(),
                extent.place() == Extent.Place.FILE ? file : 0, extent.offset(), extent.stored(), extent.digest()))
                .toList();
    }

    /// Groups of storages whose members all stay open while the group is loaded. A storage that is in too many of them
    /// is a group of its own.
    @Override
    public List<List<Storage>> loadGroups(List<Storage> wanted) {
        List<List<Storage>> groups = new ArrayList<>();
        Set<Integer> open = new HashSet<>();
        for (Storage each : wanted.stream().sorted(Comparator.comparingInt(
                storage -> places(storage).stream().mapToInt(Place::member).min().orElse(0))).toList()) {
            Set<Integer> needed = members(each);
            open.addAll(needed);
            if (groups.isEmpty() || !OpenSet.allStayOpen(open.size())) {
                groups.add(new ArrayList<>());
                open = new HashSet<>(needed);
            }
            groups.getLast().add(each);
        }
        return groups;
    }

    @Override
    public void openGroup(List<Storage> group) throws IOException {
        Set<Integer> needed = new TreeSet<>();
        group.forEach(storage -> needed.addAll(members(storage)));
        if (OpenSet.allStayOpen(needed.size())) {
            set.shared(List.copyOf(needed), number -> set.use(number, (_, contents) -> contents));
        }
    }

    /// The extents of the members, if all of these stay open.
    @Override
    public List<FilePiece> runs(Storage storage) {
        List<Place> parts = places(storage);
        if (parts.isEmpty() || !OpenSet.allStayOpen(members(storage).size())) {
            return super.runs(storage);
        }
        return parts.stream().flatMap(from -> use(from.member,
                (_, held) -> held.runs(storageOf.apply(held, from.storage))).stream()).toList();
    }

    @Override
    public List<Companion> companions() {
        return companions;
    }

    @Override
    public Verification verify() throws IOException {
        List<Damage> damages = new ArrayList<>();
        Set<BaseFile> missing = new LinkedHashSet<>();
        long extents = 0;
        long nbytes = 0;
        for (int number = 0; number < set.size(); number++) {
            Verification found = verify(number);
            for (Damage damage : found.damages()) {
                damages.add(in(number, damage));
            }
            missing.addAll(found.missingBases());
            extents += found.unverifiedExtents();
            nbytes += found.unverifiedBytes();
        }
        return new Verification(damages, extents, nbytes, List.copyOf(missing));
    }

    /// One that cannot be opened any more, as it was cut or removed meanwhile, is damaged.
    private Verification verify(int number) throws IOException {
        try {
            return set.use(number, TruncationCheck::verify);
        } catch (FormatException e) {
            return Verification.ofAll(List.of(Damage.of("the file", 0, e)));
        }
    }

    @Override
    public void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        for (int number = 0; number < set.size(); number++) {
            int member = number;
            pulse.run();
            set.use(number, (_, contents) -> {
                contents.scrub(damage -> found.accept(in(member, damage)), pulse);
                return contents;
            });
        }
    }

    private Damage in(int number, Damage damage) {
        String in = set.name(number).isEmpty() ? "" : " in the shard " + set.name(number);
        return new Damage(damage.where() + in, damage.offset(), damage.length(), damage.code(), damage.what(),
                damage.remedy());
    }

    @Override
    public void release() {
        deferred.keySet().forEach(Contents::release);
        set.close();
    }
}
