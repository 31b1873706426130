package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.IndexCopy;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.StaleFileException;
import io.undercroft.serializer.internal.Bases;
import io.undercroft.serializer.internal.CommitNumbers;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.disk.Target.Begun;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.spi.Sink;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Copies existing snapshots to new files.
public final class FileCopier {
    /// More bytes than the index of most files has.
    private static final long INDEX_BYTES = 1 << 20;
    /// The number of bytes that are copied at once.
    private static final long PIECE = 1 << 17;

    private final Disk disk;
    private final ProgressListener listener;
    private final FileHistory history;

    /// A copier that reports no progress.
    ///
    /// @param disk the file system to write to
    public FileCopier(Disk disk) {
        this(disk, (_, _) -> {}, new FileHistory());
    }

    /// A copier.
    ///
    /// @param disk the file system to write to
    /// @param listener called with the number of bytes of storages that were copied
    /// @param history the newest snapshot that a file may have which is compacted; receives that of the new file
    public FileCopier(Disk disk, ProgressListener listener, FileHistory history) {
        this.history = history;
        this.disk = disk;
        this.listener = listener;
    }

    /// Replaces a file by one that has only some of its snapshots; see
    /// [io.undercroft.serializer.CroftFile#compact].
    ///
    /// @param path the file
    /// @param keep the snapshots to keep
    /// @param rule whether the file may be replaced
    /// @return the number of bytes by which the file is shorter
    /// @throws IOException if reading or writing fails; the file is as it was
    public long compact(Path path, Predicate<SnapshotInfo> keep, Target.Replacing rule) throws IOException {
        FileTarget target = FileTarget.of(path, disk);
        return target.write(() -> {
            try (Closeable _ = target.lock(false)) {
                long before = Files.size(path);
                compact(target, keep, rule);
                reading(path, (_, newest) -> history.see(target.file(), newest.commit()));
                return before - Files.size(path);
            }
        });
    }

    private void compact(FileTarget target, Predicate<SnapshotInfo> keep, Target.Replacing rule) throws IOException {
        try {
            reading(target.path(), (file, newest) -> {
                Appender.checkAccess(new FileSource(file), newest);
                history.check(target.file(), newest.commit());
                copy(file, chosen(newest, keep), BaseFiles.none(), compactedId(newest.commit()), target, rule);
            });
        } catch (ReferencedFileException | StaleFileException e) {
            throw e;
        } catch (FileSystemException e) {
            throw withRemedy(e, target, storedBytes(target.path(), keep));
        }
    }

    /// Compacting frees space, but needs some first: the message has the amount and a remedy.
    private FileSystemException withRemedy(FileSystemException e, FileTarget target, long staying) throws IOException {
        OptionalLong free = disk.usableSpace(target.directory());
        if (e.getReason() == null || free.isEmpty() || free.getAsLong() > staying + INDEX_BYTES) {
            return e;
        }
        return AtomicFile.withCause(new FileSystemException(target.path().toString(), null, e.getReason()
                + ". To compact it, the "
                + staying
                + " bytes that stay are written to a new file first, and its disk has " + free.getAsLong()
                + " free: delete other files there, or copy the snapshot to keep to a file on another disk, delete "
                + "this file, and copy that one back"), e);
    }

    /// Writes one snapshot as a new file with the same bases; see [io.undercroft.serializer.CroftFile#copy].
    ///
    /// @param path the file
    /// @param target the new file
    /// @param options the snapshot
    /// @param replacing whether a file in which others have bytes may be replaced
    /// @throws IOException if reading or writing fails; no file is made or changed
    public void export(Path path, Path target, OpenOptions options, boolean replacing) throws IOException {
        copy(path, target, options, BaseFiles.none(),
                replacing ? References.ruleForCopyOf(path, options) : References.rule(false, List.of()));
    }

    /// Writes one snapshot as a new file without bases; see [io.undercroft.serializer.CroftFile#copyWithBases].
    ///
    /// @param path the file
    /// @param target the new file
    /// @param options the snapshot, and where its bases are
    /// @param rule whether the target may be replaced
    /// @throws IOException if reading or writing fails; no file is made or changed
    public void flatten(Path path, Path target, OpenOptions options, Target.Replacing rule) throws IOException {
        try (Bases bases = new Bases(path, options)) {
            copy(path, target, options, base -> Optional.of(new FileSource(bases.file(base))), rule);
        }
    }

    private void copy(Path path, Path copy, OpenOptions options, BaseFiles bases, Target.Replacing rule)
            throws IOException {
        Formats.requireCroft(copy, SaveOptions.defaults(), "a copy of a snapshot");
        FileTarget target = FileTarget.of(copy, disk);
        target.write(() -> {
            try (Closeable _ = target.lock(false)) {
                reading(path, options, (file, newest) -> {
                    copy(file, List.of(CommitNumbers.find(newest, options)), bases, null, target, rule);
                });
                return copy;
            }
        });
    }

    /// {@return the number of bytes that some snapshots of a file take in it, each byte counted once, without their
    /// indexes}
    ///
    /// @param path the file
    /// @param keep the snapshots
    /// @throws IOException if reading fails
    public long storedBytes(Path path, Predicate<SnapshotInfo> keep) throws IOException {
        long[] nbytes = {0};
        reading(path, (_, newest) -> nbytes[0] = storedBytes(chosen(newest, keep)));
        return nbytes[0];
    }

    private static long storedBytes(List<Snapshot> snapshots) {
        Set<Place> places = new HashSet<>();
        for (Snapshot snapshot : snapshots) {
            for (int number = 0; number < snapshot.extentCount(); number++) {
                ExtentRecord extent = snapshot.extent(number);
                if (extent.kind() != ExtentKind.ZERO && extent.base() == ExtentRecord.THIS_FILE) {
                    places.add(Place.of(extent, Place.THIS_FILE));
                }
            }
        }
        return places.stream().mapToLong(Place::length).sum();
    }

    @FunctionalInterface
    private interface Reading {
        void of(MappedFile file, Snapshot newest) throws IOException;
    }

    /// Opens a file, and names it in exceptions.
    private static void reading(Path path, Reading reading) throws IOException {
        reading(path, OpenOptions.defaults(), reading);
    }

    private static void reading(Path path, OpenOptions options, Reading reading) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            References.open(file, options);
            reading.of(file, Snapshot.open(new FileSource(file), Limits.DEFAULT));
        } catch (FormatException e) {
            throw e.withFile(path.toString());
        }
    }

    /// Returns the snapshots to keep, the oldest first.
    private static List<Snapshot> chosen(Snapshot newest, Predicate<SnapshotInfo> keep) throws IOException {
        List<Snapshot> chosen = new ArrayList<>();
        for (Snapshot next = newest; next != null; next = next.previous().orElse(null)) {
            if (keep.test(CommitNumbers.info(next))) {
                chosen.addFirst(next);
            }
        }
        if (chosen.isEmpty()) {
            throw new IllegalArgumentException("no snapshot would be left; keep one, or delete the file");
        }
        return chosen;
    }

    /// Returns an id that the file has not had. An id derived from the first snapshot would often equal that of the
    /// file before, and files that have it as a base would read bytes at wrong offsets.
    private static @Nullable UUID compactedId(CommitRecord newest) {
        return newest.sequence() == 1 ? null : FileLayout.canonicalUuid(newest.rootDigest());
    }

    private void copy(MappedFile file, List<Snapshot> snapshots, BaseFiles bases, @Nullable UUID uuid,
            FileTarget target,
            Target.Replacing rule) throws IOException {
        try (Begun out = target.begin(Creation.REPLACING, rule)) {
            // The number of bytes is not exact if a base is copied, or bytes are copied twice for their alignment.
            Progress progress = new Progress(listener, storedBytes(snapshots));
            Copy copy = new Copy(out, new FileSource(file), bases, uuid, snapshots.getFirst().header().chunkLog2(),
                    progress);
            for (Snapshot snapshot : snapshots) {
                copy.add(snapshot);
            }
            progress.finish();
            copy.pages.finish();
            out.commit(() -> {});
        }
    }

    /// A new file to which snapshots are copied: their bytes, common bytes once, and their indexes. The checksums of
    /// copied bytes are compared.
    private static final class Copy {
        private final Sink sink;
        private final ByteSource file;
        private final BaseFiles bases;
        private final int chunkLog2;
        private final Progress progress;
        private final CroftLayout pages;
        /// One place for each, or two if the first is not aligned as a large storage requires.
        private final Map<Source, List<Long>> places = new HashMap<>();
        private final MemorySegment piece = Arena.ofAuto().allocate(PIECE);
        private final ExtentDigester digester = new ExtentDigester();
        private long position;

        /// The former place of bytes.
        ///
        /// @param file the identity of a base, or something else for the file itself
        private record Source(Object file, long offset, long length) {}

        /// A file without snapshots.
        ///
        /// @param sink the sink to write to
        /// @param file the file that the snapshots are in
        /// @param bases the files of the bases to copy; those that are not found remain bases
        /// @param uuid the id of the new file, or null if that is to be made of what its first snapshot holds
        /// @param chunkLog2 the logarithm of the chunk size of both files
        /// @param progress counts the bytes of storages that are copied
        Copy(Sink sink, ByteSource file, BaseFiles bases, @Nullable UUID uuid, int chunkLog2, Progress progress)
                throws IOException {
            this.sink = sink;
            this.file = file;
            this.bases = bases;
            this.chunkLog2 = chunkLog2;
            this.progress = progress;
            this.pages = new CroftLayout(sink, chunkLog2, uuid);
        }

        /// Adds a snapshot.
        ///
        /// @param snapshot a snapshot, newer than those added before
        /// @throws FormatException if it is damaged
        /// @throws IOException if reading or writing fails
        void add(Snapshot snapshot) throws IOException {
            position = pages.start();
            IndexCopy copy = IndexCopy.of(snapshot);
            for (long alignment : new long[]{FileLayout.SMALL_ALIGNMENT, FileLayout.MAPPING_ALIGNMENT}) {
                for (int number = 0; number < snapshot.storageCount(); number++) {
                    StorageRecord storage = snapshot.storage(number);
                    if (FileLayout.alignment(storage.nbytes(), chunkLog2) == alignment) {
                        place(snapshot, storage, copy);
                    }
                }
            }
            pages.add(copy.build(pages.nextSequence()), position, snapshot.commit().timeMillis(),
                    snapshot.commit().message());
        }

        private void place(Snapshot snapshot, StorageRecord storage, IndexCopy copy) throws IOException {
            for (int i = 0; i < storage.extentCount(); i++) {
                int extent = storage.firstExtent() + i;
                ExtentRecord record = snapshot.extent(extent);
                if (record.kind() != ExtentKind.ZERO) {
                    place(snapshot, extent, storage.nbytes(), copy);
                }
            }
        }

        /// Copies the bytes of an extent, unless they are there already or stay in their base.
        private void place(Snapshot snapshot, int extent, long nbytes, IndexCopy copy) throws IOException {
            ExtentRecord record = snapshot.extent(extent);
            Object identity = "";
            ByteSource from = file;
            if (record.base() != ExtentRecord.THIS_FILE) {
                BaseRecord base = snapshot.base(record.base() - 1);
                var opened = bases.open(base);
                if (opened.isEmpty()) {
                    return;
                }
                identity = base.identity();
                from = opened.get();
            }
            Source source = new Source(identity, record.fileOffset(), record.storedLength());
            List<Long> found = places.computeIfAbsent(source, _ -> new ArrayList<>(1));
            long alignment = FileLayout.alignment(nbytes, chunkLog2);
            Optional<Long> serving = found.stream().filter(place -> place % alignment == 0).findFirst();
            if (serving.isEmpty()) {
                long place = FileLayout.placeExtent(position, nbytes, chunkLog2);
                copyBytes(from, record, place);
                position = place + record.storedLength();
                found.add(place);
            }
            copy.place(extent, serving.orElse(found.getLast()));
        }

        private void copyBytes(ByteSource from, ExtentRecord record, long place) throws IOException {
            for (long done = 0; done < record.storedLength(); done += PIECE) {
                MemorySegment bytes = piece.asSlice(0, Math.min(PIECE, record.storedLength() - done));
                from.read(record.fileOffset() + done, bytes);
                digester.update(bytes);
                sink.write(place + done, bytes);
                progress.add(bytes.byteSize());
            }
            if (!digester.finish().equals(record.sums())) {
                throw Rule.V14_CHECKSUM.broken("the bytes of an extent are damaged, and are not carried over",
                        record.fileOffset());
            }
        }
    }
}
