package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.AscendingSink;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Sink;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.extents.ExtentHistory;
import io.undercroft.serializer.internal.extents.ExtentWriter.Destination;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.planning.ResourceStack;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.internal.planning.Staging;
import io.undercroft.serializer.internal.planning.StateCopy;
import io.undercroft.serializer.internal.planning.StatePlan;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Saves states as `.croft` files: as a new file that replaces what is there, or as the next snapshot of a file. Both
/// are prepared first, and then run by the thread that prepared them or, from a copy of the state, by another one.
///
/// A writer that commits to a file again remembers the extents that the file has, and reads only what is new.
public final class CroftWriter {
    private final Disk disk;
    private final ExtentHistory history = new ExtentHistory();
    private final LastSeen seen;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public CroftWriter(Disk disk) {
        this(disk, new LastSeen());
    }

    /// A writer that commits to one file.
    ///
    /// @param disk the file system to write to
    /// @param seen the snapshot that the next commit may follow
    public CroftWriter(Disk disk, LastSeen seen) {
        this.disk = disk;
        this.seen = seen;
    }

    /// Saves a state as a new file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the file that was written, and how many bytes it shares
    /// @throws IOException if writing fails; nothing is left behind
    public SaveReport save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        StatePlan plan = StatePlan.of(state, options);
        return prepare(Target.of(path), plan, options, null).run();
    }

    /// Takes a snapshot of a state, to be saved as a new file; see [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes
    /// @return the save, which holds the lock of the file until it has run
    /// @throws IOException if the file cannot be written to, or there is no memory; nothing is left behind
    public PreparedSave prepareSave(Path path, @Nullable Object state, SaveOptions options, Staging staging)
            throws IOException {
        return prepare(Target.of(path), StatePlan.of(state, options), options, staging);
    }

    /// Saves a state as the next snapshot of a file, or the first of a new one; see
    /// [io.undercroft.serializer.CheckpointFile#commit].
    ///
    /// @param path the file
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if reading or writing fails; the file still has the snapshots it had
    public DedupReport commit(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return prepareCommit(path, state, options, null).run().dedup().orElseThrow();
    }

    /// Takes a snapshot of a state, to be added to a file, or saved as the first of a new one; see
    /// [io.undercroft.serializer.CheckpointFile#commitAsync].
    ///
    /// @param path the file
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes; null to copy none, if the caller runs the save at once
    /// @return the save, which holds the lock of the file until it has run
    /// @throws IOException if the file cannot be written to, or there is no memory; the file is as it was
    public PreparedSave prepareCommit(Path path, @Nullable Object state, SaveOptions options,
            @Nullable Staging staging) throws IOException {
        Target target = Target.of(path);
        if (target.exists()) {
            // An existing file with snapshots is appended to, whatever its suffix.
            Formats.requireCroftOptions(path.toString(), options, "committed to");
        } else {
            Formats.requireCroft(path, options, "committed to");
        }
        StatePlan plan = StatePlan.of(state, options);
        return PreparedSave.of(target, (resources, control) -> {
            target.requireDirectory();
            resources.add(target.lock());
            return reported(target, plan, () -> FormerFiles.NONE, target.exists()
                    ? appending(target, plan, options, staging, resources, control)
                    : first(target, plan, options, staging, resources, control));
        });
    }

    private PreparedSave prepare(Target target, StatePlan plan, SaveOptions options, @Nullable Staging staging)
            throws IOException {
        return PreparedSave.of(target, (resources, control) -> {
            target.requireDirectory();
            resources.add(staging == null ? target.lockIfInUse() : target.lock());
            // A base may be one of them.
            FormerFiles former = options.bases().isEmpty()
                    ? FormerFiles.of(target.file())
                    : FormerFiles.NONE;
            return reported(target, plan, () -> former.replaced(target.path(), options, disk),
                    replacing(resources.add(create(target, plan, options)), target, plan, options, staging, resources,
                            control));
        });
    }

    private static Target.Work<SaveReport> reported(Target target, StatePlan plan, Supplier<FormerFiles> formerFiles,
            Target.Work<DedupReport> work) {
        return () -> {
            DedupReport bytes = work.run();
            FormerFiles former = formerFiles.get();
            return new SaveReport("croft", List.of(target.path()), List.of(target.path().toString()),
                    Files.size(target.file()), plan.tensorCount(), plan.nameCount(), plan.storages().size(),
                    plan.losses(bytes), former.deleted(), former.left(), Optional.of(bytes));
        };
    }

    private AtomicFile create(Target target, StatePlan plan, SaveOptions options) throws IOException {
        return AtomicFile.create(target, disk, References.rule(options, plan.sources()));
    }

    private Target.Work<DedupReport> replacing(AtomicFile file, Target target, StatePlan plan, SaveOptions options,
            @Nullable Staging staging, ResourceStack resources, SaveControl control) throws IOException {
        requireSpace(target, plan, options);
        StatePlan taken = taken(plan, options.chunkSize(), staging, resources, control);
        return () -> {
            try (NamedBases bases = NamedBases.open(options, target.file(), chunkLog2(options))) {
                DedupReport report = write(taken, options, bases, file, file.file());
                file.commit(control::commit);
                return report;
            }
        };
    }

    private Target.Work<DedupReport> appending(Target target, StatePlan plan, SaveOptions options,
            @Nullable Staging staging, ResourceStack resources, SaveControl control) throws IOException {
        requireSpace(target, plan, options);
        Appender appender = resources.add(Appender.open(target, disk, seen));
        StatePlan taken = taken(plan, appender.chunkSize(), staging, resources, control);
        return () -> appender.append(taken, options, history, seen, control::commit);
    }

    private Target.Work<DedupReport> first(Target target, StatePlan plan, SaveOptions options,
            @Nullable Staging staging, ResourceStack resources, SaveControl control) throws IOException {
        seen.checkAbsent(target.file());
        AtomicFile file = resources.add(create(target, plan, options));
        Target.Work<DedupReport> work = replacing(file, target, plan, options, staging, resources, control);
        return () -> {
            DedupReport report = work.run();
            seen.set(target.file(), Snapshot.open(file.file(), Limits.DEFAULT).commit());
            return report;
        };
    }

    private static StatePlan taken(StatePlan plan, long chunkSize, @Nullable Staging staging, ResourceStack resources,
            SaveControl control) throws IOException {
        return staging == null ? plan : StateCopy.of(plan, chunkSize, staging, control, resources);
    }

    /// Refuses a state that certainly does not fit on the disk; bytes that may be shared, or may be zeros, are not
    /// counted.
    private void requireSpace(Target target, StatePlan plan, SaveOptions options) throws IOException {
        if (options.savesZeros()) {
            target.requireSpace(plan.nbytes(), disk);
        }
    }

    /// Saves a state as a new file in shared memory; see [io.undercroft.serializer.Published#publish].
    ///
    /// @param draft the target, invisible to other processes until the caller publishes it
    /// @param name its future name, for messages
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if writing fails
    public static DedupReport draft(SharedMemoryDraft draft, String name, @Nullable Object state, SaveOptions options)
            throws IOException {
        Formats.requireCroftOptions(name, options, "published");
        StatePlan plan = StatePlan.of(state, options);
        DraftFile file = new DraftFile(draft);
        return Target.write(name, () -> write(plan, options, file, file));
    }

    /// Shared memory that is being filled, as a file. For use by one thread.
    private record DraftFile(SharedMemoryDraft draft) implements Sink, ByteSource {
        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            draft.write(offset, bytes);
        }

        @Override
        public Order order() {
            return Order.POSITIONED;
        }

        @Override
        public long size() {
            return draft.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            draft.read(offset, into);
        }
    }

    /// Writes a new file that is in no directory.
    private static DedupReport write(StatePlan plan, SaveOptions options, Sink sink, @Nullable ByteSource source)
            throws IOException {
        try (NamedBases bases = NamedBases.open(options, null, chunkLog2(options))) {
            return write(plan, options, bases, sink, source);
        }
    }

    private static DedupReport write(StatePlan plan, SaveOptions options, NamedBases bases, Sink sink,
            @Nullable ByteSource source) throws IOException {
        int chunkLog2 = chunkLog2(options);
        NewFile file = new NewFile(sink, chunkLog2, options.uuid().orElse(null));
        StateWriter.Draft draft = StateWriter.write(plan, options, bases,
                Destination.ofNewFile(sink, source, chunkLog2), List.of());
        file.add(draft.index(), draft.end(), timeMillis(options), options.message());
        file.finish();
        return draft.report();
    }

    /// Writes a state as a sealed file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param channel the target; stays open
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if reading or writing fails; what was written is no file then
    public static DedupReport stream(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        Formats.requireCroftOptions("the channel", options, "streamed");
        return write(StatePlan.of(state, options), options, AscendingSink.of(channel), null);
    }

    /// Saves a state to a store, as a sealed file; see
    /// [io.undercroft.serializer.Checkpoint#save(java.net.URI, Object, SaveOptions)].
    ///
    /// @param target the file to make or replace
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the file that was written, and how many bytes it shares
    /// @throws IOException if reading or writing fails; nothing is visible then
    public static SaveReport store(StoreTarget target, @Nullable Object state, SaveOptions options)
            throws IOException {
        return prepareStore(target, state, options, null).run();
    }

    /// Takes a snapshot of a state, to be saved to a store; see [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param target the file to make or replace
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes; null to copy none, if the caller runs the save at once
    /// @return the save, which has begun to write the file
    /// @throws IOException if the store refuses or does not respond, or there is no memory; nothing is visible then
    public static PreparedSave prepareStore(StoreTarget target, @Nullable Object state, SaveOptions options,
            @Nullable Staging staging) throws IOException {
        StatePlan plan = StatePlan.of(state, options);
        return PreparedSave.of(target, (resources, control) -> {
            References.checkSource(target.location(), options, plan.sources());
            StoreOutput output = resources.add(target.create(Creation.REPLACING));
            StatePlan taken = taken(plan, options.chunkSize(), staging, resources, control);
            return () -> {
                AscendingSink sink = new AscendingSink(output::write);
                DedupReport bytes = write(taken, options, sink, null);
                control.commit();
                output.commit();
                return new SaveReport("croft", List.of(), List.of(target.location()), sink.position(),
                        plan.tensorCount(), plan.nameCount(), plan.storages().size(), plan.losses(bytes), List.of(),
                        List.of(), Optional.of(bytes));
            };
        });
    }

    private static int chunkLog2(SaveOptions options) {
        return Long.numberOfTrailingZeros(options.chunkSize());
    }

    static long timeMillis(SaveOptions options) {
        return options.time().map(Instant::toEpochMilli).orElse(0L);
    }
}
