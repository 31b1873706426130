package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.extents.ContentIndex;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.ExtentWriter.Destination;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.extents.PlaceTable;
import io.undercroft.serializer.internal.planning.StatePlan;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Adds a snapshot to a file by the steps of section 10.4 of the format: existing bytes are not changed, and at the end
/// one commit record makes the new snapshot the newest. The creator holds the lock of the file. For use by one thread.
final class Appender implements Closeable {
    private static final long READ_ONLY_FEATURES = 40;

    private final FileTarget target;
    private final DiskFile file;
    private final Snapshot parent;
    /// The size of the file when it was opened.
    private final long before;

    private Appender(FileTarget target, DiskFile file, FileHistory history) throws IOException {
        this.target = target;
        this.file = file;
        try {
            this.parent = Snapshot.open(file, Limits.DEFAULT);
            checkAccess(file, parent);
            history.check(target.file(), parent.commit());
            checkCount(parent.commit());
            this.before = file.size();
        } catch (FormatException e) {
            file.close();
            throw e.withFile(target.location());
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// Refuses a file that a writer must not change (section 10.4 of the format).
    ///
    /// @param file the file
    /// @param newest the snapshot that was opened
    /// @throws FormatException if it is sealed, has features that only newer versions can write, or if its newest
    ///     snapshot is damaged, which is something else than a torn append
    /// @throws IOException if reading fails
    static void checkAccess(ByteSource file, Snapshot newest) throws IOException {
        if (newest.header().isSealed()) {
            throw readOnly("the file is sealed: it was written in one go, and nothing is appended to it",
                    "Copy its snapshot to a new file, and write to that");
        }
        if (!newest.header().isWritable()) {
            throw readOnly("the file has features (" + Long.toHexString(newest.header().readOnlyFeatures())
                    + " hex) that only newer versions can write", "Use the version that wrote the file");
        }
        FormatException skippedCommit = newest.skippedCommit();
        if (skippedCommit != null && isWhole(file, newest.header().recordOffset(newest.commit().sequence() + 1))) {
            throw new FormatException(skippedCommit.code(),
                    "the newest snapshot is damaged, and writing would lose it: " + skippedCommit.what(),
                    skippedCommit.offset(), "Restore the file from a copy, or export the snapshot before to a new file",
                    skippedCommit);
        }
    }

    private static FormatException readOnly(String what, String remedy) {
        return new FormatException("CROFT-READ-ONLY", what, READ_ONLY_FEATURES, remedy);
    }

    /// Returns whether a slot holds a whole record; after a torn append it does not.
    private static boolean isWhole(ByteSource file, long slot) throws IOException {
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        if (file.size() < slot + FileLayout.COMMIT_BYTES) {
            return false;
        }
        file.read(slot, record);
        try {
            CommitRecord.decode(record, slot);
            return true;
        } catch (FormatException e) {
            return !e.code().equals(Rule.V14_CHECKSUM.code());
        }
    }

    /// Readers would refuse a longer list.
    private void checkCount(CommitRecord newest) throws FileSystemException {
        if (newest.sequence() >= Limits.DEFAULT.maxSnapshots()) {
            throw new FileSystemException(target.location(), null,
                    "it has " + newest.sequence() + " snapshots, and cannot have more; compact it");
        }
    }

    /// Opens a file.
    ///
    /// @param target the file
    /// @param history the snapshot that the new one may follow
    /// @return an appender
    /// @throws IOException if it may not be written to
    /// @throws FormatException if it is damaged, or no file that may be appended to
    static Appender open(FileTarget target, FileHistory history) throws IOException {
        return new Appender(target, target.disk().open(target.file()), history);
    }

    /// Adds a snapshot, unless the save is cancelled.
    ///
    /// @param plan the state
    /// @param options the other options of the save
    /// @param history the extents of the file that are known from the commits before; receives the new ones
    /// @param lastWord called when all but the commit is done; what it throws ends this, and the file has the snapshots
    ///     it had
    /// @return a report of bytes written, reused and skipped
    /// @throws IOException if that fails; the file then has its former snapshots, unless the message reports that this
    ///     is unknown
    DedupReport append(StatePlan plan, SaveOptions options, FileHistory history, Runnable lastWord)
            throws IOException {
        CroftLayout.Written written;
        CommitRecord commit;
        PlaceTable places;
        try (NamedBases bases = NamedBases.open(options, target.file(), parent.header().chunkLog2())) {
            bases.keep(parent, target.file(), options);
            boolean isShared = options.sharing() == SaveOptions.Sharing.CONTENT;
            places = isShared ? history.places(parent) : null;
            written = CroftLayout.write(plan, options, bases, destination(places), free());
            commit = writeIndex(written, options);
            file.force();
            if (!history.isNameDurable(target.file())) {
                forceName();
            }
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
        history.committed(target.file(), places, commit);
        return written.report();
    }

    /// {@return the size of chunks in the file, in bytes}
    long chunkSize() {
        return 1L << parent.header().chunkLog2();
    }

    private FileSystemException failed(IOException cause) {
        return AtomicFile.withCause(new FileSystemException(target.location(), null,
                "appending failed: " + cause.getMessage() + "; the file has the snapshots that it had"), cause);
    }

    /// Returns where the snapshot is written, with what it may share if the places of all extents are given.
    private Destination destination(@Nullable PlaceTable places) throws IOException {
        ContentIndex known = new ContentIndex(places == null ? new PlaceTable(0) : places);
        if (places != null) {
            known.addFile(Place.THIS_FILE, file);
            known.recognise(Place.THIS_FILE, mapped -> mapped.isAt(target.file()));
            known.addParent(parent);
            if (target.disk().comparesPastCache(before, parent.commit().sequence())) {
                known.readPastCache(file);
            }
        }
        Header header = parent.header();
        return new Destination(file, Math.max(FileLayout.placePage(before), header.slotsEnd()), header.chunkLog2(),
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
        addTail(committed, Math.min(before, header.slots()), free);
        addTail(Math.max(committed, header.slotsEnd()), before, free);
        return free;
    }

    /// Declares the bytes that a torn append left free, except the commit slots.
    private static void addTail(long from, long to, List<FreeRange> free) {
        if (from < to) {
            free.add(new FreeRange(from, to - from));
        }
    }

    /// The parent record is copied, since a newer version may have stored more in it.
    private CommitRecord writeIndex(CroftLayout.Written written, SaveOptions options) throws IOException {
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        file.read(parent.header().recordOffset(parent.commit().sequence()), record);
        long place = FileLayout.placeIndex(written.end());
        long index = place + FileLayout.COMMIT_BYTES;
        file.write(place, record);
        file.write(index, written.index());
        if (parent.commit().sequence() > 1) {
            // If the force of that commit failed, its record may be in the cache only, and no later force would write
            // it, while the new commit replaces the one before it.
            file.write(parent.header().recordOffset(parent.commit().sequence()), record);
        }
        long second = parent.header().recordOffset(3);
        if (parent.commit().sequence() == 1 && before > second) {
            // There was no commit: a file that was truncated, or to which bytes were added, may end in the slot.
            file.write(second, MemorySegment.ofArray(new byte[FileLayout.PAGE]));
        }
        return parent.commit().next(written.index(), index, CroftLayout.timeMillis(options), options.message());
    }

    /// Makes the name durable: the writer that named the file may have failed, or been killed, before it did. A
    /// directory that cannot be read is not forced.
    private void forceName() throws IOException {
        try {
            target.forceDirectory();
        } catch (AccessDeniedException _) {
            // The file can be appended to nevertheless.
        }
    }

    private void checkName() throws IOException {
        if (!file.isAt(target.file())) {
            throw new FileSystemException(target.location(), null,
                    "it was replaced by another file while it was being written; append again");
        }
    }

    private void commit(CommitRecord commit) throws IOException {
        try {
            file.write(parent.header().recordOffset(commit.sequence()), MemorySegment.ofArray(commit.encodeSlot()));
            file.force();
        } catch (IOException e) {
            throw AtomicFile.withCause(new FileSystemException(target.location(), null, "bringing snapshot "
                    + commit.sequence() + " to the disk failed at the last step; open the file to see whether it is "
                    + "there"), e);
        }
    }

    /// Truncates the file to its former size. If that fails too, the next append declares the space free.
    private void cutBack(Throwable why) {
        try {
            file.truncate(before);
        } catch (IOException e) {
            why.addSuppressed(e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
