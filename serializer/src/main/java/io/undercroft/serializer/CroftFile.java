package io.undercroft.serializer;

import io.undercroft.serializer.internal.References;
import java.util.Objects;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.writing.CroftWriter;
import io.undercroft.serializer.internal.writing.FileCopier;
import java.io.IOException;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// What can be done with a `.croft` file as a whole: a file of one or many snapshots of a state, of which each is
/// complete, and which have the bytes that they share only once.
///
/// ```java
/// Checkpoint.save(path, state);
/// CroftFile.append(path, changed, SaveOptions.defaults().message("epoch 2"));
/// ```
///
/// A file has one writer at a time, in whatever process; a second one is refused with [LockedException]. Readers are
/// never kept waiting: who has opened the file goes on seeing the snapshot that was the newest then.
public final class CroftFile {
    private CroftFile() {}

    /// Saves a state as the next snapshot of a file. Chunks that a snapshot of the file has already are not written
    /// again, nor are those that stand in its bases, where these are found. The snapshot is durable when the method
    /// returns; should the power fail before, the file has the snapshots that it had.
    ///
    /// @param path the file
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws LockedException if somebody else is writing to the file
    /// @throws IOException if the file is missing, or writing fails
    /// @throws io.undercroft.format.FormatException if the file is damaged, sealed, or of a kind that this version
    ///     cannot write
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static DedupReport append(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return new CroftWriter(Disk.system()).append(path, state, options);
    }

    /// Saves a state as the next snapshot of a file in the background, as durably as [#append] and with the same bytes.
    /// When this returns the caller may change the state at once; what is said of
    /// [Checkpoint#saveAsync(Path, Object, SaveOptions)] holds here too.
    ///
    /// @param path the file
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save, and how
    /// @return the save, which goes on; what fails from now on shows there only
    /// @throws LockedException if somebody else is writing to the file, for instance a save that has not ended
    /// @throws SnapshotMemoryException if there is no memory for a copy
    /// @throws IOException if the file is missing or cannot be written to
    /// @throws io.undercroft.format.FormatException if the file is damaged, sealed, or of a kind that this version
    ///     cannot write
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static PendingSave appendAsync(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        try (BackgroundSaver once = new BackgroundSaver()) {
            return once.append(path, state, options);
        }
    }

    /// Writes a state as a sealed file, from its first byte to its last, to something that cannot seek: a socket, a
    /// pipe, an upload. The file is complete when the method returns; a part of it is recognised as such. Nothing is
    /// appended to it. Storages of equal bytes are all written, since what was written cannot be read again.
    ///
    /// @param channel where the file goes; it stays open
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save, and how; the file gets a random id unless they give one
    /// @return what became of the bytes
    /// @throws IOException if writing fails
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static DedupReport stream(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        Objects.requireNonNull(channel, "channel");
        return CroftWriter.stream(channel, state, options);
    }

    /// Replaces a file by one that has only some of its snapshots, which keep their numbers, and no bytes that none of
    /// these needs. The new file has another id, so files that had this one as a base do not find it any more. Durable
    /// and atomic; processes that have the old file open continue to see it.
    ///
    /// @param path the file
    /// @param keep says of a snapshot whether it stays
    /// @return how many bytes shorter the file is
    /// @throws ReferencedFileException if bytes of another known file are stored in this one
    /// @throws LockedException if somebody else is writing to the file
    /// @throws IOException if reading or writing fails; the file is as it was
    /// @throws io.undercroft.format.FormatException if what is kept is damaged
    /// @throws IllegalArgumentException if no snapshot is kept
    public static long compact(Path path, Predicate<SnapshotInfo> keep) throws IOException {
        return compact(path, keep, SaveOptions.defaults());
    }

    /// Replaces a file by one that has only some of its snapshots, as [#compact(Path, Predicate)].
    ///
    /// @param path the file
    /// @param keep says of a snapshot whether it stays
    /// @param saving of these only [SaveOptions#replacingReferenced] counts
    /// @return how many bytes shorter the file is
    /// @throws ReferencedFileException if bytes of another known file are stored in this one, unless that is allowed
    /// @throws LockedException if somebody else is writing to the file
    /// @throws IOException if reading or writing fails; the file is as it was
    /// @throws io.undercroft.format.FormatException if what is kept is damaged
    /// @throws IllegalArgumentException if no snapshot is kept
    public static long compact(Path path, Predicate<SnapshotInfo> keep, SaveOptions saving) throws IOException {
        Objects.requireNonNull(keep, "keep");
        return new FileCopier(Disk.system()).compact(path, keep, References.rule(saving.isReplacingReferenced()));
    }

    /// Writes one snapshot as a new file: the newest, or the one that the options name. Bytes that are stored in bases
    /// stay there; the new file looks for them in the same places below its root.
    ///
    /// @param path the file
    /// @param target the file to make or replace
    /// @param options which snapshot
    /// @throws ReferencedFileException if bytes of another known file are stored in the target
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws io.undercroft.format.FormatException if it is damaged
    public static void export(Path path, Path target, OpenOptions options) throws IOException {
        export(path, target, options, SaveOptions.defaults());
    }

    /// Writes one snapshot as a new file, as [#export(Path, Path, OpenOptions)].
    ///
    /// @param path the file
    /// @param target the file to make or replace
    /// @param options which snapshot
    /// @param saving of these only [SaveOptions#replacingReferenced] counts
    /// @throws ReferencedFileException if bytes of the file itself are stored in the target, or those of another known
    ///     file, unless that is allowed
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws io.undercroft.format.FormatException if it is damaged
    public static void export(Path path, Path target, OpenOptions options, SaveOptions saving) throws IOException {
        Objects.requireNonNull(options, "options");
        new FileCopier(Disk.system()).export(path, target, options, saving.isReplacingReferenced());
    }

    /// Writes one snapshot as a new file that needs no other: bytes that are stored in bases are copied, each once.
    ///
    /// @param path the file
    /// @param target the file to make or replace
    /// @param options which snapshot, and where its bases are; adopted files need a root
    /// @throws ReferencedFileException if bytes of another known file are stored in the target
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws io.undercroft.format.FormatException if it, or what it needs of a base, is damaged, or a base is not
    ///     there
    public static void flatten(Path path, Path target, OpenOptions options) throws IOException {
        flatten(path, target, options, SaveOptions.defaults());
    }

    /// Writes one snapshot as a new file that needs no other, as [#flatten(Path, Path, OpenOptions)].
    ///
    /// @param path the file
    /// @param target the file to make or replace
    /// @param options which snapshot, and where its bases are; adopted files need a root
    /// @param saving of these only [SaveOptions#replacingReferenced] counts
    /// @throws ReferencedFileException if bytes of another known file are stored in the target, unless that is allowed
    /// @throws IOException if reading or writing fails; no file is made or changed
    /// @throws java.util.NoSuchElementException if there is no such snapshot
    /// @throws io.undercroft.format.FormatException if it, or what it needs of a base, is damaged, or a base is not
    ///     there
    public static void flatten(Path path, Path target, OpenOptions options, SaveOptions saving) throws IOException {
        new FileCopier(Disk.system()).flatten(path, target, options, References.rule(saving.isReplacingReferenced()));
    }
}
