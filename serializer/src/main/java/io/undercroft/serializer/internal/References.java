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
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.spi.Companion;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// What may be replaced: no file that has bytes of the state that is saved, nor one that has bytes of a file that is
/// open in this process. That holds for the bases of these files, and for the bases of bases. No directory is searched,
/// and nothing is remembered of files that are closed.
///
/// A referenced file is recognised by its identity and not by its path: by the file that its path leads to or, if that
/// cannot be found, by its id or size. All snapshots of a file count, and those of its bases. Safe for any thread.
public final class References {
    /// The open files, by what keeps them open: a [MappedFile] until its last holder releases it, or a program's object
    /// until it is closed. What is not closed counts until it is collected.
    private static final Map<Object, Referrer> OPEN = new WeakHashMap<>();

    /// The open files of stores. Objects are told apart by their locations.
    private static final Map<MappedFile, Stored> STORED = new WeakHashMap<>();

    private References() {}

    /// The directories of other files, from the options.
    private record Places(Optional<Path> root, Map<UUID, Path> byId, List<Path> named) {
        static final Places NONE = new Places(Optional.empty(), Map.of(), List.of());

        static Places of(OpenOptions options) {
            return new Places(options.root(), options.basesById(), options.bases());
        }
    }

    /// A file that references others.
    private static final class Referrer {
        private final Path path;
        private final Places places;
        private final List<Path> companions;
        /// Null for a file that is opened when its bases are needed.
        private final @Nullable WeakReference<MappedFile> open;
        private final BaseRecords records = new BaseRecords();

        Referrer(Path path, Places places, List<Path> companions, @Nullable MappedFile open) {
            this.path = path.toAbsolutePath();
            this.places = places;
            this.companions = companions;
            this.open = open == null ? null : new WeakReference<>(open);
        }

        boolean isClosed() {
            if (open == null) {
                return false;
            }
            try (MappedFile held = held()) {
                return held == null;
            }
        }

        /// Returns the open file with one more holder, or null if it is not open.
        private @Nullable MappedFile held() {
            try {
                MappedFile file = open == null ? null : open.get();
                return file == null ? null : file.retain();
            } catch (IllegalStateException _) {
                return null;
            }
        }

        /// Returns the base records of what was opened, or of what has the name now.
        Set<BaseRecord> bases() {
            MappedFile held = held();
            try (MappedFile file = held == null ? MappedFile.open(path, MapMode.READ_ONLY) : held) {
                return records.of(new FileSource(file));
            } catch (IOException _) {
                return Set.of();
            }
        }
    }

    /// What an open file of a store references.
    ///
    /// @param companions the locations of the files that it names, if it is the index of a set
    /// @param records its bases
    private record Stored(Set<String> companions, BaseRecords records) {
        /// {@return whether the file has bytes in an object, which is one of its set, or a base next to it}
        boolean has(MappedFile file, String location) throws IOException {
            if (companions.contains(location)) {
                return true;
            }
            for (BaseRecord base : companions.isEmpty() ? records.of(new FileSource(file)) : Set.<BaseRecord>of()) {
                try {
                    URI path = new URI(null, null, base.path(), null);
                    if (URI.create(file.location()).resolve(path).equals(URI.create(location))) {
                        return true;
                    }
                } catch (IllegalArgumentException | URISyntaxException _) {
                    // Not next to it.
                }
            }
            return false;
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

    /// Registers a `.croft` file, until it is closed.
    ///
    /// @param file the file
    /// @param options the options, which name the bases
    public static void open(MappedFile file, OpenOptions options) {
        openSet(file, List.of(), options);
    }

    /// Registers an index and the files that it names, until the index is closed.
    ///
    /// @param index the index
    /// @param companions the files, of this host or of a store as the index is
    /// @param options the options, which name the bases of these files
    public static void openSetOf(MappedFile index, List<Companion> companions, OpenOptions options) {
        if (index.source().isPresent()) {
            addStored(index, companions.stream().map(Companion::location).collect(Collectors.toSet()));
        } else {
            openSet(index, companions.stream().flatMap(each -> each.path().stream()).toList(), options);
        }
    }

    private static void addStored(MappedFile file, Set<String> companions) {
        synchronized (OPEN) {
            STORED.put(file, new Stored(companions, new BaseRecords()));
        }
    }

    /// Returns the open files of stores, each with one more holder.
    private static Map<MappedFile, Stored> openStored() {
        Map<MappedFile, Stored> held = new HashMap<>();
        synchronized (OPEN) {
            STORED.entrySet().removeIf(each -> {
                try {
                    held.put(each.getKey().retain(), each.getValue());
                    return false;
                } catch (IllegalStateException _) {
                    return true;
                }
            });
        }
        return held;
    }

    /// {@return the location of an open file that has bytes in an object of a store}
    ///
    /// @param location the location of the object
    /// @param isIndex whether it is to be the index of a set instead
    /// @param sources if so, locations of which the set has one
    private static Optional<String> storedReferrer(String location, boolean isIndex, Set<String> sources)
            throws IOException {
        Optional<String> found = Optional.empty();
        for (Map.Entry<MappedFile, Stored> each : openStored().entrySet()) {
            try (MappedFile file = each.getKey()) {
                boolean isFound = isIndex
                        ? file.location().equals(location)
                                && each.getValue().companions.stream().anyMatch(sources::contains)
                        : each.getValue().has(file, location);
                found = isFound ? Optional.of(file.location()) : found;
            }
        }
        return found;
    }

    /// Registers an index and the files that it names, until the index is closed.
    ///
    /// @param index the index
    /// @param companions the files
    /// @param options the options, which name the bases of these files
    public static void openSet(MappedFile index, List<Path> companions, OpenOptions options) {
        if (index.source().isPresent()) {
            addStored(index, Set.of());
        } else {
            add(index, new Referrer(index.path(), Places.of(options), companions, index));
        }
    }

    /// Registers a `.croft` file that is opened again and again, until [#close] or until the owner is collected. One of
    /// another file system than that of the host cannot be opened, and is not registered.
    ///
    /// @param owner the object that opens it
    /// @param path the file, there or not
    /// @param options the options, which name the bases
    public static void open(Object owner, Path path, OpenOptions options) {
        if (path.getFileSystem().equals(FileSystems.getDefault())) {
            add(owner, new Referrer(path, Places.of(options), List.of(), null));
        }
    }

    private static void add(Object owner, Referrer referrer) {
        synchronized (OPEN) {
            OPEN.put(owner, referrer);
        }
    }

    /// Ends a registration.
    ///
    /// @param owner the object that was registered
    public static void close(Object owner) {
        synchronized (OPEN) {
            OPEN.remove(owner);
        }
    }

    /// Returns the open files, sets before their shards, so that the same one is named each time.
    private static List<Referrer> open() {
        List<Referrer> referrers;
        synchronized (OPEN) {
            OPEN.values().removeIf(Referrer::isClosed);
            referrers = new ArrayList<>(OPEN.values());
        }
        referrers.sort(Comparator.comparing((Referrer each) -> each.companions.isEmpty())
                .thenComparing(each -> each.path));
        return referrers;
    }

    /// {@return the rule for a file that is made of others}
    ///
    /// @param any whether the caller allowed every file to be replaced
    /// @param sources the other files, whose bases must stay
    public static Replacing rule(boolean any, Collection<Path> sources) {
        return any ? Replacing.ANY : target -> {
            Path file = target.file();
            if (file == null) {
                Optional<String> referrer = storedReferrer(target.location(), false, Set.of());
                if (referrer.isPresent()) {
                    throw new ReferencedFileException(target.location(), referrer.get());
                }
                return;
            }
            // The sources are opened only if there is something to replace.
            if (!Files.isRegularFile(file)) {
                return;
            }
            List<Referrer> referrers = new ArrayList<>(open());
            sources.forEach(source -> referrers.add(new Referrer(source, Places.NONE, companions(source), null)));
            Optional<Path> referrer = referrer(file, referrers);
            if (referrer.isPresent()) {
                throw new ReferencedFileException(file.toString(), referrer.get().toString());
            }
        };
    }

    /// {@return the rule for a file that a state is saved to}
    ///
    /// @param options the options of the save
    /// @param sources the locations of the storages of the state
    public static Replacing rule(SaveOptions options, Set<String> sources) {
        List<Path> files = paths(sources);
        Replacing referenced = rule(options.isReplacingReferenced(), files);
        return options.isReplacingSource() || sources.isEmpty() ? referenced : target -> {
            referenced.check(target);
            Path file = target.file();
            if (file == null
                    ? sources.contains(target.location())
                            || storedReferrer(target.location(), true, sources).isPresent()
                    : Files.isRegularFile(file) && (isAny(files, file) || isIndexOf(files, file))) {
                throw new SourceFileException(file == null ? target.location() : file.toString());
            }
        };
    }

    /// Returns the paths of files. The locations of objects in stores are left out, or are paths of no file.
    private static List<Path> paths(Set<String> locations) {
        return locations.stream().flatMap(location -> {
            try {
                return Stream.of(Path.of(location));
            } catch (InvalidPathException _) {
                return Stream.empty();
            }
        }).toList();
    }

    private static boolean isAny(List<Path> files, Path target) throws IOException {
        for (Path file : files) {
            if (isSame(file, target)) {
                return true;
            }
        }
        return false;
    }

    /// Returns whether a file is the index of a set that some files belong to. An open set may be named by links, so
    /// that its files are not next to the file that is replaced.
    private static boolean isIndexOf(List<Path> files, Path target) throws IOException {
        List<Path> companions = new ArrayList<>(companions(target));
        for (Referrer each : open()) {
            if (!each.companions.isEmpty() && isSame(each.path, target)) {
                companions.addAll(each.companions);
            }
        }
        for (Path companion : companions) {
            if (isAny(files, companion)) {
                return true;
            }
        }
        return false;
    }

    private static List<Path> companions(Path index) {
        return paths(Formats.companionNames(index)).stream().map(index::resolveSibling).toList();
    }

    /// {@return the rule for a copy of a file that keeps its bases: the copy may replace any file but one of these}
    ///
    /// @param path the file that is copied
    /// @param options the options, which name the bases
    public static Replacing ruleForCopyOf(Path path, OpenOptions options) {
        Referrer source = new Referrer(path, Places.of(options), List.of(), null);
        return target -> {
            Path file = target.file();
            if (file != null && referrer(file, List.of(source)).isPresent()) {
                throw new ReferencedFileException(file.toString(), path.toString());
            }
        };
    }

    /// {@return an open file that has bytes in another one}
    ///
    /// @param target the other one, there or not
    /// @param except an open file that is skipped
    /// @throws IOException if reading fails
    public static Optional<Path> openReferrer(Path target, Path except) throws IOException {
        List<Referrer> referrers = new ArrayList<>();
        for (Referrer each : open()) {
            if (!isSame(each.path, except)) {
                referrers.add(each);
            }
        }
        return referrer(target, referrers);
    }

    private static Optional<Path> referrer(Path target, List<Referrer> referrers) throws IOException {
        if (Files.isRegularFile(target)) {
            Search search = new Search(target);
            for (Referrer each : referrers) {
                if (search.finds(each)) {
                    return Optional.of(each.path);
                }
            }
        }
        return Optional.empty();
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
                if (isSame(companion, target) || finds(basesOf(companion), companion, referrer.places)) {
                    return true;
                }
            }
            return referrer.companions.isEmpty() && finds(referrer.bases(), referrer.path, referrer.places);
        }

        private boolean finds(Set<BaseRecord> bases, Path path, Places places) throws IOException {
            return new Walk(this, places, new HashSet<>()).finds(bases, parent(path), 0);
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
            return bases.computeIfAbsent(path, each -> new Referrer(each, Places.NONE, List.of(), null).bases());
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

    /// Other open files may be deleted at any time.
    private static @Nullable Path parent(Path path) {
        try {
            return path.toRealPath().getParent();
        } catch (IOException _) {
            return path.getParent();
        }
    }

    private static boolean isSame(Path one, Path other) throws IOException {
        try {
            return Files.exists(one) && Files.exists(other) && Files.isSameFile(one, other);
        } catch (NoSuchFileException _) {
            return false;
        }
    }
}
