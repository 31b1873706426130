package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/// Finds a snapshot in a file that is too damaged for [Snapshot#open]. A file of several snapshots has the commit
/// record of each but the newest twice: after the header or in a slot while that is not used again, and permanently in
/// the parent record of the next one.
public final class SnapshotSearch {
    private static final int BUFFER = 1 << 20;
    /// A record that begins in a piece also ends in it.
    private static final int STEP = BUFFER - FileLayout.PREFIX_BYTES;

    private final ByteSource source;
    private final Header header;
    private final Limits limits;
    private final List<Candidate> candidates = new ArrayList<>();

    /// The result of the search.
    ///
    /// @param snapshot the snapshot; [Snapshot#skippedCommit] is the reason why a newer one did not open, if that is
    ///     known
    /// @param isSearched whether the whole file was searched for commit records, since none of the slots led to a
    ///     snapshot
    public record Found(Snapshot snapshot, boolean isSearched) {}

    private record Candidate(CommitRecord commit, long place) {}

    private SnapshotSearch(ByteSource source, Header header, Limits limits) {
        this.source = source;
        this.header = header;
        this.limits = limits;
    }

    /// Opens the newest snapshot that opens. If none does in the usual way, the file is read from end to end.
    ///
    /// @param source the file
    /// @param limits the limits that the file must not exceed
    /// @return the snapshot
    /// @throws FormatException the failure of [Snapshot#open], if no other snapshot opens, or the header is damaged
    /// @throws IOException if reading fails
    public static Found find(ByteSource source, Limits limits) throws IOException {
        try {
            return new Found(Snapshot.open(source, limits), false);
        } catch (FormatException e) {
            return new Found(search(source, limits, e), true);
        }
    }

    private static Snapshot search(ByteSource source, Limits limits, FormatException fault) throws IOException {
        if (source.size() < FileLayout.PREFIX_BYTES) {
            throw fault;
        }
        MemorySegment page = MemorySegment.ofArray(new byte[FileLayout.HEADER_BYTES]);
        source.read(0, page);
        SnapshotSearch search = new SnapshotSearch(source, Header.decode(page), limits);
        search.readAll();
        return search.open(fault);
    }

    private void readAll() throws IOException {
        long size = source.size();
        MemorySegment buffer = MemorySegment.ofArray(new byte[(int) Math.min(BUFFER, size)]);
        for (long at = 0; at < size; at += STEP) {
            MemorySegment piece = buffer.asSlice(0, Math.min(BUFFER, size - at));
            source.read(at, piece);
            long end = Math.min(STEP, piece.byteSize() - FileLayout.COMMIT_BYTES + 1);
            for (long record = 0; record < end; record += FileLayout.SMALL_ALIGNMENT) {
                if (CommitRecord.isSignature(piece, record)) {
                    add(piece.asSlice(record, FileLayout.COMMIT_BYTES), at + record);
                }
            }
        }
    }

    private void add(MemorySegment page, long place) {
        try {
            candidates.add(new Candidate(CommitRecord.decode(page, place), place));
        } catch (FormatException _) {
            // Bytes of a tensor, or a record whose write was torn.
        }
    }

    private Snapshot open(FormatException fault) throws IOException {
        candidates.sort(Comparator.comparingLong((Candidate found) -> found.commit.sequence()).reversed());
        for (Candidate found : candidates) {
            try {
                return Snapshot.openFound(source, header, found.commit, found.place, limits, fault);
            } catch (FormatException _) {
                // The reason why the newest one does not open is known already.
            }
        }
        throw fault;
    }
}
