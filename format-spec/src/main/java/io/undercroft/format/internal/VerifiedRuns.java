package io.undercroft.format.internal;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

/// Compares the bytes of extents with their checksums and digests. Each run of bytes is read once, however many extents
/// of however many snapshots it belongs to.
final class VerifiedRuns {
    /// The number of the file itself; bases have numbers from 1 on, the same in all snapshots.
    private static final int OWN_FILE = 0;

    private final ByteSource own;
    private final Scan scan;
    private final CheckedBases bases;
    private final Map<Run, ExtentSums> read = new HashMap<>();
    private final Set<Run> unread = new HashSet<>();
    private final Map<File, Integer> files = new HashMap<>();
    private long unreadBytes;

    /// What may be said of one file by several bases: they name other snapshots of it.
    private record File(UUID uuid, String path) {}

    /// A run of bytes in a file. Runs are ordered so that a hash table of them is fast even if a file was made so that
    /// their hashes are equal.
    record Run(int file, long offset, long length) implements Comparable<Run> {
        /// Offsets are multiples of a power of two, so that the high bits of a product are better than the low ones.
        @Override
        public int hashCode() {
            return (int) ((31 * (31 * offset + length) + file) * 0x9E37_79B9_7F4A_7C15L >>> Integer.SIZE);
        }

        @Override
        public int compareTo(Run other) {
            int order = Integer.compare(file, other.file);
            order = order != 0 ? order : Long.compare(offset, other.offset);
            return order != 0 ? order : Long.compare(length, other.length);
        }
    }

    VerifiedRuns(ByteSource own, Scan scan, CheckedBases bases) {
        this.own = own;
        this.scan = scan;
        this.bases = bases;
    }

    /// {@return the runs of the file itself that were read}
    Stream<Run> own() {
        return read.keySet().stream().filter(run -> run.file() == OWN_FILE);
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
