package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.DiskFile;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.extents.ContentIndex;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.ExtentHistory;
import io.undercroft.serializer.internal.extents.ExtentWriter.Destination;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.extents.PlaceTable;
import io.undercroft.serializer.internal.planning.StatePlan;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Adds a snapshot to a file by the steps of section 10.4 of the format: existing bytes are not changed, and at the end
/// one commit record makes the new snapshot the newest. The creator holds the lock of the file. For use by one thread.
final class Appender implements Closeable {
    private final Path path;
    /// What the caller calls the file, for messages.
    private final String name;
    private final Disk disk;
    private final DiskFile file;
    private final Snapshot parent;
    /// The size of the file when it was opened.
    private final long size;

    private Appender(Target target, Disk disk, DiskFile file, LastSeen seen) throws IOException {
        this.path = target.file();
        this.name = target.path().toString();
        this.disk = disk;
        this.file = file;
        try {
            this.parent = Snapshot.open(file, Limits.DEFAULT);
            WriteAccess.check(file, parent);
            seen.check(path, parent.commit());
            checkCount(parent.commit());
            this.size = file.size();
        } catch (FormatException e) {
            file.close();
            throw e.withFile(name);
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// Readers would refuse a longer list.
    private void checkCount(CommitRecord newest) throws FileSystemException {
        if (newest.sequence() >= Limits.DEFAULT.maxSnapshots()) {
            throw new FileSystemException(name, null,
                    "it has " + newest.sequence() + " snapshots, and cannot have more; compact it");
        }
    }

    /// Opens a file.
    ///
    /// @param target the file
    /// @param disk the file system that it is on
    /// @param seen the snapshot that the new one may follow
    /// @return an appender
    /// @throws IOException if it may not be written to
    /// @throws FormatException if it is damaged, or no file that may be appended to
    static Appender open(Target target, Disk disk, LastSeen seen) throws IOException {
        return new Appender(target, disk, disk.open(target.file()), seen);
    }

    /// Adds a snapshot, unless the save is cancelled.
    ///
    /// @param plan the state
    /// @param options the other options of the save
    /// @param history the extents of the file that are known from the commits before
    /// @param seen receives the new snapshot
    /// @param lastWord called when all but the commit is done; what it throws ends this, and the file has the snapshots
    ///     it had
    /// @return a report of bytes written, reused and skipped
    /// @throws IOException if that fails; the file then has its former snapshots, unless the message reports that this
    ///     is unknown
    DedupReport append(StatePlan plan, SaveOptions options, ExtentHistory history, LastSeen seen, Runnable lastWord)
            throws IOException {
        StateWriter.Draft draft;
        CommitRecord commit;
        PlaceTable places;
        try (NamedBases bases = NamedBases.open(options, path, parent.header().chunkLog2())) {
            bases.keep(parent, path, options);
            boolean isShared = options.sharing() == SaveOptions.Sharing.CONTENT;
            places = isShared ? history.of(parent) : null;
            draft = StateWriter.write(plan, options, bases, destination(places), free());
            commit = writeIndex(draft, options);
            file.force();
            forceName();
            checkName();
            lastWord.run();
        } catch (FileSystemException | ClosedByInterruptException e) {
            cutBack(e);
            throw e;
        } catch (IOException e) {
            cutBack(e);
            throw failed(e);
        } catch (Throwable e) {
            cutBack(e);
            throw e;
        }
        commit(commit);
        seen.set(path, commit);
        if (places != null) {
            history.remember(places, commit);
        }
        return draft.report();
    }

    /// {@return the size of chunks in the file, in bytes}
    long chunkSize() {
        return 1L << parent.header().chunkLog2();
    }

    private FileSystemException failed(IOException cause) {
        return AtomicFile.withCause(new FileSystemException(name, null,
                "appending failed: " + cause.getMessage() + "; the file has the snapshots that it had"), cause);
    }

    /// Returns where the snapshot is written, with what it may share if the places of all extents are given.
    private Destination destination(@Nullable PlaceTable places) throws IOException {
        ContentIndex known = new ContentIndex(places == null ? new PlaceTable(0) : places);
        if (places != null) {
            known.addFile(Place.THIS_FILE, file);
            known.recognise(Place.THIS_FILE, mapped -> mapped.isAt(path));
            known.addParent(parent);
            if (disk.comparesPastCache(size, parent.commit().sequence())) {
                known.readPastCache(file);
            }
        }
        Header header = parent.header();
        return new Destination(file, Math.max(FileLayout.placePage(size), header.slotsEnd()), header.chunkLog2(),
                parent,
                known);
    }

    private List<FreeRange> free() {
        List<FreeRange> free = new ArrayList<>();
        for (int number = 0; number < parent.freeRangeCount(); number++) {
            free.add(parent.freeRange(number));
        }
        long committed = parent.commit().committedLength();
        Header header = parent.header();
        addTail(committed, Math.min(size, header.slots()), free);
        addTail(Math.max(committed, header.slotsEnd()), size, free);
        return free;
    }

    /// Declares the bytes that a torn append left free, except the commit slots.
    private static void addTail(long from, long to, List<FreeRange> free) {
        if (from < to) {
            free.add(new FreeRange(from, to - from));
        }
    }

    /// The parent record is copied, since a newer version may have stored more in it.
    private CommitRecord writeIndex(StateWriter.Draft draft, SaveOptions options) throws IOException {
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        file.read(parent.header().recordOffset(parent.commit().sequence()), record);
        long place = FileLayout.placeIndex(draft.end());
        long index = place + FileLayout.COMMIT_BYTES;
        file.write(place, record);
        file.write(index, draft.index());
        if (parent.commit().sequence() > 1) {
            // If the force of that commit failed, its record may be in the cache only, and no later force would write
            // it, while the new commit replaces the one before it.
            file.write(parent.header().recordOffset(parent.commit().sequence()), record);
        }
        long second = parent.header().recordOffset(3);
        if (parent.commit().sequence() == 1 && size > second) {
            // There was no commit: a file that was truncated, or to which bytes were added, may end in the slot.
            file.write(second, MemorySegment.ofArray(new byte[FileLayout.PAGE]));
        }
        return parent.commit().next(draft.index(), index, CroftWriter.timeMillis(options), options.message());
    }

    /// Makes the name durable: the writer that named the file may have failed, or been killed, before it did. A
    /// directory that cannot be read is not forced.
    private void forceName() throws IOException {
        Path directory = path.toAbsolutePath().getParent();
        try {
            if (directory != null) {
                disk.forceDirectory(directory);
            }
        } catch (AccessDeniedException _) {
            // The file can be appended to nevertheless.
        }
    }

    private void checkName() throws IOException {
        if (!file.isAt(path)) {
            throw new FileSystemException(name, null,
                    "it was replaced by another file while it was being written; append again");
        }
    }

    private void commit(CommitRecord commit) throws IOException {
        try {
            file.write(parent.header().recordOffset(commit.sequence()), MemorySegment.ofArray(commit.encodeSlot()));
            file.force();
        } catch (IOException e) {
            throw AtomicFile.withCause(new FileSystemException(name, null, "bringing snapshot "
                    + commit.sequence() + " to the disk failed at the last step; open the file to see whether it is "
                    + "there"), e);
        }
    }

    /// Truncates the file to its former size. If that fails too, the next append declares the space free.
    private void cutBack(Throwable why) {
        try {
            file.truncate(size);
        } catch (IOException e) {
            why.addSuppressed(e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
