package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.RunTable;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/// Compares the bytes of extents with their checksums and digests. Each run of bytes is read once, however many extents
/// of however many snapshots it belongs to. Bases are opened and checked once (rule V18).
final class VerifiedRuns implements AutoCloseable {
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
    /// Runs of the file itself that coded extents cover, whether they were read or not: coded bytes, and references,
    /// which need not be extents.
    private final RunTable covered = new RunTable();
    /// What coded bytes are decoded to. Snapshots may decode the same bytes in different ways, so a run is that of the
    /// table `read` whose number is that of its file, the place of its reference, and how it is decoded.
    private final RunTable decoded = new RunTable();
    /// Those of them that cannot be decoded.
    private final BitSet undecodable = new BitSet();
    private final Coder coder = Coder.open();
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

    /// {@return the runs that were read, and those that coded extents cover}
    RunTable table() {
        for (int run = 0; run < covered.count(); run++) {
            add(read, OWN_FILE, covered.offset(run), covered.length(run));
        }
        return read;
    }

    private static boolean add(RunTable table, int file, long offset, long length) {
        boolean isNew = table.find(file, offset, length) < 0;
        if (isNew) {
            table.add(file, offset, length, ExtentSums.NONE);
        }
        return isNew;
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
    /// @param extent any but a ZERO extent
    /// @throws FormatException by rule V14 if it is coded, and the coded bytes are damaged; by rule V18 if a base
    ///     became shorter
    Optional<ExtentSums> sums(Snapshot snapshot, ExtentRecord extent) throws IOException {
        Coding coding = extent.coding();
        if (coding != null && extent.base() == ExtentRecord.THIS_FILE) {
            add(covered, OWN_FILE, extent.fileOffset(), extent.storedLength());
        }
        if (coding != null && coding.hasReferenceInThisFile()) {
            add(covered, OWN_FILE, coding.referenceOffset(), extent.length());
        }
        int file = number(snapshot, extent.base());
        Optional<ByteSource> source = source(snapshot, extent.base());
        Optional<ByteSource> reference = coding == null ? source : source(snapshot, coding.referenceBase());
        if (source.isEmpty() || reference.isEmpty()) {
            leave(file, extent);
        }
        if (source.isEmpty()) {
            return Optional.empty();
        }
        // Without its reference, only the coded bytes of an extent are compared.
        if (coding != null && reference.isPresent()) {
            return Optional.of(decoded(snapshot, extent, coding, file, source.get(), reference.get()));
        }
        int run = read.find(file, extent.fileOffset(), extent.storedLength());
        if (run < 0) {
            run = read.add(file, extent.fileOffset(), extent.storedLength(), isTooMuch(file, extent)
                    ? unreadSums(extent)
                    : scan.sums(source.get(), extent.fileOffset(), extent.storedLength()));
        }
        if (coding == null) {
            return Optional.of(read.sums(run));
        }
        requireIntact(run, coding, extent);
        return Optional.empty();
    }

    private ExtentSums decoded(Snapshot snapshot, ExtentRecord extent, Coding coding, int file, ByteSource source,
            ByteSource reference) throws IOException {
        // Lengths are at most 2^30, and there are fewer files than 2^25.
        long way = (long) number(snapshot, coding.referenceBase()) << 38 | extent.length() << 7
                | (long) coding.width() << 3 | coding.codec();
        int run = read.find(file, extent.fileOffset(), extent.storedLength());
        if (run >= 0) {
            requireIntact(run, coding, extent);
        }
        int found = run < 0 ? -1 : decoded.find(run, coding.referenceOffset(), way);
        if (found < 0) {
            if (isTooMuch(file, extent)) {
                return extent.sums();
            }
            Scan.Decoded sums = scan.sums(source, extent, coding, reference, coder);
            run = run < 0 ? read.add(file, extent.fileOffset(), extent.storedLength(), sums.stored()) : run;
            requireIntact(run, coding, extent);
            found = decoded.add(run, coding.referenceOffset(), way,
                    Objects.requireNonNullElse(sums.content(), ExtentSums.NONE));
            undecodable.set(found, sums.content() == null);
        }
        if (undecodable.get(found)) {
            throw Coder.damaged(extent.fileOffset());
        }
        return decoded.sums(found);
    }

    /// {@return the sums over stored bytes that the index claims}
    private static ExtentSums unreadSums(ExtentRecord extent) {
        Coding coding = extent.coding();
        return coding == null ? extent.sums() : new ExtentSums(coding.checksum(), Digest128.ZERO);
    }

    private void requireIntact(int run, Coding coding, ExtentRecord extent) {
        if (read.sums(run).checksum() != coding.checksum()) {
            throw Coder.damaged(extent.fileOffset());
        }
    }

    /// Counts the bytes of an extent that is not yet read. Runs that have more bytes than the file overlap, which is
    /// reported elsewhere. Many could take very long.
    private boolean isTooMuch(int file, ExtentRecord extent) {
        if (file == OWN_FILE) {
            left -= Math.min(left + 1, extent.storedLength());
        }
        return left < 0;
    }

    private int number(Snapshot snapshot, int base) {
        if (base == ExtentRecord.THIS_FILE) {
            return OWN_FILE;
        }
        BaseRecord record = snapshot.base(base - 1);
        return files.computeIfAbsent(new File(record.uuid(), record.path()), _ -> files.size() + 1);
    }

    private Optional<ByteSource> source(Snapshot snapshot, int base) throws IOException {
        return base == ExtentRecord.THIS_FILE ? Optional.of(own) : open(snapshot.base(base - 1));
    }

    private void leave(int file, ExtentRecord extent) {
        if (add(unread, file, extent.fileOffset(), extent.storedLength())) {
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
            file = Optional.of(new Whole(base, file.get()));
            opened.put(base, file);
        }
        return file;
    }

    /// A base that must not become shorter.
    private record Whole(BaseRecord base, ByteSource source) implements ByteSource {
        @Override
        public long size() throws IOException {
            return source.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            try {
                source.read(offset, into);
            } catch (EOFException e) {
                throw base.broken("became shorter while it was read");
            }
        }
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

    @Override
    public void close() {
        coder.close();
    }
}
