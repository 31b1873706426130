package io.undercroft.serializer.internal.extents;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Scan;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.Bases;
import io.undercroft.serializer.internal.ConfinedPath;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.ModelDirectory;
import io.undercroft.serializer.internal.Settings;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Device;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The other files that a snapshot may reference, opened: those that the caller names, and those that the snapshot
/// before references. They are numbered from 1 in that order.
public final class NamedBases implements Closeable {
    private final int chunkLog2;
    /// Whether chunks are coded against those of the bases.
    private final boolean isCodedAgainst;
    /// Reads bases; its buffer has a megabyte, which a save without bases does not need.
    private @Nullable Scan scan;
    private final List<Base> bases = new ArrayList<>();
    /// The files that the caller names.
    private final List<MappedFile> files = new ArrayList<>();
    private @Nullable Bases kept;

    /// A base.
    ///
    /// @param file the file
    /// @param record its record in the index
    /// @param contents the list of its bytes
    private record Base(MappedFile file, BaseRecord record, Known contents) {}

    private interface Known {
        void addTo(ContentIndex candidates, int number) throws IOException;

        void addTo(CodingPlan coding, int number) throws IOException;
    }

    private NamedBases(int chunkLog2, boolean isCodedAgainst) {
        this.chunkLog2 = chunkLog2;
        this.isCodedAgainst = isCodedAgainst;
    }

    private Scan scan() {
        Scan there = scan;
        if (there == null) {
            there = new Scan(1L << chunkLog2);
            scan = there;
        }
        return there;
    }

    /// Opens the bases that the options name.
    ///
    /// @param options the options of the save
    /// @param target the file that is to be written, links followed; null if it has no name, then a root has to be set
    /// @param chunkLog2 the logarithm of its chunk size
    /// @return the bases
    /// @throws IOException if one is missing or cannot be read
    /// @throws io.undercroft.format.FormatException if one is damaged, or of no known format
    /// @throws IllegalArgumentException if one is not below the root, is the file itself, or needs too many others in
    ///     turn
    public static NamedBases open(SaveOptions options, @Nullable Path target, int chunkLog2) throws IOException {
        NamedBases bases = new NamedBases(chunkLog2,
                options.compression() == Compression.AGAINST_BASE && options.sharing() == Sharing.CONTENT);
        try {
            if (!options.bases().isEmpty()) {
                Path root = root(options, target).toRealPath();
                for (SaveOptions.Base named : options.bases()) {
                    Settings.check(named.opening());
                    bases.add(named, where(options), root, target);
                }
            }
            return bases;
        } catch (Throwable e) {
            bases.close();
            throw e;
        }
    }

    private static Path root(SaveOptions options, @Nullable Path target) {
        return options.root().or(() -> Optional.ofNullable(target).map(Path::getParent))
                .orElseThrow(() -> new IllegalArgumentException(
                        "a stream and shared memory are in no directory; set a root, a directory above the bases"));
    }

    /// Adds a file, or those of the set that it is the index of.
    private void add(SaveOptions.Base named, OpenOptions where, Path root, @Nullable Path target) throws IOException {
        MappedFile file = open(Files.isDirectory(named.file()) ? ModelDirectory.fileIn(named.file()) : named.file());
        CheckpointFormat format = Formats.of(file, named.opening().format().orElse(null));
        OpenOptions opening = where.settings(named.opening().settings());
        boolean isCroft = format.name().equals("croft");
        if (isCroft && format.companionNames(file).isEmpty()) {
            addCroft(file, root, target);
            return;
        }
        // Bytes of other formats are compared in memory of the host, whatever device they were saved from.
        Contents contents = Formats.open(format, file,
                isCroft ? opening.onMeta() : opening.mapping(MapMode.READ_ONLY).devices(_ -> Device.CPU));
        try {
            if (isCroft) {
                for (Companion shard : contents.companions()) {
                    add(new SaveOptions.Base(shard.path().orElseThrow(), opening), where, root, target);
                }
            } else {
                addForeign(file, contents, root, target);
            }
        } catch (FormatException e) {
            throw e.withFile(file.location());
        } finally {
            contents.release();
        }
    }

    private MappedFile open(Path path) throws IOException {
        MappedFile file = MappedFile.open(path, MapMode.READ_ONLY);
        files.add(file);
        return file;
    }

    private void addCroft(MappedFile file, Path root, @Nullable Path target) throws IOException {
        Path path = path(file, target);
        Snapshot snapshot = Snapshot.open(new FileSource(file), Limits.DEFAULT);
        References.open(file, OpenOptions.defaults().root(root));
        BaseRecord record = BaseRecord.croft(hint(path, root), depth(snapshot, path), snapshot.commit());
        add(new Base(file, record, new Known() {
            @Override
            public void addTo(ContentIndex candidates, int number) {
                candidates.addExtents(snapshot, ExtentRecord.THIS_FILE, numbers(snapshot, number));
            }

            @Override
            public void addTo(CodingPlan coding, int number) {
                coding.addReferences(snapshot, numbers(snapshot, number));
            }
        }));
    }

    /// Adds the files that have bytes of storages as they are in memory.
    ///
    /// @param index the file that was opened
    private void addForeign(MappedFile index, Contents contents, Path root, @Nullable Path target)
            throws IOException {
        Map<Integer, List<io.undercroft.serializer.Extent>> extents = contents.storages().stream()
                .flatMap(storage -> contents.extents(storage, index).stream())
                .collect(Collectors.groupingBy(io.undercroft.serializer.Extent::file, TreeMap::new,
                        Collectors.toList()));
        List<NamedExtent> named = isCodedAgainst ? named(index, contents) : List.of();
        for (var each : extents.entrySet()) {
            MappedFile file = each.getKey() == 0
                    ? index
                    : open(contents.companions().get(each.getKey() - 1).path().orElseThrow());
            BaseRecord record = BaseRecord.foreign(hint(path(file, target), root),
                    scan().digest(new FileSource(file), 0, file.size()), file.size());
            add(new Base(file, record, new Known() {
                @Override
                public void addTo(ContentIndex candidates, int number) throws IOException {
                    for (io.undercroft.serializer.Extent extent : each.getValue()) {
                        addChunks(file, new Place(number, extent.offset(), extent.length()), candidates);
                    }
                }

                @Override
                public void addTo(CodingPlan coding, int number) {
                    for (NamedExtent one : named) {
                        if (one.extent.file() == each.getKey()) {
                            coding.addReference(one.name, one.nbytes, one.dtype,
                                    new Place(number, one.extent.offset(), one.extent.length()), 1L << chunkLog2);
                        }
                    }
                }
            }));
        }
    }

    /// An extent of the storage of a tensor.
    private record NamedExtent(String name, long nbytes, DTypeRecord dtype, io.undercroft.serializer.Extent extent) {}

    /// Tensors that cannot be read are left out.
    private static List<NamedExtent> named(MappedFile index, Contents contents) {
        List<NamedExtent> all = new ArrayList<>();
        for (String name : contents.names()) {
            try {
                contents.tensor(name).ifPresent(tensor -> contents.extents(tensor.storage(), index)
                        .forEach(extent -> all.add(new NamedExtent(name, tensor.storage().nbytes(),
                                new DTypeRecord(tensor.dtype().name(), tensor.dtype().bits()), extent))));
            } catch (FormatException _) {
                // Reading it reports the error.
            }
        }
        return all;
    }

    private static Path path(MappedFile file, @Nullable Path target) throws IOException {
        Path path = file.path().toRealPath();
        if (target != null && Files.exists(target) && Files.isSameFile(path, target)) {
            throw new IllegalArgumentException(path + " cannot be its own base");
        }
        return path;
    }

    private void add(Base base) {
        if (!contains(base.record)) {
            bases.add(base);
        }
    }

    private boolean contains(BaseRecord record) {
        return bases.stream().anyMatch(base -> base.record.identity().equals(record.identity()));
    }

    /// Adds the bases of the snapshot before, so that unchanged bytes in them are referenced again. Those that are
    /// missing or named by the caller are left out.
    ///
    /// @param parent the snapshot before
    /// @param path its file
    /// @param options say where bases are
    public void keep(Snapshot parent, Path path, SaveOptions options) {
        Bases finder = new Bases(path, where(options));
        kept = finder;
        for (int number = 0; number < parent.baseCount(); number++) {
            BaseRecord record = parent.base(number);
            int there = number + 1;
            if (!contains(record)) {
                try {
                    bases.add(new Base(finder.file(record), record, new Known() {
                        @Override
                        public void addTo(ContentIndex candidates, int number) {
                            candidates.addExtents(parent, there, numbers(parent, Place.THIS_FILE));
                        }

                        @Override
                        public void addTo(CodingPlan coding, int number) {
                            // Added with the snapshot itself.
                        }
                    }));
                } catch (FormatException _) {
                    // Then the bytes in it are written to the file itself.
                }
            }
        }
    }

    /// {@return the numbers here of the files that a snapshot has numbers for, -1 for any other file}
    ///
    /// @param snapshot the snapshot
    /// @param own the number of its own file
    private IntUnaryOperator numbers(Snapshot snapshot, int own) {
        return there -> {
            if (there == ExtentRecord.THIS_FILE) {
                return own;
            }
            Object identity = snapshot.base(there - 1).identity();
            for (int number = 1; number <= bases.size(); number++) {
                if (bases.get(number - 1).record.identity().equals(identity)) {
                    return number;
                }
            }
            return -1;
        };
    }

    private static OpenOptions where(SaveOptions options) {
        return options.root().map(OpenOptions.defaults()::root).orElse(OpenOptions.defaults());
    }

    private static String hint(Path path, Path root) {
        return ConfinedPath.hint(root, path).orElseThrow(() -> new IllegalArgumentException("the base " + path
                + " is not below " + root + "; set a root above both, or move it there"));
    }

    private static int depth(Snapshot snapshot, Path path) {
        int depth = snapshot.depth();
        if (depth > Limits.DEFAULT.maxBaseDepth()) {
            throw new IllegalArgumentException("the base " + path + " needs other files, and these others, " + depth
                    + " deep, the limit is " + Limits.DEFAULT.maxBaseDepth() + "; copy it with its bases");
        }
        return depth;
    }

    /// {@return the records of the bases for an index, in the order of their numbers}
    public List<BaseRecord> records() {
        return bases.stream().map(Base::record).toList();
    }

    /// Adds the bytes that chunks are coded against: those of the bases that the caller names, then those of the
    /// snapshot before.
    ///
    /// @param coding receives them
    /// @param parent the snapshot before, or null
    /// @throws IOException if reading fails
    public void addTo(CodingPlan coding, @Nullable Snapshot parent) throws IOException {
        if (!isCodedAgainst) {
            return;
        }
        for (int number = 1; number <= bases.size(); number++) {
            bases.get(number - 1).contents.addTo(coding, number);
        }
        if (parent != null) {
            coding.addReferences(parent, numbers(parent, Place.THIS_FILE));
        }
    }

    /// Adds the bytes of the bases.
    ///
    /// @param candidates receives them
    /// @throws IOException if reading fails
    public void addTo(ContentIndex candidates) throws IOException {
        for (int number = 1; number <= bases.size(); number++) {
            Base base = bases.get(number - 1);
            if (base.record.kind() == BaseKind.FOREIGN) {
                candidates.addForeignFile(number, new FileSource(base.file));
            } else {
                candidates.addFile(number, new FileSource(base.file));
                candidates.recognise(number, mapped -> isSame(mapped, base.file));
            }
            base.contents.addTo(candidates, number);
        }
    }

    private static boolean isSame(MappedFile mapped, MappedFile base) throws IOException {
        return mapped == base || (mapped.isAt(base.path()) && base.isCurrent());
    }

    private void addChunks(MappedFile file, Place storage, ContentIndex candidates) throws IOException {
        List<Place> places = new ArrayList<>();
        for (long start = storage.offset(); start < storage.end(); start += 1L << chunkLog2) {
            Place place = new Place(storage.base(), start, Math.min(1L << chunkLog2, storage.end() - start));
            candidates.add(scan().digest(new FileSource(file), place.offset(), place.length()), place);
            places.add(place);
        }
        candidates.addStorage(places);
    }

    @Override
    public void close() {
        files.forEach(MappedFile::close);
        if (kept != null) {
            kept.close();
        }
    }
}
