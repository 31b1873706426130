package io.undercroft.serializer.internal.writing;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.IndexCopy;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
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
import io.undercroft.serializer.internal.extents.CodingPlan;
import io.undercroft.serializer.internal.extents.CodingPlan.Coded;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.spi.Sink;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.Allocation;
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
    /// @param compression how chunks are compressed that the newest of them does not have
    /// @param rule whether the file may be replaced
    /// @return the number of bytes by which the file is shorter
    /// @throws IOException if reading or writing fails; the file is as it was
    public long compact(Path path, Predicate<SnapshotInfo> keep, Compression compression, Target.Replacing rule)
            throws IOException {
        FileTarget target = FileTarget.of(path, disk);
        return target.write(() -> {
            try (Closeable _ = target.lock(false)) {
                long before = Files.size(path);
                compact(target, keep, compression, rule);
                reading(path, (_, newest) -> history.see(target.file(), newest.commit()));
                return before - Files.size(path);
            }
        });
    }

    private void compact(FileTarget target, Predicate<SnapshotInfo> keep, Compression compression,
            Target.Replacing rule) throws IOException {
        try {
            reading(target.path(), (file, newest) -> {
                Appender.checkAccess(new FileSource(file), newest);
                history.check(target.file(), newest.commit());
                copy(file, chosen(newest, keep), compression, BaseFiles.none(), compactedId(newest.commit()), target,
                        rule);
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
                    copy(file, List.of(CommitNumbers.find(newest, options, file.location())), Compression.NONE, bases,
                            null, target, rule);
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
        Set<Span> runs = new HashSet<>();
        for (Snapshot snapshot : snapshots) {
            for (int number = 0; number < snapshot.extentCount(); number++) {
                ExtentRecord extent = snapshot.extent(number);
                if (extent.kind() != ExtentKind.ZERO && extent.base() == ExtentRecord.THIS_FILE) {
                    runs.add(new Span(extent.fileOffset(), extent.fileOffset() + extent.storedLength()));
                }
                Coding coding = extent.coding();
                if (coding != null && coding.hasReferenceInThisFile()) {
                    runs.add(new Span(coding.referenceOffset(), coding.referenceOffset() + extent.length()));
                }
            }
        }
        return Span.sum(runs);
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

    private void copy(MappedFile file, List<Snapshot> snapshots, Compression compression, BaseFiles bases,
            @Nullable UUID uuid, FileTarget target, Target.Replacing rule) throws IOException {
        try (Begun out = target.begin(Creation.REPLACING, rule)) {
            // The number of bytes is not exact if a base is copied, or bytes are copied twice for their alignment.
            Progress progress = new Progress(listener, storedBytes(snapshots));
            Copy copy = new Copy(out, new FileSource(file), bases, uuid, snapshots.getFirst().header().chunkLog2(),
                    progress);
            Snapshot newest = snapshots.getLast();
            Set<Place> kept = compression == Compression.NONE ? Set.of() : Recoding.places(newest);
            for (Snapshot snapshot : snapshots) {
                copy.add(snapshot, compression == Compression.NONE || snapshot == newest
                        ? null
                        : new Recoding(snapshot, newest, kept, compression));
            }
            progress.finish();
            copy.pages.finish();
            out.commit(() -> {});
        }
    }

    /// What is compressed of a snapshot: chunks that the newest one does not have, against those that it has.
    private static final class Recoding {
        private final CodingPlan plan;
        private final Set<Place> kept;

        /// @param kept the chunks of the newest snapshot, which stay as they are
        Recoding(Snapshot snapshot, Snapshot newest, Set<Place> kept, Compression compression) {
            this.kept = kept;
            plan = new CodingPlan(compression);
            for (int name = 0; name < snapshot.nameCount(); name++) {
                TensorRecord tensor = snapshot.tensor(snapshot.tensorOfName(name));
                plan.add(tensor.storage(), snapshot.storage(tensor.storage()).nbytes(), snapshot.name(name),
                        snapshot.dtype(tensor.dtype()));
            }
            if (plan.needsReferences()) {
                plan.addReferences(newest, base -> base == ExtentRecord.THIS_FILE ? Place.THIS_FILE : -1);
            }
        }

        /// {@return the places of the bytes that a snapshot needs as they are}
        static Set<Place> places(Snapshot snapshot) {
            Set<Place> places = new HashSet<>();
            for (int number = 0; number < snapshot.extentCount(); number++) {
                ExtentRecord extent = snapshot.extent(number);
                if (isOwn(extent)) {
                    places.add(Place.of(extent, Place.THIS_FILE));
                }
                Coding coding = extent.coding();
                if (coding != null && coding.hasReferenceInThisFile()) {
                    places.add(new Place(Place.THIS_FILE, coding.referenceOffset(), extent.length()));
                }
            }
            return places;
        }

        private static boolean isOwn(ExtentRecord extent) {
            return extent.kind() == ExtentKind.RAW && extent.base() == ExtentRecord.THIS_FILE;
        }

        boolean applies(ExtentRecord extent) {
            return isOwn(extent) && !kept.contains(Place.of(extent, Place.THIS_FILE));
        }

        int width(int storage, ExtentRecord extent) {
            return plan.width(storage, extent.length());
        }

        @Nullable
        Place reference(int storage, long start, ExtentRecord extent) {
            return plan.reference(storage, start, extent.length());
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
        /// What is stored coded, of extents that were stored as they are.
        private final Map<Source, CodedCopy> codedCopies = new HashMap<>();
        private final MemorySegment piece = Arena.ofAuto().allocate(PIECE);
        private final ExtentDigester digester = new ExtentDigester();
        private long position;

        /// The former place of bytes.
        ///
        /// @param file the identity of a base, or something else for the file itself
        private record Source(Object file, long offset, long length) {}

        /// Coded bytes in the new file. The reference of the coding is at its place in the former one.
        private record CodedCopy(long place, Coding coding) {}

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
        /// @param recoding what is compressed of it; null if nothing is
        /// @throws FormatException if it is damaged
        /// @throws IOException if reading or writing fails
        void add(Snapshot snapshot, @Nullable Recoding recoding) throws IOException {
            position = pages.start();
            IndexCopy copy = IndexCopy.of(snapshot);
            if (recoding != null) {
                // Together, as each gap before them would be nearly as long as they are.
                forEachStorage(snapshot, number -> placeReferences(snapshot, number, recoding));
            }
            forEachStorage(snapshot, number -> place(snapshot, number, copy, recoding));
            pages.add(copy.build(pages.nextSequence()), position, snapshot.commit().timeMillis(),
                    snapshot.commit().message());
        }

        @FunctionalInterface
        private interface StorageWork {
            void on(int number) throws IOException;
        }

        private void forEachStorage(Snapshot snapshot, StorageWork work) throws IOException {
            for (long alignment : new long[]{FileLayout.SMALL_ALIGNMENT, FileLayout.MAPPING_ALIGNMENT}) {
                for (int number = 0; number < snapshot.storageCount(); number++) {
                    if (FileLayout.alignment(snapshot.storage(number).nbytes(), chunkLog2) == alignment) {
                        work.on(number);
                    }
                }
            }
        }

        /// Copies the chunks of the newest snapshot that those of a storage are coded against. It needs them anyway.
        private void placeReferences(Snapshot snapshot, int number, Recoding recoding) throws IOException {
            long start = 0;
            for (ExtentRecord record : snapshot.extents(number)) {
                Place reference = recoding.reference(number, start, record);
                if (reference != null && recoding.applies(record)) {
                    placeReference(snapshot, ExtentRecord.THIS_FILE, reference.offset(), record.length(),
                            snapshot.storage(number).nbytes());
                }
                start += record.length();
            }
        }

        private void place(Snapshot snapshot, int number, IndexCopy copy, @Nullable Recoding recoding)
                throws IOException {
            StorageRecord storage = snapshot.storage(number);
            long start = 0;
            for (int i = 0; i < storage.extentCount(); i++) {
                int extent = storage.firstExtent() + i;
                ExtentRecord record = snapshot.extent(extent);
                boolean isCoded = recoding != null && recoding.applies(record)
                        && code(snapshot, extent, storage.nbytes(), copy, recoding.width(number, record),
                                recoding.reference(number, start, record));
                if (!isCoded && record.kind() != ExtentKind.ZERO) {
                    place(snapshot, extent, storage.nbytes(), copy);
                }
                start += record.length();
            }
        }

        /// Stores an extent coded, and its reference, unless they are there already.
        ///
        /// @return whether that takes fewer bytes
        private boolean code(Snapshot snapshot, int extent, long nbytes, IndexCopy copy, int width,
                @Nullable Place reference) throws IOException {
            ExtentRecord record = snapshot.extent(extent);
            Source source = new Source("", record.fileOffset(), record.length());
            if (width == 0 || places.containsKey(source)) {
                return false;
            }
            CodedCopy known = codedCopies.get(source);
            if (known == null) {
                known = coded(record, width, reference);
                if (known == null) {
                    return false;
                }
                codedCopies.put(source, known);
            }
            Coding coding = known.coding;
            if (coding.hasReference()) {
                coding = coding.with(placeReference(snapshot, coding.referenceBase(),
                        coding.referenceOffset(), record.length(), nbytes));
            }
            copy.code(extent, known.place, coding);
            return true;
        }

        /// Codes an extent and writes the coded bytes.
        ///
        /// @return their place and their coding, whose reference is at its former place; null if they are not fewer
        private @Nullable CodedCopy coded(ExtentRecord record, int width, @Nullable Place reference)
                throws IOException {
            Allocation memory = AnonymousMemory.allocator().allocate(2 * record.length());
            try (Coder coder = Coder.open(); Coder second = Coder.open()) {
                MemorySegment bytes = memory.segment().asSlice(0, record.length());
                MemorySegment other = memory.segment().asSlice(record.length());
                file.read(record.fileOffset(), bytes);
                digester.update(bytes);
                if (!digester.finish().equals(record.sums())) {
                    throw damaged(record.fileOffset());
                }
                if (reference != null) {
                    file.read(reference.offset(), other);
                }
                Coded coded = Coded.shortest(coder, second, bytes, width, reference == null ? null : other);
                if (coded == null) {
                    return null;
                }
                long place = FileLayout.alignUp(position, FileLayout.SMALL_ALIGNMENT);
                sink.write(place, coded.bytes());
                progress.add(record.length());
                position = place + coded.bytes().byteSize();
                return new CodedCopy(place, coded.coding(0, reference == null ? 0 : reference.offset()));
            } finally {
                memory.free();
            }
        }

        /// Copies the bytes of an extent and its reference, unless they are there already or stay in their base.
        private void place(Snapshot snapshot, int extent, long nbytes, IndexCopy copy) throws IOException {
            ExtentRecord record = snapshot.extent(extent);
            Coding coding = record.coding();
            long alignment = FileLayout.alignment(nbytes, chunkLog2);
            long place = place(snapshot, record.base(),
                    new Run(record.fileOffset(), record.storedLength(),
                            coding == null ? record.sums().checksum() : coding.checksum(),
                            coding == null ? record.digest() : null),
                    coding == null ? alignment : FileLayout.SMALL_ALIGNMENT);
            if (place >= 0) {
                copy.place(extent, place);
            }
            if (coding != null && coding.hasReference()) {
                long reference = placeReference(snapshot, coding.referenceBase(),
                        coding.referenceOffset(), record.length(), nbytes);
                if (reference >= 0) {
                    copy.placeReference(extent, reference);
                }
            }
        }

        /// Copies the reference of an extent, unless it is there already. Extents of the same coded bytes have the same
        /// reference, however their storages are aligned. The bytes have no checksum of their own: they are those of an
        /// extent, or checked when they are used.
        ///
        /// @return as [#place(Snapshot, int, Run, long)]
        private long placeReference(Snapshot snapshot, int base, long offset, long length, long nbytes)
                throws IOException {
            List<Long> found = places.getOrDefault(new Source(identity(snapshot, base), offset, length), List.of());
            return found.isEmpty()
                    ? place(snapshot, base, new Run(offset, length, null, null),
                            FileLayout.alignment(nbytes, chunkLog2))
                    : found.getFirst();
        }

        private static Object identity(Snapshot snapshot, int number) {
            return number == ExtentRecord.THIS_FILE ? "" : snapshot.base(number - 1).identity();
        }

        /// Bytes to be copied.
        ///
        /// @param checksum their CRC32C, or null if it is not known
        /// @param digest their digest, or null if it is not known
        private record Run(long offset, long length, @Nullable Integer checksum, @Nullable Digest128 digest) {}

        /// Copies bytes unless they are there already.
        ///
        /// @return their place in the new file; -1 if they stay in their base
        private long place(Snapshot snapshot, int number, Run run, long alignment) throws IOException {
            ByteSource from = file;
            if (number != ExtentRecord.THIS_FILE) {
                Optional<ByteSource> opened = bases.open(snapshot.base(number - 1));
                if (opened.isEmpty()) {
                    return -1;
                }
                from = opened.get();
            }
            Source source = new Source(identity(snapshot, number), run.offset, run.length);
            List<Long> found = places.computeIfAbsent(source, _ -> new ArrayList<>(1));
            for (long place : found) {
                if (place % alignment == 0) {
                    return place;
                }
            }
            long place = FileLayout.alignUp(position, alignment);
            copyBytes(from, run, place);
            position = place + run.length;
            found.add(place);
            return place;
        }

        private void copyBytes(ByteSource from, Run run, long place) throws IOException {
            for (long done = 0; done < run.length; done += PIECE) {
                MemorySegment bytes = piece.asSlice(0, Math.min(PIECE, run.length - done));
                from.read(run.offset + done, bytes);
                digester.update(bytes);
                sink.write(place + done, bytes);
                progress.add(bytes.byteSize());
            }
            ExtentSums sums = digester.finish();
            boolean isIntact = (run.checksum == null || run.checksum == sums.checksum())
                    && (run.digest == null || run.digest.equals(sums.digest()));
            if (!isIntact) {
                throw damaged(run.offset);
            }
        }

        private static FormatException damaged(long offset) {
            return Rule.V14_CHECKSUM.broken("the bytes of an extent are damaged, and are not carried over", offset);
        }
    }
}
