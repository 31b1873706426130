package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.writing.FileCopier;
import io.undercroft.serializer.internal.writing.Save;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// A `.croft` file to which a run commits its state repeatedly, and from which it resumes.
///
/// ```java
/// try (CroftFile file = CroftFile.open(Path.of("run.croft"))) {
///     Map<String, Object> state = file.newest().map(Checkpoint::stateMap).orElseGet(this::freshState);
///     while (train(state)) {
///         file.commit(state, "step " + state.get("step"));
///         file.retain(Retention.last(3).andEvery(10));
///     }
/// }
/// ```
///
/// A commit writes what no snapshot of the file has yet, and is durable when it returns. After a run was killed,
/// [#newest] is its last complete commit: an incomplete one is skipped, and the next commit overwrites it.
///
/// **Lifetime.** The checkpoints that it returns are closed with this object, if they were not closed before. Each open
/// one keeps its mapping, and the bytes of its file on the disk, also after the file was compacted. So callers that get
/// [#newest] after every commit should close the former one.
///
/// **Threads and processes.** All methods may be called from several threads at once. Each commit holds the writer lock
/// until it ends; a second writer in any process throws [LockedException] meanwhile. Readers never wait, and continue
/// to see the snapshot that they opened.
///
/// A commit follows the snapshot that this object has returned as [#newest] or has committed last. If the file has
/// another newest snapshot, or was compacted, replaced or deleted by another writer, committing and compacting throw
/// [StaleFileException]; after another call of [#newest] they succeed. An object that has neither committed nor
/// returned a snapshot continues from whatever the file has.
public final class CroftFile implements AutoCloseable {
    private final Path path;
    private final SaveOptions saving;
    private final OpenOptions opening;
    private final Map<SnapshotInfo, Checkpoint> opened = new HashMap<>();
    private final Disk disk;
    private final FileHistory history = new FileHistory();
    private final StagingMemory memory = new StagingMemory();
    private volatile boolean closed;

    private CroftFile(Disk disk, Path path, SaveOptions saving, OpenOptions opening) {
        this.disk = disk;
        this.path = path;
        this.saving = saving;
        this.opening = opening;
    }

    /// Opens a file for commits. If it does not exist, the first commit creates it.
    ///
    /// @param path the file
    /// @return the file
    public static CroftFile open(Path path) {
        return open(path, SaveOptions.defaults(), OpenOptions.defaults());
    }

    /// Opens a file for commits. If it does not exist, the first commit creates it.
    ///
    /// @param path the file
    /// @param saving how states are saved
    /// @param opening how snapshots are opened; a snapshot that it names is ignored
    /// @return the file
    public static CroftFile open(Path path, SaveOptions saving, OpenOptions opening) {
        return open(Disk.system(), path, saving, opening);
    }

    static CroftFile open(Disk disk, Path path, SaveOptions saving, OpenOptions opening) {
        CroftFile file = new CroftFile(disk, Objects.requireNonNull(path, "path"),
                Objects.requireNonNull(saving, "saving"), Objects.requireNonNull(opening, "opening"));
        References.open(file, path, opening);
        return file;
    }

    /// {@return the file}
    public Path path() {
        return path;
    }

    /// Saves a state as the next snapshot, with the current time.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param message a text about it for the list of snapshots
    /// @return a report of the bytes written and shared
    /// @throws LockedException if another writer has locked the file
    /// @throws StaleFileException if another writer has changed the file
    /// @throws IOException if writing fails, or bytes of the state are in a file that cannot be read; the file keeps
    ///     the snapshots that it had
    /// @throws FormatException if the file exists, and is damaged, sealed or of no known format, or if bytes of the
    ///     state are in a damaged file
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    ///     Also if there is no file yet, and the name or the options choose a format other than `croft`
    /// @throws IllegalStateException if this is closed
    public DedupReport commit(@Nullable Object state, String message) throws IOException {
        return commit(state, withMessage(message));
    }

    /// Saves a state as the next snapshot. Chunks that a snapshot of the file or one of its bases has already are not
    /// written again. The snapshot is durable when the method returns; if the power fails before, the file keeps the
    /// snapshots that it had.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save, instead of those that this object was opened with
    /// @return a report of the bytes written and shared
    /// @throws LockedException as [#commit(Object, String)], which throws the same exceptions
    public synchronized DedupReport commit(@Nullable Object state, SaveOptions options) throws IOException {
        Objects.requireNonNull(options, "options");
        checkOpen();
        try {
            return prepared(state, options, null).run().dedup().orElseThrow();
        } catch (FormatException e) {
            throw unlessOtherFormat(e);
        }
    }

    /// {@return the exception}
    ///
    /// @throws IllegalArgumentException if the file is of another format, which is the better message then
    private FormatException unlessOtherFormat(FormatException refusal) throws IOException {
        try (Checkpoint _ = glimpse()) {
            return refusal;
        } catch (FormatException _) {
            return refusal;
        }
    }

    /// Saves a state as the next snapshot in the background, with the current time. When this method returns, the state
    /// is staged, and the caller may change it at once; see [Checkpoint#saveAsync(Path, Object, SaveOptions)]. This
    /// object keeps the memory of the copy for the next commit.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param message a text about it for the list of snapshots
    /// @return the running save, which continues if this is closed, and reports later failures
    /// @throws LockedException if another writer has locked the file, for instance a commit that has not ended
    /// @throws StaleFileException if another writer has changed the file
    /// @throws StagingMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws FormatException if the file exists, and is damaged, sealed or of no known format
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    ///     Also if there is no file yet, and the name or the options choose a format other than `croft`
    /// @throws IllegalStateException if this is closed
    public PendingSave commitAsync(@Nullable Object state, String message) throws IOException {
        return commitAsync(state, withMessage(message));
    }

    /// Saves a state as the next snapshot in the background, as durably as [#commit(Object, SaveOptions)] and with the
    /// same bytes.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save, instead of those that this object was opened with
    /// @return the running save, which continues if this is closed, and reports later failures
    /// @throws LockedException as [#commitAsync(Object, String)], which throws the same exceptions
    public synchronized PendingSave commitAsync(@Nullable Object state, SaveOptions options) throws IOException {
        Objects.requireNonNull(options, "options");
        checkOpen();
        try {
            return PendingSave.start(prepared(state, options, options.stagingMemory().orElse(memory)));
        } catch (FormatException e) {
            throw unlessOtherFormat(e);
        }
    }

    private Save prepared(@Nullable Object state, SaveOptions options, @Nullable StagingMemory copies)
            throws IOException {
        return Save.prepareCommit(FileTarget.of(path, disk), history, state, options,
                copies == null ? null : copies.staging());
    }

    private SaveOptions withMessage(String message) {
        Objects.requireNonNull(message, "message");
        return saving.message(message).time(Instant.now());
    }

    /// {@return the snapshots, the newest first; none if the file does not exist yet}
    ///
    /// @throws IOException if reading fails
    /// @throws FormatException if the file is damaged
    /// @throws IllegalArgumentException if it is a file of another format
    /// @throws IllegalStateException if this is closed
    public synchronized List<SnapshotInfo> snapshots() throws IOException {
        try (Checkpoint newest = glimpse()) {
            return newest == null ? List.of() : newest.snapshots();
        }
    }

    /// Opens the newest snapshot without the options that choose or expect tensors, or returns null if there is no file
    /// yet. The caller closes it at once: an open one keeps the bytes of its file on the disk, also after the file was
    /// compacted.
    private @Nullable Checkpoint glimpse() throws IOException {
        checkOpen();
        if (!Files.exists(path)) {
            return null;
        }
        Checkpoint found = Checkpoint.open(path, OpenOptions.defaults().onMeta());
        var _ = snapshotOf(found);
        return found;
    }

    /// Returns which snapshot was opened. If that fails, it is closed.
    private SnapshotInfo snapshotOf(Checkpoint found) {
        try {
            return found.snapshot().orElseThrow(() -> new IllegalArgumentException(path + " is a file of the format "
                    + found.format() + ", and nothing can be committed to it; convert it first"));
        } catch (Throwable e) {
            found.close();
            throw e;
        }
    }

    /// {@return the newest complete snapshot, or nothing if there is no file yet} It is the same object at every call
    /// until a newer one is committed or it is closed.
    ///
    /// @throws IOException if reading fails, or there is no directory for the file
    /// @throws FormatException if the file is damaged
    /// @throws IllegalArgumentException if it is a file of another format
    /// @throws IllegalStateException if this is closed
    public synchronized Optional<Checkpoint> newest() throws IOException {
        checkOpen();
        if (!Files.exists(path)) {
            FileTarget.of(path, disk).requireDirectory();
            history.seeNone();
            return Optional.empty();
        }
        Checkpoint newest = kept(Checkpoint.open(path, opening.newest()));
        newest.seen(history);
        return Optional.of(newest);
    }

    /// {@return a snapshot} It is the same object at every call until the file is compacted or it is closed.
    ///
    /// @param commit its number, see [SnapshotInfo#commit]: the first commit to the file is 1, and a number never
    ///     changes, also if others are dropped
    /// @throws java.util.NoSuchElementException if no snapshot has that number
    /// @throws IOException if reading fails, or there is no file yet
    /// @throws FormatException if the file is damaged
    /// @throws IllegalArgumentException if it is a file of another format
    /// @throws IllegalStateException if this is closed
    public synchronized Checkpoint at(long commit) throws IOException {
        checkOpen();
        return kept(Checkpoint.open(path, opening.snapshot(commit)));
    }

    /// One checkpoint for each snapshot is enough.
    private Checkpoint kept(Checkpoint found) {
        SnapshotInfo snapshot = snapshotOf(found);
        opened.values().removeIf(Checkpoint::isClosed);
        Checkpoint before = opened.putIfAbsent(snapshot, found);
        if (before == null) {
            return found;
        }
        found.close();
        return before;
    }

    /// Drops the snapshots that a rule does not keep, by writing the file anew without them, if that frees at least
    /// half of the file. If this method is called after each commit, the file has at most about twice the size of the
    /// snapshots that stay, and each byte is copied, on average, at most once. Snapshots that stay keep their numbers,
    /// and are compressed as by [#compact(Predicate)].
    ///
    /// Does not wait for a pending [background commit][#commitAsync(Object, String)], and does not count its snapshot:
    /// returns 0 if the rule drops too little of the other ones, and otherwise throws [LockedException]. Callers should
    /// join the commit first.
    ///
    /// @param rule which snapshots stay
    /// @return the number of bytes by which the file became shorter; 0 if nothing was done, negative as for
    ///     [#compact(Predicate)]
    /// @throws LockedException if another writer has locked the file
    /// @throws StaleFileException if another writer has changed the file
    /// @throws IOException if reading or writing fails; the file is not changed
    /// @throws FormatException if a snapshot that stays is damaged
    /// @throws IllegalStateException if this is closed
    public synchronized long retain(Retention rule) throws IOException {
        Objects.requireNonNull(rule, "rule");
        Set<SnapshotInfo> dropped = rule.dropped(snapshots());
        if (dropped.isEmpty()) {
            return 0;
        }
        long staying = new FileCopier(disk).storedBytes(path, snapshot -> !dropped.contains(snapshot));
        return 2 * staying > Files.size(path) ? 0 : drop(dropped);
    }

    /// Drops the snapshots that a rule does not keep, by writing the file anew without them, even if that frees little.
    /// Snapshots that stay keep their numbers.
    ///
    /// @param rule which snapshots stay
    /// @return the number of bytes by which the file became shorter; 0 if nothing was done, negative as for
    ///     [#compact(Predicate)]
    /// @throws LockedException if another writer has locked the file
    /// @throws StaleFileException if another writer has changed the file
    /// @throws IOException if reading or writing fails; the file is not changed
    /// @throws FormatException if a snapshot that stays is damaged
    /// @throws IllegalStateException if this is closed
    public synchronized long compact(Retention rule) throws IOException {
        Objects.requireNonNull(rule, "rule");
        Set<SnapshotInfo> dropped = rule.dropped(snapshots());
        return dropped.isEmpty() ? 0 : drop(dropped);
    }

    /// Compares snapshots by content and not by number, which may name another one after another process has replaced
    /// the file.
    private long drop(Set<SnapshotInfo> dropped) throws IOException {
        return compact(snapshot -> !dropped.contains(snapshot));
    }

    /// Replaces the file by one that has only some of its snapshots, which keep their numbers, without the bytes that
    /// none of these needs. The new file has another id, so files with this one as a base no longer find it, and sets
    /// of which it is a shard do not open until they are saved again. Durable and atomic; processes that have the old
    /// file open keep their mapping.
    ///
    /// If the options that this was opened with [compress][SaveOptions#compress], chunks that the newest snapshot does
    /// not have are compressed, as the difference from it if the options say so. The newest snapshot stays as it is.
    ///
    /// @param keep returns whether a snapshot is kept
    /// @return the number of bytes by which the file became shorter; negative if it became longer, which a file does
    ///     where little goes and bytes that a dropped snapshot shared with later ones need a gap to be aligned there
    /// @throws ReferencedFileException if bytes of another open file are stored in this one, unless
    ///     [that is allowed][SaveOptions#replacingReferenced]
    /// @throws LockedException if another writer has locked the file
    /// @throws StaleFileException if another writer has changed the file
    /// @throws IOException if reading or writing fails; the file is not changed
    /// @throws FormatException if a snapshot that stays is damaged
    /// @throws IllegalArgumentException if no snapshot is kept
    /// @throws IllegalStateException if this is closed
    public synchronized long compact(Predicate<SnapshotInfo> keep) throws IOException {
        Objects.requireNonNull(keep, "keep");
        checkOpen();
        return copier().compact(path, keep, saving.compression(),
                References.rule(saving.isReplacingReferenced(), List.of()));
    }

    private FileCopier copier() {
        return new FileCopier(disk, saving.progress(), history);
    }

    /// Writes the newest snapshot as a new file. Bytes that are stored in bases stay there; the new file looks for them
    /// in the same places below its root.
    ///
    /// @param target the file to make or replace
    /// @throws ReferencedFileException if bytes of this file are stored in the target, or those of an open file,
    ///     unless [that is allowed][SaveOptions#replacingReferenced]
    /// @throws SourceFileException if the target is this file, unless [that is allowed][SaveOptions#replacingSource]
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws FormatException if the snapshot is damaged
    /// @throws IllegalArgumentException if the name of the target is that of a file of another format, or the target is
    ///     this file and it has other snapshots
    /// @throws IllegalStateException if this is closed
    public void copy(Path target) throws IOException {
        copy(target, opening.newest());
    }

    /// Writes one snapshot as a new file, as [#copy(Path)].
    ///
    /// @param target the file to make or replace
    /// @param commit the number of the snapshot, see [SnapshotInfo#commit]
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws IOException as [#copy(Path)], which throws the same exceptions
    public void copy(Path target, long commit) throws IOException {
        copy(target, opening.snapshot(commit));
    }

    private synchronized void copy(Path target, OpenOptions which) throws IOException {
        Objects.requireNonNull(target, "target");
        requireNoLoss(target);
        copier().export(path, target, which, saving.isReplacingReferenced());
    }

    /// A copy of one snapshot over the file itself would drop all others.
    private void requireNoLoss(Path target) throws IOException {
        checkOpen();
        if (!Files.exists(target) || !Files.isSameFile(path, target)) {
            return;
        }
        if (snapshots().size() > 1) {
            throw new IllegalArgumentException(target + " is the file itself, which has several snapshots, and would"
                    + " keep only one; copy to another file, or drop snapshots with CroftFile.compact");
        }
        if (!saving.isReplacingSource()) {
            throw new SourceFileException(target.toString());
        }
    }

    /// Writes the newest snapshot as a new file that needs no other: bytes that are stored in bases are copied, each
    /// once. The options that this was opened with name the bases; adopted files need a root.
    ///
    /// @param target the file to make or replace
    /// @throws ReferencedFileException if bytes of this file or of an open one are stored in the target, unless
    ///     [that is allowed][SaveOptions#replacingReferenced]
    /// @throws SourceFileException if the target is this file, unless [that is allowed][SaveOptions#replacingSource]
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws FormatException if the snapshot, or its part of a base, is damaged, or a base is missing
    /// @throws IllegalArgumentException if the name of the target is that of a file of another format, or the target is
    ///     this file and it has other snapshots
    /// @throws IllegalStateException if this is closed
    public void copyWithBases(Path target) throws IOException {
        copyWithBases(target, opening.newest());
    }

    /// Writes one snapshot as a new file that needs no other, as [#copyWithBases(Path)].
    ///
    /// @param target the file to make or replace
    /// @param commit the number of the snapshot, see [SnapshotInfo#commit]
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws IOException as [#copyWithBases(Path)], which throws the same exceptions
    public void copyWithBases(Path target, long commit) throws IOException {
        copyWithBases(target, opening.snapshot(commit));
    }

    private synchronized void copyWithBases(Path target, OpenOptions which) throws IOException {
        Objects.requireNonNull(target, "target");
        requireNoLoss(target);
        copier().flatten(path, target, which, References.rule(saving.isReplacingReferenced(), List.of()));
    }

    /// Reads the whole file, all snapshots included, and checks it; see [Checkpoint#verify].
    ///
    /// @return what is damaged, and how much was not compared
    /// @throws FormatException if no snapshot opens; [#salvage] may still find some
    /// @throws IOException if the file is missing or not readable
    /// @throws IllegalStateException if this is closed
    public Verification verify() throws IOException {
        checkOpen();
        try (Checkpoint checkpoint = Checkpoint.open(path, opening)) {
            return checkpoint.verify();
        }
    }

    /// Opens the intact part of a damaged file. All bytes of its storages are read and compared with their checksums,
    /// whatever policy the options have. If the options choose a snapshot, that snapshot is opened.
    ///
    /// @return the intact and the damaged tensors; the caller closes it
    /// @throws FormatException if no snapshot of it opens, or it is no `.croft` file
    /// @throws IOException if the file is missing, a directory or not readable
    /// @throws IllegalArgumentException if the options map it shared: a damaged file is not written to
    /// @throws IllegalStateException if this is closed
    public Salvage salvage() throws IOException {
        checkOpen();
        return Salvage.open(path, opening);
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException(path + " is closed; close it later, or open it again");
        }
    }

    /// Closes the checkpoints that this object returned. The second and later calls do nothing.
    ///
    /// Does not wait for a [background commit][#commitAsync(Object, String)]: it continues, its snapshot is in the file
    /// when [PendingSave#join] returns, and the JVM does not end before.
    @Override
    public synchronized void close() {
        closed = true;
        References.close(this);
        memory.close();
        opened.values().forEach(Checkpoint::close);
        opened.clear();
    }
}
