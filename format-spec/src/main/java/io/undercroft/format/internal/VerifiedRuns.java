package io.undercroft.format.internal;

import java.io.IOException;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/// Compares the bytes of extents with their checksums and digests. Each run of bytes is read once, however many extents
/// of however many snapshots it belongs to.
final class VerifiedRuns {
    /// The number of the file itself; bases have numbers from 1 on, the same in all snapshots.
    private static final int OWN_FILE = 0;
    private static final Comparator<Run> ORDER = Comparator.comparingInt(Run::file).thenComparingLong(Run::offset)
            .thenComparingLong(Run::length);

    private final ByteSource own;
    private final Scan scan;
    private final CheckedBases bases;
    private final SortedMap<Run, ExtentSums> read = new TreeMap<>(ORDER);
    private final Set<Run> unread = new TreeSet<>(ORDER);
    private final Map<File, Integer> files = new HashMap<>();
    private long unreadBytes;

    /// What may be said of one file by several bases: they name other snapshots of it.
    private record File(UUID uuid, String path) {}

    /// A run of bytes in a file.
    record Run(int file, long offset, long length) {}

    VerifiedRuns(ByteSource own, Scan scan, CheckedBases bases) {
        this.own = own;
        this.scan = scan;
        this.bases = bases;
    }

    /// {@return the runs of the file itself that were read}
    Collection<Run> own() {
        return read.headMap(new Run(OWN_FILE + 1, 0, 0)).keySet();
    }

    /// {@return how many runs could not be read, as they are in bases that are not there}
    long unreadCount() {
        return unread.size();
    }

    /// {@return how many bytes they have}
    long unreadBytes() {
        return unreadBytes;
    }

    /// {@return the sums that were found over the bytes of an extent, or nothing if they cannot be read}
    ///
    /// @param snapshot whose extent it is
    /// @param extent RAW or FOREIGN
    Optional<ExtentSums> sums(Snapshot snapshot, ExtentRecord extent) throws IOException {
        int file = OWN_FILE;
        Optional<ByteSource> source = Optional.of(own);
        if (extent.base() != ExtentRecord.THIS_FILE) {
            BaseRecord base = snapshot.base(extent.base() - 1);
            file = files.computeIfAbsent(new File(base.uuid(), base.path()), _ -> files.size() + 1);
            source = bases.open(base);
        }
        Run run = new Run(file, extent.fileOffset(), extent.storedLength());
        if (source.isEmpty()) {
            unreadBytes = Math.addExact(unreadBytes, unread.add(run) ? run.length() : 0);
            return Optional.empty();
        }
        ExtentSums sums = read.get(run);
        if (sums == null) {
            sums = scan.sums(source.get(), run.offset(), run.length());
            read.put(run, sums);
        }
        return Optional.of(sums);
    }
}
