package io.undercroft.serializer.internal;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.FileRegion;
import io.undercroft.serializer.FileRegion.Kind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/// The parts of a `.croft` file that are not bytes of storages.
final class CroftRegions {
    private final long size;
    private final List<FileRegion> regions = new ArrayList<>();

    private CroftRegions(long size) {
        this.size = size;
    }

    /// {@return the regions of all snapshots, in the order of the file}
    ///
    /// @param newest the newest snapshot
    /// @param size the size of the file in bytes
    /// @throws IOException if reading fails
    static List<FileRegion> of(Snapshot newest, long size) throws IOException {
        CroftRegions all = new CroftRegions(size);
        all.addFixed(newest);
        for (CommitRecord commit : newest.chain()) {
            all.add(Kind.INDEX, commit.indexOffset(), commit.indexLength());
            if (commit.sequence() > 1) {
                all.add(Kind.COMMIT_RECORD, commit.previousRecord(), FileLayout.COMMIT_BYTES);
            }
        }
        for (int number = 0; number < newest.freeRangeCount(); number++) {
            FreeRange free = newest.freeRange(number);
            all.add(Kind.FREE, free.offset(), free.length());
        }
        all.regions.sort(Comparator.comparingLong(FileRegion::offset));
        return List.copyOf(all.regions);
    }

    private void addFixed(Snapshot newest) {
        Header header = newest.header();
        add(Kind.HEADER, 0, FileLayout.HEADER_BYTES);
        if (header.isSealed()) {
            add(Kind.COMMIT_RECORD, newest.place(), FileLayout.COMMIT_BYTES);
        } else {
            add(Kind.COMMIT_RECORD, FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES);
            add(Kind.COMMIT_SLOTS, header.slots(), FileLayout.SLOTS_BYTES);
        }
    }

    /// Adds the part of a region that is inside the file: a file with one snapshot ends before its slots.
    private void add(Kind kind, long offset, long nbytes) {
        long end = Math.min(size, offset + nbytes);
        if (end > offset) {
            regions.add(new FileRegion(kind, offset, end - offset));
        }
    }
}
