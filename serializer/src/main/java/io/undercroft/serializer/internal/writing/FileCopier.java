package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveProgress;
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
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.extents.Extent.Place;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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

    private final Disk disk;
    private final SaveProgress listener;
    private final LastSeen seen;

    /// A copier that reports no progress.
    ///
    /// @param disk the file system to write to
    public FileCopier(Disk disk) {
        this(disk, (_, _) -> {}, new LastSeen());
    }

    /// A copier.
    ///
    /// @param disk the file system to write to
    /// @param listener called with the number of bytes of storages that were copied
    /// @param seen the newest snapshot that a file may have which is compacted; receives that of the new file
    public FileCopier(Disk disk, SaveProgress listener, LastSeen seen) {
        this.seen = seen;
        this.disk = disk;
        this.listener = listener;
    }

    /// Replaces a file by one that has only some of its snapshots; see
    /// [io.undercroft.serializer.CheckpointFile#compact].
    ///
    /// @param path the file
    /// @param keep the snapshots to keep
    /// @param rule whether the file may be replaced
    /// @return the number of bytes by which the file is shorter
    /// @throws IOException if reading or writing fails; the file is as it was
    public long compact(Path path, Predicate<SnapshotInfo> keep, Replacing rule) throws IOException {
        Target target = Target.of(path);
        return target.write(() -> {
            try (Closeable _ = target.lockIfInUse()) {
                long before = Files.size(path);
                compact(target, keep, rule);
                reading(path, (_, newest) -> seen.set(target.file(), newest.commit()));
                return before - Files.size(path);
            }
        });
    }

    private void compact(Target target, Predicate<SnapshotInfo> keep, Replacing rule) throws IOException {
        try {
            reading(target.path(), (file, newest) -> {
                WriteAccess.check(new FileSource(file), newest);
                seen.check(target.file(), newest.commit());
                copy(file, chosen(newest, keep), BaseFiles.none(), compactedId(newest.commit()), target, rule);
            });
        } catch (ReferencedFileException | StaleFileException e) {
            throw e;
        } catch (FileSystemException e) {
            throw withRemedy(e, target, storedBytes(target.path(), keep));
        }
    }

    /// Compacting frees space, but needs some first: the message has the amount and a remedy.
    private FileSystemException withRemedy(FileSystemException e, Target target, long staying) throws IOException {
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

    /// Writes one snapshot as a new file with the same bases; see [io.undercroft.serializer.CheckpointFile#copy].
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

    /// Writes one snapshot as a new file without bases; see [io.undercroft.serializer.CheckpointFile#copyWithBases].
    ///
    /// @param path the file
    /// @param target the new file
    /// @param options the snapshot, and where its bases are
    /// @param rule whether the target may be replaced
    /// @throws IOException if reading or writing fails; no file is made or changed
    public void flatten(Path path, Path target, OpenOptions options, Replacing rule) throws IOException {
        try (Bases bases = new Bases(path, options)) {
            copy(path, target, options, base -> Optional.of(new FileSource(bases.file(base))), rule);
        }
    }

    private void copy(Path path, Path copy, OpenOptions options, BaseFiles bases, Replacing rule)
            throws IOException {
        Formats.requireCroft(copy, SaveOptions.defaults(), "a copy of a snapshot");
        Target target = Target.of(copy);
        target.write(() -> {
            try (Closeable _ = target.lockIfInUse()) {
                reading(path, options, (file, newest) -> {
                    Snapshot wanted = options.snapshot().isPresent()
                            ? CommitNumbers.find(newest, options.snapshot().getAsLong())
                            : newest;
                    copy(file, List.of(wanted), bases, null, target, rule);
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
        Set<Place> places = new HashSet<>();
        reading(path, (_, newest) -> {
            chosen(newest, keep).forEach(snapshot -> addPlaces(snapshot, places));
        });
        return places.stream().mapToLong(Place::length).sum();
    }

    private static void addPlaces(Snapshot snapshot, Set<Place> places) {
        for (int number = 0; number < snapshot.extentCount(); number++) {
            ExtentRecord extent = snapshot.extent(number);
            if (isOwn(extent)) {
                places.add(new Place(Place.THIS_FILE, extent.fileOffset(), extent.storedLength()));
            }
        }
    }

    private static boolean isOwn(ExtentRecord extent) {
        return extent.kind() != ExtentKind.ZERO && extent.base() == ExtentRecord.THIS_FILE;
    }

    /// Estimates the number of bytes that are copied. It is not exact if snapshots or storages share bytes, or if bases
    /// are copied.
    private static long copiedBytes(List<Snapshot> snapshots) {
        long nbytes = 0;
        Set<Long> offsets = new HashSet<>();
        for (Snapshot snapshot : snapshots) {
            for (int number = 0; number < snapshot.extentCount(); number++) {
                ExtentRecord extent = snapshot.extent(number);
                nbytes += isOwn(extent) && offsets.add(extent.fileOffset()) ? extent.storedLength() : 0;
            }
        }
        return nbytes;
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

    private void copy(MappedFile file, List<Snapshot> snapshots, BaseFiles bases, @Nullable UUID uuid, Target target,
            Replacing rule) throws IOException {
        int chunkLog2 = snapshots.getFirst().header().chunkLog2();
        try (AtomicFile out = AtomicFile.create(target, disk, rule)) {
            NewFile pages = new NewFile(out, chunkLog2, uuid);
            Progress progress = new Progress(listener, copiedBytes(snapshots));
            try (SnapshotCopier copier = new SnapshotCopier(out, pages, new FileSource(file), bases, chunkLog2,
                    progress)) {
                for (Snapshot snapshot : snapshots) {
                    copier.add(snapshot);
                }
            }
            progress.finish();
            pages.finish();
            out.commit();
        }
    }
}
