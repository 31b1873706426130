package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.internal.planning.Staging;
import io.undercroft.serializer.internal.planning.TreeCopy;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.state.StateIndex;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Writes states as files of other formats.
///
/// The index of a set is written last, when the other files are durable. So it names complete files only; and as none
/// of the other files is replaced, an existing index stays valid until the new one replaces it.
public final class FormatWriter {
    private final Disk disk;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public FormatWriter(Disk disk) {
        this.disk = disk;
    }

    /// Writes a state; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @return the files that were written, and what of the state they do not keep
    /// @throws IOException if writing fails; nothing is left behind
    public SaveReport write(Path path, @Nullable Object state, CheckpointFormat format, SaveOptions options)
            throws IOException {
        ReadableState readable = ReadableState.of(state, StateClasses.of(), options);
        FormatPlan plan = FormatPlan.of(path, readable, format, options);
        Replacing rule = References.rule(options, readable.sources());
        Target target = Target.of(path);
        return target.write(() -> {
            try (Closeable _ = lock(target, plan.draft())) {
                return write(target, plan, rule, plan::checkSources, new SaveControl());
            }
        });
    }

    /// Takes a snapshot of a state, to be written by another thread; see
    /// [io.undercroft.serializer.Checkpoint#saveAsync].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @param staging the memory for copies of bytes
    /// @return the save, which holds the lock of the file until it has run
    /// @throws IOException if the file cannot be written to, or there is no memory; nothing is left behind
    public PreparedSave prepare(Path path, @Nullable Object state, CheckpointFormat format, SaveOptions options,
            Staging staging) throws IOException {
        ReadableState original = ReadableState.of(state, StateClasses.of(), options);
        Target target = Target.of(path);
        return PreparedSave.of(target, (resources, control) -> {
            target.requireDirectory();
            resources.add(target.lock());
            Replacing rule = References.rule(options, original.sources());
            // The state may be closed when the save runs.
            rule.check(target.file());
            Object copy = TreeCopy.of(original.tree(), original.names().storages(), staging, resources);
            FormatPlan.checkSources(original.names());
            FormatPlan plan = FormatPlan.of(path,
                    new ReadableState(copy, StateIndex.of(copy), original.leftOut()), format, options);
            control.expect(plan.nbytes());
            return () -> write(target, plan, rule, () -> {}, control);
        });
    }

    /// A set is always locked, since another writer might be replacing the same files.
    private static Closeable lock(Target target, Draft draft) throws IOException {
        if (draft.companions().isEmpty()) {
            return target.lockIfInUse();
        }
        target.requireDirectory();
        return target.lock();
    }

    private SaveReport write(Target target, FormatPlan plan, Replacing rule, FormatFiles.LastStep check,
            SaveControl control) throws IOException {
        Written written = writeFiles(target, plan, rule, check, control);
        return plan.report(written.files, written.files.stream().map(Path::toString).toList(), written.nbytes,
                written.former.deleted(), written.former.left());
    }

    /// The files that were written, the index first.
    private record Written(List<Path> files, long nbytes, FormerFiles former) {}

    private Written writeFiles(Target target, FormatPlan plan, Replacing rule, FormatFiles.LastStep check,
            SaveControl control) throws IOException {
        Draft draft = plan.draft();
        SaveOptions options = plan.options();
        SequencedMap<Path, Draft> companions = new LinkedHashMap<>();
        plan.companions().forEach((name, companion) -> companions.put(target.file().resolveSibling(name), companion));
        target.requireDirectory();
        if (!companions.isEmpty()) {
            requireFree(companions.keySet());
            // Otherwise an index that was just deleted could exist again after a power cut, next to files of another
            // set.
            disk.forceDirectory(target.directory());
        }
        target.requireSpace(Stream.concat(companions.values().stream(), Stream.of(draft))
                .mapToLong(Draft::leastBytes).reduce(0, Math::addExact), disk);
        WriteProgress progress = new WriteProgress(options.progress(), control, plan.nbytes());
        FormerFiles former = FormerFiles.of(target.file());
        // Before the other files of a set are written.
        rule.check(target.file());
        try (FormatFiles files = new FormatFiles(disk, progress, rule)) {
            for (Map.Entry<Path, Draft> companion : companions.entrySet()) {
                files.write(Target.of(companion.getKey()), companion.getValue());
            }
            files.writeLast(target, draft, check);
            return new Written(Stream.concat(Stream.of(target.path()), companions.keySet().stream()).toList(),
                    progress.done(), former.replaced(target.path(), options, disk));
        }
    }

    /// Refuses to replace files: they may belong to an existing set, or contain the state itself, and would be lost if
    /// writing failed.
    private static void requireFree(Set<Path> companions) throws FileAlreadyExistsException {
        for (Path companion : companions) {
            if (Files.exists(companion, LinkOption.NOFOLLOW_LINKS)) {
                throw new FileAlreadyExistsException(companion.toString(), null,
                        "the set would have a file " + companion.getFileName()
                                + ", and one is there; write to another directory, or delete it first");
            }
        }
    }
}
