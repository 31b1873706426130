package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.disk.Target.Begun;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.internal.disk.Target.Visibility;
import io.undercroft.serializer.internal.disk.Target.Work;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.internal.planning.ResourceStack;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.internal.planning.Staging;
import io.undercroft.serializer.internal.planning.StatePlan;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Sink;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// A save of a state that is ready to run: what is saved is planned, the file is locked and may be replaced, there is
/// space for it, and a snapshot of the bytes was taken unless the thread that prepared it runs it at once. Another
/// thread may run it. So all saves are one path, whatever the format, and whether to a file of this host or to a store.
///
/// # Sets
///
/// A format may write several files. The index is written last, when the other files are durable. So it names complete
/// files only; and as none of the other files replaces one, an existing index stays valid until the new one replaces
/// it. If the save fails, they are deleted, unless the index may be visible.
///
/// # What may be damaged
///
/// The sources of a state are compared with their checksums: by a `.croft` file on the way, as the bytes pass by; by
/// other formats when everything is written and nothing is visible, as the bytes are then in the cache of the system,
/// or before they are written if they are those of a snapshot.
public final class Save implements Closeable {
    /// The number of bytes that are written to a channel at once, as the JDK copies them.
    private static final long PIECE = 1 << 16;

    private final Target target;
    private final SaveOptions options;
    private final @Nullable Staging staging;
    private final ResourceStack resources = new ResourceStack();
    private final SaveControl control = new SaveControl();
    private final Operation operation;
    private final Work<SaveReport> work;

    /// Takes what a save needs.
    @FunctionalInterface
    private interface Preparation {
        Work<SaveReport> of(Save save) throws IOException;
    }

    private Save(Operation operation, Target target, SaveOptions options, @Nullable Staging staging,
            Preparation preparation) throws IOException {
        this.operation = operation;
        this.target = target;
        this.options = options;
        this.staging = staging;
        try {
            this.work = preparation.of(this);
        } catch (Throwable e) {
            resources.closeAfter(e);
            throw e;
        }
    }

    /// Prepares a save that makes or replaces a file; see [io.undercroft.serializer.Checkpoint#save] and
    /// [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param target the file to make or replace
    /// @param format a format for writing
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes; null to copy none, if the caller runs the save at once
    /// @return the save, which holds the lock of the file until it has run
    /// @throws IOException if the file cannot be written to, or there is no memory; nothing is left behind
    public static Save prepare(Target target, CheckpointFormat format, @Nullable Object state, SaveOptions options,
            @Nullable Staging staging) throws IOException {
        Target place = options.isForced() ? target : target.unforced();
        if (Formats.isCroft(format)) {
            StatePlan plan = plan(state, options);
            return prepare(Operation.SAVE, place, options, staging, save -> save.replacing(plan));
        }
        ReadableState readable = Target.reading(() -> ReadableState.of(state, StateClasses.of(), options));
        return prepare(Operation.SAVE, place, options, staging, save -> save.drafted(readable, format));
    }

    /// Prepares a save that adds a snapshot to a file, or makes a file of one; see
    /// [io.undercroft.serializer.CroftFile#commit] and [io.undercroft.serializer.CroftFile#commitAsync].
    ///
    /// @param target the file
    /// @param history what the writer knows of the file; receives the snapshot
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes; null to copy none, if the caller runs the save at once
    /// @return the save, which holds the lock of the file until it has run
    /// @throws IOException if the file cannot be written to, or there is no memory; the file is as it was
    public static Save prepareCommit(FileTarget target, FileHistory history, @Nullable Object state,
            SaveOptions options, @Nullable Staging staging) throws IOException {
        if (target.exists()) {
            // An existing file with snapshots is appended to, whatever its suffix.
            Formats.requireCroftOptions(target.location(), options, "committed to");
        } else {
            Formats.requireCroft(target.path(), options, "committed to");
        }
        StatePlan plan = plan(state, options);
        return prepare(Operation.COMMIT, target, options, staging, save -> save.committing(target, plan, history));
    }

    private static StatePlan plan(@Nullable Object state, SaveOptions options) throws IOException {
        return Target.reading(() -> StatePlan.of(state, options));
    }

    private static Save prepare(Operation operation, Target target, SaveOptions options, @Nullable Staging staging,
            Preparation preparation) throws IOException {
        return target.write(() -> new Save(operation, target, options, staging, preparation));
    }

    /// Writes a state as a new `.croft` file in shared memory; see
    /// [io.undercroft.serializer.PublishedCheckpoint#publish].
    ///
    /// @param draft the target, invisible to other processes until the caller publishes it
    /// @param name its future name, for messages
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if writing fails
    public static DedupReport toMemory(SharedMemoryDraft draft, String name, @Nullable Object state,
            SaveOptions options) throws IOException {
        Formats.requireCroftOptions(name, options, "published");
        StatePlan plan = plan(state, options);
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

    /// Writes a state as a sealed `.croft` file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param channel the target; stays open
    /// @param state the root of the tree
    /// @param options the other options of the save
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if reading or writing fails; what was written is no file then
    public static DedupReport toChannel(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        Formats.requireCroftOptions("the channel", options, "streamed");
        StatePlan plan = plan(state, options);
        return Target.reading(() -> write(plan, options, (_, bytes) -> {
            for (long done = 0; done < bytes.byteSize(); done += PIECE) {
                ByteBuffer piece = bytes.asSlice(done, Math.min(PIECE, bytes.byteSize() - done)).asByteBuffer();
                while (piece.hasRemaining()) {
                    channel.write(piece);
                }
            }
        }, null));
    }

    /// Writes a new file that is in no directory.
    private static DedupReport write(StatePlan plan, SaveOptions options, Sink sink, @Nullable ByteSource source)
            throws IOException {
        try (NamedBases bases = NamedBases.open(options, null, CroftLayout.chunkLog2(options))) {
            return CroftLayout.writeNew(plan, options, bases, sink, source);
        }
    }

    /// {@return the file, as the caller named it, or nothing if it is in a store}
    public Optional<Path> path() {
        return Optional.ofNullable(target.path());
    }

    /// {@return the name of the file, for messages}
    public String location() {
        return target.location();
    }

    /// {@return the control of the save}
    public SaveControl control() {
        return control;
    }

    /// Saves. Afterwards this is closed, however that ends.
    ///
    /// @return the report of the save
    /// @throws IOException if writing fails; the file is as it was
    /// @throws java.util.concurrent.CancellationException if it was cancelled in time
    public SaveReport run() throws IOException {
        Timing timing = operation.begin();
        try (resources) {
            SaveReport report = target.write(work);
            timing.end(location(),
                    operation == Operation.COMMIT ? report.dedup().orElseThrow().written() : report.nbytes());
            return report;
        }
    }

    /// Releases everything. The second and later calls do nothing.
    @Override
    public void close() throws IOException {
        resources.close();
    }

    // ---- .croft files ----

    private Work<SaveReport> replacing(StatePlan plan) throws IOException {
        resources.add(target.lock(staging != null));
        // A base may be one of them.
        FormerFiles former = options.bases().isEmpty() ? FormerFiles.of(target) : FormerFiles.NONE;
        Begun file = begin(References.rule(options, plan.sources()));
        Work<DedupReport> work = first(plan, file);
        return () -> {
            DedupReport bytes = work.run();
            return report(plan, bytes, file.size(), former.replaced(target, options));
        };
    }

    private Work<SaveReport> committing(FileTarget file, StatePlan plan, FileHistory history) throws IOException {
        resources.add(file.lock(true));
        if (!file.exists()) {
            history.checkAbsent(file.file());
            Begun begun = begin(References.rule(options, plan.sources()));
            Work<DedupReport> work = first(plan, begun);
            return () -> {
                DedupReport bytes = work.run();
                ByteSource source = Objects.requireNonNull(begun.source());
                history.see(file.file(), Snapshot.open(source, Limits.DEFAULT).commit());
                return report(plan, bytes, begun.size(), FormerFiles.NONE);
            };
        }
        requireSpace(plan);
        Appender appender = resources.add(Appender.open(file, history));
        StatePlan taken = taken(plan, appender.chunkSize());
        return () -> {
            DedupReport bytes = appender.append(taken, options, history, control::commit);
            return report(plan, bytes, Files.size(file.file()), FormerFiles.NONE);
        };
    }

    private Work<DedupReport> first(StatePlan plan, Begun file) throws IOException {
        // Now, so that the caller of a background save learns of a wrong one.
        NamedBases bases = resources
                .add(NamedBases.open(options, target.file(), CroftLayout.chunkLog2(options)));
        requireSpace(plan);
        StatePlan taken = taken(plan, options.chunkSize());
        return () -> {
            DedupReport bytes = CroftLayout.writeNew(taken, options, bases, file, file.source());
            file.commit(control::commit);
            return bytes;
        };
    }

    /// Refuses a state that certainly does not fit on the disk; bytes that may be shared, or may be zeros, are not
    /// counted.
    private void requireSpace(StatePlan plan) throws IOException {
        if (options.savesZeros()) {
            target.requireSpace(plan.nbytes());
        }
    }

    private StatePlan taken(StatePlan plan, long chunkSize) throws IOException {
        return staging == null ? plan : plan.staged(chunkSize, staging, control, resources);
    }

    private SaveReport report(StatePlan plan, DedupReport bytes, long nbytes, FormerFiles former) {
        return new SaveReport("croft", path().stream().toList(), List.of(location()), nbytes, plan.tensorCount(),
                plan.nameCount(), plan.storages().size(), plan.losses(bytes), former.deleted(), former.left(),
                Optional.of(bytes));
    }

    // ---- other formats ----

    private Work<SaveReport> drafted(ReadableState original, CheckpointFormat format) throws IOException {
        // A set is always locked, since another writer might be replacing the same files.
        resources.add(target.lock(staging != null || format.capabilities().contains(Capability.SEVERAL_FILES)));
        Replacing rule = References.rule(options, original.sources());
        // The state may be closed when the save runs.
        rule.check(target);
        ReadableState state = original;
        if (staging != null) {
            state = original.staged(staging, resources);
            FormatPlan.checkSources(original.names());
        }
        FormatPlan plan = FormatPlan.of(target, state, format, options);
        SequencedMap<Target, Draft> companions = plan.companions(target);
        target.requireSpace(plan.leastBytes());
        control.expect(plan.nbytes());
        // A store compares what is there at the end with what is there now.
        Begun begun = target.file() == null ? begin(rule) : null;
        return () -> write(plan, companions, begun, rule);
    }

    private Begun begin(Replacing rule) throws IOException {
        return resources.add(target.begin(Creation.REPLACING, rule));
    }

    private SaveReport write(FormatPlan plan, SequencedMap<Target, Draft> companions, @Nullable Begun begun,
            Replacing rule) throws IOException {
        if (!companions.isEmpty()) {
            for (Target companion : companions.keySet()) {
                companion.requireAbsent();
            }
            target.forceDirectory();
        }
        FormerFiles former = FormerFiles.of(target);
        Progress progress = new Progress(options.progress(), plan.nbytes());
        List<Target> visible = new ArrayList<>();
        Begun index = begun;
        long nbytes = 0;
        try {
            for (Map.Entry<Target, Draft> companion : companions.entrySet()) {
                try (Begun file = companion.getKey().begin(Creation.IF_ABSENT, rule)) {
                    try {
                        write(companion.getValue(), file, progress);
                        file.commit(() -> {});
                    } finally {
                        if (file.visibility() == Visibility.VISIBLE) {
                            visible.add(companion.getKey());
                        }
                    }
                    nbytes += file.size();
                }
            }
            index = index == null ? begin(rule) : index;
            write(plan.draft(), index, progress);
            if (staging == null) {
                FormatPlan.checkSources(plan.index());
            }
            progress.finish();
            index.commit(control::commit);
        } catch (Throwable e) {
            if (index == null || index.visibility() == Visibility.HIDDEN) {
                delete(visible, e);
            }
            throw e;
        }
        List<Target> files = new ArrayList<>(companions.sequencedKeySet());
        files.addFirst(target);
        return report(plan, files, nbytes + index.size(), former.replaced(target, options));
    }

    private static SaveReport report(FormatPlan plan, List<Target> files, long nbytes, FormerFiles former) {
        List<Path> paths = files.stream().flatMap(file -> Optional.ofNullable(file.path()).stream()).toList();
        return new SaveReport(plan.format().name(), paths, files.stream().map(Target::location).toList(), nbytes,
                Losses.tensors(plan.index()).size(),
                Losses.names(plan.draft(), plan.format(), plan.index()).size(), plan.index().storages().size(),
                plan.losses(), former.deleted(), former.left(), Optional.empty());
    }

    private void write(Draft draft, Sink sink, Progress progress) throws IOException {
        Sink counted = (position, bytes) -> {
            sink.write(position, bytes);
            control.read(bytes.byteSize());
            progress.add(bytes.byteSize());
        };
        try (Output output = new Output(counted, draft.nbytes())) {
            draft.writeTo(output);
            output.flush();
        }
    }

    private static void delete(List<Target> files, Throwable why) {
        for (Target file : files) {
            try {
                file.delete();
            } catch (IOException e) {
                why.addSuppressed(e);
            }
        }
    }

    /// The files of a set whose index a save replaces: those that the former index names and that are next to it. The
    /// save replaces none of them, and the new file needs none of them.
    ///
    /// @param deleted the files that were deleted
    /// @param left the others
    private record FormerFiles(List<Path> deleted, List<Path> left) {
        static final FormerFiles NONE = new FormerFiles(List.of(), List.of());

        /// Reads their names.
        ///
        /// @param target the file that will be replaced; it need not be there, or be an index
        static FormerFiles of(Target target) {
            Path index = target.file();
            return index == null
                    ? NONE
                    : new FormerFiles(List.of(), Formats.companionNames(index).stream()
                            .filter(Draft::isPlainName).map(index::resolveSibling).filter(each -> !each.equals(index))
                            .filter(each -> Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)).toList());
        }

        /// Deletes them if the options say so, now that the new file is durable.
        ///
        /// @param target the new file
        /// @param options the options of the save
        /// @return what became of them
        FormerFiles replaced(Target target, SaveOptions options) {
            if (!options.isDeletingFormerFiles() || !(target instanceof FileTarget index)) {
                return this;
            }
            List<Path> gone = new ArrayList<>();
            List<Path> kept = new ArrayList<>();
            for (Path file : left) {
                (isDeleted(file, index) ? gone : kept).add(file);
            }
            return new FormerFiles(gone, kept);
        }

        private static boolean isDeleted(Path file, FileTarget index) {
            try {
                if (References.openReferrer(file, index.path()).isPresent()) {
                    return false;
                }
                index.disk().delete(file);
                return true;
            } catch (IOException _) {
                return false;
            }
        }
    }
}
