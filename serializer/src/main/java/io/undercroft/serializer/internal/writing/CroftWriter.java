package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.internal.disk.Sink;
import io.undercroft.serializer.internal.disk.WriterLock;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.WritableByteChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// Saves states as `.croft` files.
public final class CroftWriter {
    private final Disk disk;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public CroftWriter(Disk disk) {
        this.disk = disk;
    }

    /// Saves a state as a new file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return the file that was written, and how many bytes it shares
    /// @throws IOException if writing fails; nothing is left behind
    public SaveReport save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        StatePlan plan = StatePlan.of(state, options);
        return guarded(path, () -> replacing(path, () -> {
            DedupReport bytes = saveUnlocked(path, plan, options);
            return new SaveReport("croft", List.of(path), Files.size(path), plan.tensorCount(),
                    plan.storages().size(), List.of(), List.of(), List.of(), Optional.of(bytes));
        }));
    }

    /// Takes a snapshot of a state, which then is saved as a new file; see
    /// [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @param staging where bytes are copied to
    /// @return the snapshot, which holds the lock of the file until it is saved
    /// @throws IOException if the file cannot be written to, or there is no memory; nothing is left behind
    public TakenSnapshot take(Path path, @Nullable Object state, SaveOptions options, Staging staging)
            throws IOException {
        Formats.requireCroft(path, options.format().orElse(null), "saved in the background");
        var snapshotting = new Snapshotting(StatePlan.of(state, options), options, staging);
        return guarded(path, () -> TakenSnapshot.take(path, (held, control) -> {
            // Before its directory is asked for a lock: it says best what is wrong with that.
            AtomicFile file = held.add(AtomicFile.create(path, disk, rule(options)));
            held.add(WriterLock.of(AtomicFile.target(path)));
            requireSpace(path, snapshotting.plan, options);
            return snapshotting.saving(file, path, held, control);
        }));
    }

    /// Takes a snapshot of a state, which then is added to a file, or saved as the first of a new one; see
    /// [io.undercroft.serializer.CheckpointFile#commitAsync].
    ///
    /// @param path the file
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @param staging where bytes are copied to
    /// @return the snapshot, which holds the lock of the file until it is saved
    /// @throws IOException if the file cannot be written to, or there is no memory; the file is as it was
    public TakenSnapshot takeForCommit(Path path, @Nullable Object state, SaveOptions options, Staging staging)
            throws IOException {
        requireCroftIfNew(path, options);
        StatePlan plan = StatePlan.of(state, options);
        return guarded(path, () -> TakenSnapshot.take(path, (held, control) -> {
            Path target = AtomicFile.target(path);
            AtomicFile.checkDirectory(path, target);
            held.add(WriterLock.of(target));
            requireSpace(target, plan, options);
            var snapshotting = new Snapshotting(plan, options, staging);
            return Files.exists(target)
                    ? snapshotting.appending(Appender.open(target, disk), held, control)
                    : snapshotting.saving(held.add(AtomicFile.create(path, disk, rule(options))), path, held, control);
        }));
    }

    /// What a snapshot is made of: the state, and where its bytes are copied to.
    private record Snapshotting(StatePlan plan, SaveOptions options, Staging staging) {
        Work<DedupReport> saving(AtomicFile file, Path path, Held held, SaveControl control) throws IOException {
            StatePlan taken = StateSnapshot.of(plan, options.chunkSize(), staging, control, held);
            return () -> saveTo(file, path, taken, options, control::commit);
        }

        Work<DedupReport> appending(Appender appender, Held held, SaveControl control) throws IOException {
            held.add(appender);
            StatePlan taken = StateSnapshot.of(plan, appender.chunkSize(), staging, control, held);
            return () -> appender.append(taken, options, control::commit);
        }
    }

    @FunctionalInterface
    interface Work<T> {
        T run() throws IOException;
    }

    /// Says what an interruption and a fault in mapped memory mean; the exceptions of the system say nothing.
    static <T> T guarded(Path path, Work<T> work) throws IOException {
        return guarded(path.toString(), work);
    }

    private static <T> T guarded(String file, Work<T> work) throws IOException {
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException();
            }
            return work.run();
        } catch (ClosedByInterruptException e) {
            throw unchanged(file, "the thread that saves was interrupted", e);
        } catch (InternalError e) {
            throw unchanged(file, "a file was truncated while it was mapped", e);
        }
    }

    private static IOException unchanged(String file, String what, Throwable cause) {
        var failure = new FileSystemException(file, null, what + "; no file was made or changed");
        failure.initCause(cause);
        return failure;
    }

    /// Replaces a file under its lock, since somebody may be appending to it. A name that nobody has needs none.
    static <T> T replacing(Path path, Work<T> work) throws IOException {
        Path target = AtomicFile.target(path);
        if (!Files.isRegularFile(target) && !WriterLock.mayBeHeld(target)) {
            return work.run();
        }
        try (WriterLock _ = WriterLock.of(target)) {
            return work.run();
        }
    }

    private DedupReport saveUnlocked(Path path, StatePlan plan, SaveOptions options) throws IOException {
        try (AtomicFile file = AtomicFile.create(path, disk, rule(options))) {
            requireSpace(path, plan, options);
            return saveTo(file, path, plan, options, () -> {});
        }
    }

    /// Refuses what does not fit on the disk, as far as that is known: bytes that may be shared, or may be zeros, may
    /// take none of it.
    private void requireSpace(Path path, StatePlan plan, SaveOptions options) throws IOException {
        if (options.savesZeros()) {
            FreeSpace.require(plan.nbytes(), path, Objects.requireNonNull(AtomicFile.target(path).getParent()), disk);
        }
    }

    private static DedupReport saveTo(AtomicFile file, Path path, StatePlan plan, SaveOptions options,
            Runnable lastWord) throws IOException {
        try (NamedBases bases = NamedBases.open(options, AtomicFile.target(path), chunkLog2(options))) {
            DedupReport report = write(plan, options, bases, file, file.file());
            file.commit(lastWord);
            bases.remember(AtomicFile.target(path), options);
            return report;
        }
    }

    /// Saves a state as a new file in shared memory; see [io.undercroft.serializer.Published#publish].
    ///
    /// @param draft where it goes; nobody sees it until the caller gives it a name
    /// @param name the name that it is to get, for messages
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if writing fails
    public static DedupReport draft(SharedMemoryDraft draft, String name, @Nullable Object state, SaveOptions options)
            throws IOException {
        StatePlan plan = StatePlan.of(state, options);
        return guarded(name, () -> {
            try (NamedBases bases = NamedBases.open(options, null, chunkLog2(options))) {
                DraftFile file = new DraftFile(draft);
                return write(plan, options, bases, file, file);
            }
        });
    }

    /// Writes a new file, from its first extent to its header.
    private static DedupReport write(StatePlan plan, SaveOptions options, NamedBases bases, Sink sink,
            ByteSource source) throws IOException {
        int chunkLog2 = chunkLog2(options);
        StateWriter.Draft draft = StateWriter.write(plan, options, bases,
                Destination.ofNewFile(sink, source, chunkLog2));
        NewFile pages = new NewFile(sink, chunkLog2, options.uuid().orElse(null));
        pages.add(draft.index(), draft.end(), timeMillis(options), options.message());
        pages.finish();
        return draft.report();
    }

    /// Writes a state as a sealed file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param channel where the file goes; stays open
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if reading or writing fails; what was written is no file then
    public static DedupReport stream(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        StatePlan plan = StatePlan.of(state, options);
        int chunkLog2 = chunkLog2(options);
        try (NamedBases bases = NamedBases.open(options, null, chunkLog2)) {
            SealedFile file = new SealedFile(channel, options.uuid().orElseGet(UUID::randomUUID), chunkLog2);
            StateWriter.Draft draft = StateWriter.write(plan, options, bases,
                    Destination.ofNewFile(file, null, chunkLog2));
            file.finish(draft.index(), draft.end(), timeMillis(options), options.message());
            return draft.report();
        }
    }

    private static Replacing rule(SaveOptions options) {
        return References.rule(options.isReplacingReferenced());
    }

    private static int chunkLog2(SaveOptions options) {
        return Long.numberOfTrailingZeros(options.chunkSize());
    }

    static long timeMillis(SaveOptions options) {
        return options.time().map(Instant::toEpochMilli).orElse(0L);
    }

    /// A file that has such a name already goes on growing under it.
    private static void requireCroftIfNew(Path path, SaveOptions options) {
        if (!Files.exists(path)) {
            Formats.requireCroft(path, options.format().orElse(null), "committed to");
        }
    }

    private DedupReport appendLocked(Path target, StatePlan plan, SaveOptions options) throws IOException {
        try (Appender appender = Appender.open(target, disk)) {
            requireSpace(target, plan, options);
            return appender.append(plan, options);
        }
    }

    /// Saves a state as the next snapshot of a file, or the first of a new one; see
    /// [io.undercroft.serializer.CheckpointFile#commit].
    ///
    /// @param path the file
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if reading or writing fails; the file still has the snapshots it had
    public DedupReport commit(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        requireCroftIfNew(path, options);
        StatePlan plan = StatePlan.of(state, options);
        return guarded(path, () -> {
            Path target = AtomicFile.target(path);
            AtomicFile.checkDirectory(path, target);
            try (WriterLock _ = WriterLock.of(target)) {
                return Files.exists(target)
                        ? appendLocked(target, plan, options)
                        : saveUnlocked(path, plan, options);
            }
        });
    }
}
