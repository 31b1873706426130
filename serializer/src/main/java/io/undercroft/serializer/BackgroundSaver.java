package io.undercroft.serializer;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.writing.CroftWriter;
import io.undercroft.serializer.internal.writing.Staging;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// Saves states in the background, again and again, and keeps the memory that they are copied to from one save to the
/// next.
///
/// ```java
/// try (BackgroundSaver saver = new BackgroundSaver()) {
///     for (long step = 0;; step++) {
///         train(state);
///         saver.save(directory.resolve("step-" + step + ".croft"), state, SaveOptions.defaults());
///     }
/// }
/// ```
///
/// The caller is kept for as long as it takes to copy the bytes that tensors reach. Memory that is new to the process
/// is slow to fill, which a single [Checkpoint#saveAsync] has to put up with; here only the first save has. It keeps as
/// much as the largest save took. A save that is begun while another one goes on takes memory of its own.
///
/// Storages in [io.undercroft.mmap.CopyOnWriteMemory] are not copied, but frozen, and take no memory here.
///
/// **Threads.** All methods may be called from several threads at once.
public final class BackgroundSaver implements AutoCloseable {
    private final CroftWriter writer;
    private final Staging staging = new Staging();

    /// A saver that keeps no memory yet.
    public BackgroundSaver() {
        this(Disk.system());
    }

    BackgroundSaver(Disk disk) {
        this.writer = new CroftWriter(disk);
    }

    /// Saves a state as [Checkpoint#saveAsync(Path, Object, SaveOptions)] does.
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save, and how
    /// @return the save, which goes on
    /// @throws LockedException if somebody else is writing to the file
    /// @throws SnapshotMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    ///     Also if the name is that of a file of another known format, for instance `model.pt`:
    ///     [Checkpoint#export(Path, Object)] writes these
    public PendingSave save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return PendingSave.start(writer.take(path, state, options, staging));
    }

    /// Saves a state as the next snapshot of a file, as [CroftFile#appendAsync] does.
    ///
    /// @param path the file
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save, and how
    /// @return the save, which goes on
    /// @throws LockedException if somebody else is writing to the file
    /// @throws SnapshotMemoryException if there is no memory for a copy
    /// @throws IOException if the file is missing or cannot be written to
    /// @throws io.undercroft.format.FormatException if the file is damaged, sealed, or of a kind that this version
    ///     cannot write
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public PendingSave append(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return PendingSave.start(writer.takeForAppend(path, state, options, staging));
    }

    /// Saves a state as the next snapshot of a file, or the first of a new one, as [CheckpointFile#commitAsync] does.
    PendingSave commit(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return PendingSave.start(writer.takeForCommit(path, state, options, staging));
    }

    /// Gives the memory back; what a pending save reads, when that has ended. Saves go on.
    @Override
    public void close() {
        staging.close();
    }
}
