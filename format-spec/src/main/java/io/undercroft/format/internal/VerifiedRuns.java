package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.RunTable;
import java.io.EOFException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/// Compares the bytes of extents with their checksums and digests. Each run of bytes is read once, however many extents
/// of however many snapshots it belongs to. Bases are opened and checked once (rule V18).
final class VerifiedRuns {
    /// The number of the file itself in the table; bases have numbers from 1 on, the same in all snapshots.
    static final int OWN_FILE = 0;

    private final ByteSource own;
    private final Scan scan;
    private final BaseFiles bases;
    private final Limits limits;
    private final Map<BaseRecord, Optional<ByteSource>> opened = new HashMap<>();
    private final Map<String, Digest128> digests = new HashMap<>();
    private final RunTable read = new RunTable();
    private final RunTable unread = new RunTable();
    private final Map<File, Integer> files = new HashMap<>();
    private long unreadBytes;
    /// The number of bytes of the file itself that were not read.
    private long left;

    /// The bases of one file, which may name different snapshots of it.
    private record File(UUID uuid, String path) {}

    /// @param committed the number of bytes of the file itself that its snapshots use
    VerifiedRuns(ByteSource own, long committed, Scan scan, BaseFiles bases, Limits limits) {
        this.own = own;
        this.left = committed;
        this.scan = scan;
        this.bases = bases;
        this.limits = limits;
    }

    /// {@return the runs that were read}
    RunTable table() {
        return read;
    }

    /// {@return the number of runs that could not be read, as their bases are missing}
    long unreadCount() {
        return unread.count();
    }

    /// {@return the number of bytes that they have}
    long unreadBytes() {
        return unreadBytes;
    }

    /// {@return the sums that were found over the bytes of an extent, or nothing if they cannot be read}
    ///
    /// @param snapshot the snapshot that has the extent
    /// @param extent RAW or FOREIGN
    Optional<ExtentSums> sums(Snapshot snapshot, ExtentRecord extent) throws IOException {
        int file = OWN_FILE;
        Optional<ByteSource> source = Optional.of(own);
        if (extent.base() != ExtentRecord.THIS_FILE) {
            BaseRecord base = snapshot.base(extent.base() - 1);
            file = files.computeIfAbsent(new File(base.uuid(), base.path()), _ -> files.size() + 1);
            source = open(base);
        }
        if (source.isEmpty()) {
            leave(file, extent);
            return Optional.empty();
        }
        int run = read.find(file, extent.fileOffset(), extent.storedLength());
        if (run >= 0) {
            return Optional.of(read.sums(run));
        }
        if (file == OWN_FILE) {
            left -= Math.min(left + 1, extent.storedLength());
        }
        // Runs that have more bytes than the file overlap, which is reported later. Many could take very long.
        ExtentSums sums = left < 0
                ? extent.sums()
                : scan.sums(source.get(), extent.fileOffset(), extent.storedLength());
        read.add(file, extent.fileOffset(), extent.storedLength(), sums);
        return Optional.of(sums);
    }

    private void leave(int file, ExtentRecord extent) {
        if (unread.find(file, extent.fileOffset(), extent.storedLength()) < 0) {
            unread.add(file, extent.fileOffset(), extent.storedLength(), ExtentSums.NONE);
            unreadBytes = Math.addExact(unreadBytes, extent.storedLength());
        }
    }

    /// {@return the bytes of a base, or nothing if they cannot be verified}
    ///
    /// @throws FormatException by rule V18 if it is not there or not the one that was meant; at the first call only
    Optional<ByteSource> open(BaseRecord base) throws IOException {
        Optional<ByteSource> before = opened.putIfAbsent(base, Optional.empty());
        if (before != null) {
            return before;
        }
        Optional<ByteSource> file = bases.open(base);
        if (file.isPresent()) {
            check(base, file.get());
            opened.put(base, file);
        }
        return file;
    }

    private void check(BaseRecord base, ByteSource file) throws IOException {
        try {
            if (base.kind() == BaseKind.CROFT) {
                checkDepth(base, base.open(file, limits));
                return;
            }
            base.check(file);
            if (!digest(base, file).equals(base.digest())) {
                throw base.broken("has other bytes than those that were meant");
            }
        } catch (EOFException e) {
            throw base.broken("became shorter while it was read");
        } catch (FormatException e) {
            throw Rule.of(e) == Rule.V18_BASE ? e : base.broken("is itself at fault: " + e.getMessage());
        }
    }

    /// Snapshots may name different contents by one path, of which only one can be there.
    private Digest128 digest(BaseRecord base, ByteSource file) throws IOException {
        Digest128 known = digests.get(base.path());
        Digest128 digest = known == null ? scan.digest(file, 0, base.length()) : known;
        digests.put(base.path(), digest);
        return digest;
    }

    private static void checkDepth(BaseRecord base, Snapshot named) {
        if (named.depth() != base.depth()) {
            throw base.broken("has depth " + named.depth() + ", not " + base.depth());
        }
    }
}
