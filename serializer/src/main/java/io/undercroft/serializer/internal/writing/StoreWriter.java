package io.undercroft.serializer.internal.writing;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.AscendingSink;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.internal.planning.Staging;
import io.undercroft.serializer.internal.planning.TreeCopy;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.serializer.state.StateIndex;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Writes states to stores as files of other formats than `.croft`. The index of a set is written last, and none of the
/// other files replaces one, as [FormatWriter] does it on this host. For use by one thread.
public final class StoreWriter {
    private final StoreTarget target;
    private final FormatPlan plan;
    private final WriteProgress progress;
    private final StoreOutput last;
    private final List<StoreTarget> committed = new ArrayList<>();
    private boolean mayBeComplete;

    private StoreWriter(StoreTarget target, FormatPlan plan, StoreOutput last, SaveControl control) {
        this.target = target;
        this.plan = plan;
        this.last = last;
        this.progress = new WriteProgress(plan.options().progress(), control, plan.nbytes());
    }

    /// Writes a state; see [io.undercroft.serializer.Checkpoint#save(java.net.URI, Object, SaveOptions)].
    ///
    /// @param target the file to make or replace
    /// @param state the root of the tree
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @return the files that were written, and what of the state they do not keep
    /// @throws IOException if writing fails; nothing is visible then
    public static SaveReport write(StoreTarget target, @Nullable Object state, CheckpointFormat format,
            SaveOptions options) throws IOException {
        ReadableState readable = ReadableState.of(state, StateClasses.of(), options);
        FormatPlan plan = plan(target, readable, format, options);
        return PreparedSave.of(target, (resources, control) -> {
            References.checkSource(target.location(), options, readable.sources());
            StoreOutput last = resources.add(target.create(Creation.REPLACING));
            return () -> new StoreWriter(target, plan, last, control).write(plan::checkSources);
        }).run();
    }

    /// Takes a snapshot of a state, to be written by another thread; see
    /// [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param target the file to make or replace
    /// @param state the root of the tree
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes
    /// @return the save, which has begun to write the file
    /// @throws IOException if the store refuses or does not respond, or there is no memory; nothing is visible then
    public static PreparedSave prepare(StoreTarget target, @Nullable Object state, CheckpointFormat format,
            SaveOptions options, Staging staging) throws IOException {
        ReadableState original = ReadableState.of(state, StateClasses.of(), options);
        return PreparedSave.of(target, (resources, control) -> {
            References.checkSource(target.location(), options, original.sources());
            StoreOutput last = resources.add(target.create(Creation.REPLACING));
            Object copy = TreeCopy.of(original.tree(), original.names().storages(), staging, resources);
            FormatPlan.checkSources(original.names());
            FormatPlan plan = plan(target, new ReadableState(copy, StateIndex.of(copy), original.leftOut()), format,
                    options);
            control.expect(plan.nbytes());
            return () -> new StoreWriter(target, plan, last, control).write(() -> {});
        });
    }

    private static FormatPlan plan(StoreTarget target, ReadableState state, CheckpointFormat format,
            SaveOptions options) {
        return FormatPlan.of(target.location(), target.fileName(), state, format, options);
    }

    private SaveReport write(FormatFiles.LastStep check) throws IOException {
        Map<String, Draft> companions = plan.companions();
        List<StoreTarget> others = companions.keySet().stream().map(target::sibling).toList();
        for (StoreTarget other : others) {
            if (other.exists()) {
                throw new RemoteFileException(other.location(), Kind.CONFLICT, "the set would have such a file, and "
                        + "one is there; write to another directory, or delete it first", null);
            }
        }
        try {
            for (StoreTarget other : others) {
                writeCompanion(other, companions.get(other.fileName()));
            }
            writeLast(check);
        } catch (Throwable e) {
            deleteCommitted(e);
            throw e;
        }
        return plan.report(List.of(),
                Stream.concat(Stream.of(target), others.stream()).map(StoreTarget::location).toList(),
                progress.done(), List.of(), List.of());
    }

    private void writeCompanion(StoreTarget other, @Nullable Draft draft) throws IOException {
        if (draft == null) {
            throw new IllegalStateException(other.location() + " is not the file " + other.fileName() + " of the set");
        }
        try (StoreOutput output = other.create(Creation.IF_ABSENT)) {
            write(draft, output);
            output.commit();
            committed.add(other);
        }
    }

    private void writeLast(FormatFiles.LastStep check) throws IOException {
        write(plan.draft(), last);
        check.run();
        progress.finish();
        progress.commit();
        mayBeComplete = true;
        try {
            last.commit();
        } catch (RemoteFileException e) {
            mayBeComplete = e.kind() == Kind.UNAVAILABLE;
            throw e;
        }
    }

    private void write(Draft draft, StoreOutput output) throws IOException {
        try (BlockOutput blocks = new BlockOutput(new AscendingSink(output::write), progress, draft.nbytes())) {
            draft.writeTo(blocks);
            blocks.finish();
        }
    }

    /// Without an index the other files are useless. If the store did not respond when the index was committed, they
    /// may be part of a visible set.
    private void deleteCommitted(Throwable why) {
        if (mayBeComplete) {
            return;
        }
        for (StoreTarget other : committed) {
            try {
                other.delete();
            } catch (IOException e) {
                why.addSuppressed(e);
            }
        }
    }
}
