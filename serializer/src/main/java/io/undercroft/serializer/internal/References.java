package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.SaveRequest;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The files known to this process that reference other files: those that are open, and the last ones that were opened
/// or saved before and still exist. The files that they reference must not be replaced. No directory is searched.
///
/// A referenced file is recognised by its identity and not by its path: by the file that its path leads to or, if that
/// cannot be found, by its id or size. All snapshots of a file count, and those of its bases. Safe for any thread.
public final class References {
    /// The number of files that are not open and are remembered, the last ones.
    private static final int MOST_KNOWN = 1 << 12;
    private static final Set<Referrer> OPEN = ConcurrentHashMap.newKeySet();
    /// A file in a store, which is not registered.
    private static final Referrer IN_STORE = new Referrer(Path.of(""), Places.NONE, List.of(), null, false);
    private static final Map<Path, Referrer> KNOWN = new LinkedHashMap<>();

    private References() {}

    /// The directories of other files, from the options. The options are not kept, since a file is remembered for long
    /// after it was closed, and options refer to classes, allocators, listeners and functions of the program.
    private record Places(Optional<Path> root, Map<UUID, Path> byId, List<Path> named) {
        static final Places NONE = new Places(Optional.empty(), Map.of(), List.of());

        static Places of(OpenOptions options) {
            return new Places(options.request().root(), options.request().basesById(), options.request().bases());
        }
    }

    /// A file that references others, registered until it is closed.
    public static final class Referrer implements AutoCloseable {
        private final Path path;
        private final Places places;
        private final List<Path> companions;
        /// The open file, as long as it is reachable; null for a file that is not open.
        private final @Nullable WeakReference<MappedFile> open;
        private final boolean isRemembered;
        private final BaseRecords records = new BaseRecords();

        private Referrer(Path path, Places places, List<Path> companions, @Nullable MappedFile open,
                boolean isRemembered) {
            this.path = path.toAbsolutePath();
            this.places = places;
            this.companions = companions.isEmpty()
                    ? List.of()
                    : companions.stream().map(Path::toAbsolutePath).toList();
            this.open = open == null ? null : new WeakReference<>(open);
            this.isRemembered = isRemembered;
        }

        /// Ends the registration; a file that references others is remembered.
        @Override
        public void close() {
            if (OPEN.remove(this) && isRemembered) {
                remember(path, places, companions);
            }
        }

        private boolean isForgotten() {
            return open != null && open.get() == null;
        }

        /// Returns the base records of what was opened, or of what has the name now.
        private Set<BaseRecord> bases() {
            try (MappedFile file = file()) {
                return records.of(new FileSource(file));
            } catch (IOException | IllegalStateException _) {
                // It was collected, or closed at this moment.
                return Set.of();
            }
        }

        private MappedFile file() throws IOException {
            MappedFile held = open == null ? null : open.get();
            return held == null ? MappedFile.open(path, MapMode.READ_ONLY) : held.retain();
        }
    }

    /// The base records of all snapshots of a file, as far as they can be read. What was read once is kept, and only
    /// newer snapshots are read.
    private static final class BaseRecords {
        private @Nullable UUID uuid;
        private long sequence;
        private final Set<BaseRecord> records = new LinkedHashSet<>();

        synchronized Set<BaseRecord> of(ByteSource file) throws IOException {
            try {
                Snapshot newest = Snapshot.open(file, Limits.DEFAULT);
                if (!newest.commit().uuid().equals(uuid) || newest.commit().sequence() < sequence) {
                    uuid = newest.commit().uuid();
                    sequence = 0;
                    records.clear();
                }
                long seen = sequence;
                sequence = newest.commit().sequence();
                Optional<Snapshot> next = Optional.of(newest);
                while (next.isPresent() && next.get().commit().sequence() > seen) {
                    for (int number = 0; number < next.get().baseCount(); number++) {
                        records.add(next.get().base(number));
                    }
                    next = next.get().previous();
                }
            } catch (FormatException | MappingException _) {
                // A file that cannot be read, or was cut while it is open, references nothing.
            }
            return Set.copyOf(records);
        }
    }

    /// Registers an open `.croft` file.
    ///
    /// @param file the file
    /// @param options the options, which name the bases
    /// @param hasBases whether the snapshot that was opened has any, so that the file is remembered when it is closed
    /// @return the registration
    public static Referrer open(MappedFile file, OpenOptions options, boolean hasBases) {
        if (file.source().isPresent()) {
            return IN_STORE;
        }
        return add(new Referrer(file.path(), Places.of(options), List.of(), file, hasBases));
    }

    /// Registers an open index and the files that it names.
    ///
    /// @param index the index
    /// @param companions the files
    /// @return the registration
    public static Referrer openSet(MappedFile index, List<Companion> companions) {
        if (index.source().isPresent()) {
            return IN_STORE;
        }
        return add(new Referrer(index.path(), Places.NONE,
                companions.stream().flatMap(companion -> companion.path().stream()).toList(), index, true));
    }

    private static Referrer add(Referrer referrer) {
        for (Referrer each : OPEN) {
            if (each.isForgotten()) {
                each.close();
            }
        }
        OPEN.add(referrer);
        return referrer;
    }

    /// Remembers a file that was saved.
    ///
    /// @param path the file
    /// @param root the directory that paths of its bases start from, if it is not that of the file
    public static void saved(Path path, Optional<Path> root) {
        remember(path, new Places(root, Map.of(), List.of()), List.of());
    }

    /// Remembers a set that was opened or saved.
    ///
    /// @param path the index or the manifest
    /// @param companions the files that it names
    public static void knownSet(Path path, List<Path> companions) {
        remember(path, Places.NONE, companions);
    }

    private static void remember(Path path, Places places, List<Path> companions) {
        Referrer referrer = new Referrer(path, places, companions, null, true);
        synchronized (KNOWN) {
            KNOWN.remove(referrer.path);
            KNOWN.put(referrer.path, referrer);
            if (KNOWN.size() > MOST_KNOWN) {
                KNOWN.remove(KNOWN.keySet().iterator().next());
            }
        }
    }

    /// {@return the rule for what is written}
    ///
    /// @param any whether the caller allowed every file to be replaced
    public static Replacing rule(boolean any) {
        return any ? Replacing.ANY : References::check;
    }

    /// {@return the rule for a file that a state is saved to}
    ///
    /// @param request the options of the save
    /// @param sources the locations of the storages of the state
    public static Replacing rule(SaveRequest request, Set<String> sources) {
        Replacing referenced = rule(request.isReplacingReferenced());
        List<Path> files = sources.stream().flatMap(References::paths).toList();
        return request.isReplacingSource() || files.isEmpty() ? referenced : target -> {
            referenced.check(target);
            if (Files.isRegularFile(target) && (isAny(files, target) || isIndexOf(files, target))) {
                throw new SourceFileException(target.toString());
            }
        };
    }

    /// Refuses to save a state over the object of a store that it was opened from.
    ///
    /// @param location the object to make or replace
    /// @param request the options of the save
    /// @param sources the locations of the storages of the state
    /// @throws SourceFileException if that is not allowed
    public static void checkSource(String location, SaveRequest request, Set<String> sources)
            throws SourceFileException {
        if (!request.isReplacingSource() && sources.contains(location)) {
            throw new SourceFileException(location);
        }
    }

    private static Stream<Path> paths(String location) {
        try {
            return Stream.of(Path.of(location));
        } catch (InvalidPathException _) {
            // It is in a store.
            return Stream.empty();
        }
    }

    private static boolean isAny(List<Path> files, Path target) throws IOException {
        for (Path file : files) {
            if (isSame(file, target)) {
                return true;
            }
        }
        return false;
    }

    /// Returns whether a file is the index of a known set that some files belong to.
    private static boolean isIndexOf(List<Path> files, Path target) throws IOException {
        for (Referrer each : all()) {
            if (!each.companions.isEmpty() && isSame(each.path, target)) {
                for (Path companion : each.companions) {
                    if (isAny(files, companion)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /// {@return the rule for a copy of a file that keeps its bases: the copy may replace any file but one of these}
    ///
    /// @param path the file that is copied
    /// @param options the options, which name the bases
    public static Replacing ruleForCopyOf(Path path, OpenOptions options) {
        Referrer source = new Referrer(path, Places.of(options), List.of(), null, false);
        return target -> {
            if (Files.isRegularFile(target) && new Search(target).finds(source)) {
                throw new ReferencedFileException(target, path);
            }
        };
    }

    /// Refuses a file that others reference.
    ///
    /// @param target the file; it need not be there
    /// @throws ReferencedFileException if a file that is known has bytes in it
    /// @throws IOException if reading fails
    private static void check(Path target) throws IOException {
        Optional<Path> referrer = referrer(target, null);
        if (referrer.isPresent()) {
            throw new ReferencedFileException(target, referrer.get());
        }
    }

    /// {@return a file that is known to have bytes in another one}
    ///
    /// @param target the other one, there or not
    /// @param except a file that is skipped, or null
    /// @throws IOException if reading fails
    public static Optional<Path> referrer(Path target, @Nullable Path except) throws IOException {
        if (!Files.isRegularFile(target)) {
            return Optional.empty();
        }
        Search search = new Search(target);
        for (Referrer each : all()) {
            boolean asked = except == null || !isSame(each.path, except);
            if (asked && search.finds(each)) {
                return Optional.of(each.path);
            }
        }
        return Optional.empty();
    }

    private static List<Referrer> all() {
        List<Referrer> all = new ArrayList<>(OPEN);
        synchronized (KNOWN) {
            KNOWN.keySet().removeIf(path -> !Files.isRegularFile(path));
            all.addAll(KNOWN.values());
        }
        return all;
    }

    /// A search for the files that reference one file. Several of them may name the same bases, which are read once.
    private static final class Search {
        private final Path target;
        private final Map<Candidate, Boolean> matches = new HashMap<>();
        private final Map<Path, Set<BaseRecord>> bases = new HashMap<>();

        /// A file that may be that of a record.
        private record Candidate(BaseRecord base, Path path) {}

        Search(Path target) {
            this.target = target;
        }

        boolean finds(Referrer referrer) throws IOException {
            for (Path companion : referrer.companions) {
                if (isSame(companion, target)) {
                    return true;
                }
            }
            return referrer.companions.isEmpty() && new Walk(this, referrer.places, new HashSet<>())
                    .finds(referrer.bases(), parent(referrer.path), 0);
        }

        boolean isOf(BaseRecord base, Path path) {
            return matches.computeIfAbsent(new Candidate(base, path), Search::isMatch);
        }

        private static boolean isMatch(Candidate candidate) {
            try (MappedFile file = MappedFile.open(candidate.path, MapMode.READ_ONLY)) {
                candidate.base.check(new FileSource(file));
                return true;
            } catch (IOException | FormatException | MappingException _) {
                return false;
            }
        }

        Set<BaseRecord> basesOf(Path path) {
            return bases.computeIfAbsent(path, Search::readBases);
        }

        private static Set<BaseRecord> readBases(Path path) {
            try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
                return new BaseRecords().of(new FileSource(file));
            } catch (IOException _) {
                return Set.of();
            }
        }
    }

    /// A traversal of the bases of a file, and of their bases.
    private record Walk(Search search, Places places, Set<Path> seen) {
        boolean finds(Set<BaseRecord> bases, @Nullable Path directory, int depth) throws IOException {
            for (BaseRecord base : bases) {
                Optional<Path> found = find(base, directory);
                if (found.isPresent() ? isSame(found.get(), search.target) : means(base)) {
                    return true;
                }
                if (found.isPresent() && base.kind() == BaseKind.CROFT && depth < Limits.DEFAULT.maxBaseDepth()
                        && seen.add(found.get())
                        && finds(search.basesOf(found.get()), parent(found.get()), depth + 1)) {
                    return true;
                }
            }
            return false;
        }

        /// Returns the path of a base, if the file there is the right one.
        private Optional<Path> find(BaseRecord base, @Nullable Path directory) throws IOException {
            try {
                Optional<Path> given = base.kind() == BaseKind.CROFT
                        ? Optional.ofNullable(places.byId.get(base.uuid()))
                        : Optional.empty();
                Path root = places.root.orElse(directory);
                Optional<Path> found = given.isPresent() || root == null
                        ? given
                        : ConfinedPath.resolve(root.toRealPath(), base.path());
                return found.isPresent() && Files.isRegularFile(found.get()) && search.isOf(base, found.get())
                        ? found
                        : Optional.empty();
            } catch (IOException | InvalidPathException _) {
                return Optional.empty();
            }
        }

        /// If a base cannot be found, it is identified by its id or size. For an adopted file the record has the length
        /// and a digest of all bytes, which would take long to compute; instead the name is compared, or the options
        /// named the file.
        private boolean means(BaseRecord base) throws IOException {
            String name = base.path().substring(base.path().lastIndexOf('/') + 1);
            return search.isOf(base, search.target) && (base.kind() == BaseKind.CROFT
                    || search.target.toRealPath().endsWith(name) || isNamed(search.target));
        }

        private boolean isNamed(Path target) throws IOException {
            for (Path named : places.named) {
                if (isSame(named, target)) {
                    return true;
                }
            }
            return false;
        }
    }

    private static @Nullable Path parent(Path path) throws IOException {
        return Files.exists(path) ? path.toRealPath().getParent() : path.getParent();
    }

    private static boolean isSame(Path one, Path other) throws IOException {
        return Files.exists(one) && Files.exists(other) && Files.isSameFile(one, other);
    }
}
