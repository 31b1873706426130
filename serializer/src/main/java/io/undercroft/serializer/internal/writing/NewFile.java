package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.serializer.internal.disk.Sink;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// The header, the indexes and the commit records of a new file.
///
/// A file that is written from its first byte to its last is a sealed one, of one snapshot: its header comes first and
/// its commit record last (section 10.8 of the format). Any other may have several snapshots, and its header is written
/// last. The file is invisible until it is committed, so the order of writing does not matter. For use by one thread.
final class NewFile {
    private final Sink sink;
    private final int chunkLog2;
    private final boolean isSealed;
    private final @Nullable UUID uuid;
    private final List<CommitRecord> commits = new ArrayList<>();

    /// Starts a file without snapshots.
    ///
    /// @param sink the sink to write to, whose order decides whether the file is sealed
    /// @param chunkLog2 the logarithm of its chunk size
    /// @param uuid its id, or null if that is to be made of what its first snapshot holds, or at random if it is sealed
    /// @throws IOException if writing fails
    NewFile(Sink sink, int chunkLog2, @Nullable UUID uuid) throws IOException {
        this.sink = sink;
        this.chunkLog2 = chunkLog2;
        this.isSealed = sink.order() == Sink.Order.ASCENDING;
        if (isSealed) {
            UUID id = uuid == null ? UUID.randomUUID() : uuid;
            this.uuid = id;
            write(0, Header.sealed(id, chunkLog2).encode());
        } else {
            this.uuid = uuid;
        }
    }

    /// {@return the smallest offset of extents of the next snapshot; the commit slots follow the first snapshot}
    long start() {
        return switch (commits.size()) {
            case 0 -> FileLayout.DATA_START;
            case 1 -> header().slotsEnd();
            default -> FileLayout.placePage(commits.getLast().committedLength());
        };
    }

    /// {@return the number of the next snapshot, from 1}
    long nextSequence() {
        return commits.size() + 1L;
    }

    /// Adds a snapshot whose extents are written.
    ///
    /// @param index its index, built for the next number
    /// @param extentsEnd the end of its extents
    /// @param timeMillis the time at which it was made, or 0
    /// @param message its message
    /// @throws IOException if writing fails
    void add(MemorySegment index, long extentsEnd, long timeMillis, String message) throws IOException {
        long place = FileLayout.placeIndex(extentsEnd);
        CommitRecord commit;
        if (commits.isEmpty()) {
            commit = uuid == null
                    ? CommitRecord.canonical(index, place, timeMillis, message)
                    : CommitRecord.first(index, place, uuid, timeMillis, message);
        } else {
            write(place, commits.getLast().encode());
            place += FileLayout.COMMIT_BYTES;
            commit = commits.getLast().next(index, place, timeMillis, message);
        }
        sink.write(place, index);
        commits.add(commit);
    }

    /// Writes the slots, if there are several snapshots, the first commit record and the header, or the commit record
    /// of a sealed file.
    ///
    /// @throws IOException if writing fails
    void finish() throws IOException {
        if (isSealed) {
            CommitRecord commit = commits.getFirst();
            write(FileLayout.placeIndex(commit.committedLength()), commit.encode());
            return;
        }
        Header header = header();
        for (CommitRecord commit : commits.subList(Math.max(1, commits.size() - 2), commits.size())) {
            write(header.recordOffset(commit.sequence()), commit.encodeSlot());
        }
        write(FileLayout.FIRST_COMMIT, commits.getFirst().encode());
        write(0, header.encode());
    }

    private Header header() {
        CommitRecord first = commits.getFirst();
        return Header.of(first.uuid(), chunkLog2, first.committedLength());
    }

    private void write(long offset, byte[] bytes) throws IOException {
        sink.write(offset, MemorySegment.ofArray(bytes));
    }
}
