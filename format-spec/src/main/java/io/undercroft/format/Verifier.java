package io.undercroft.format;

import io.undercroft.format.internal.Fields;
import io.undercroft.format.internal.Intervals;
import io.undercroft.format.internal.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Reads every byte of a file that a snapshot accounts for, and compares.
///
/// Together with [Snapshot#open] it finds every flipped bit of a file with one commit: in the fixed pages, the index,
/// the extents, and the zeros between them. Where a snapshot follows others in its file, bytes between its extents may
/// belong to those, and are not looked at. Extents in other files are not read either; that they could not be verified
/// is reported by rule V18. Bytes pass through a buffer of 1 MiB.
public final class Verifier {
    private static final long BUFFER = 1 << 20;

    private final ByteSource source;
    private final Snapshot snapshot;
    private final List<Damage> damages = new ArrayList<>();
    private final MemorySegment buffer;

    private Verifier(ByteSource source, Snapshot snapshot) {
        this.source = source;
        this.snapshot = snapshot;
        this.buffer = MemorySegment.ofArray(new byte[(int) Math.min(BUFFER, snapshot.commit().committedLength())]);
    }

    /// Verifies a file.
    ///
    /// @param source the file
    /// @param snapshot what [Snapshot#open] made of it
    /// @return all that is wrong, in the order of the rules of `SPEC.md`; empty for a sound file
    /// @throws IOException if reading fails
    public static List<Damage> verify(ByteSource source, Snapshot snapshot) throws IOException {
        Verifier verifier = new Verifier(source, snapshot);
        verifier.verifyPages();
        boolean sound = verifier.verifyIndex();
        verifier.verifyStorages();
        if (sound) {
            verifier.reportBases();
        }
        if (sound && snapshot.commit().sequence() == 1) {
            verifier.verifyGaps();
        }
        return List.copyOf(verifier.damages);
    }

    private void verifyPages() throws IOException {
        FormatException passedOver = snapshot.passedOver();
        if (passedOver != null) {
            report(passedOver, Damage.NO_STORAGE, Layout.PAGE);
        }
        verifyPage(0, page -> Header.decode(page).equals(snapshot.header()));
        long own = snapshot.place();
        verifyPage(own, page -> CommitRecord.decode(page, own).equals(snapshot.commit()));
        if (snapshot.header().isSealed()) {
            verifyZero(Layout.PAGE, snapshot.header().dataStart());
            verifyZero(snapshot.commit().committedLength(), own);
            return;
        }
        long other = Layout.slotOffset(snapshot.commit().sequence() + 1);
        verifyPage(other, page -> CommitRecord.isEmpty(page)
                || CommitRecord.decode(page, other).uuid().equals(snapshot.header().uuid()));
        verifyZero(Layout.PREFIX_BYTES, snapshot.header().dataStart());
    }

    private interface PageCheck {
        boolean isSound(MemorySegment page);
    }

    private void verifyPage(long offset, PageCheck check) throws IOException {
        MemorySegment page = buffer.asSlice(0, Layout.PAGE);
        source.read(offset, page);
        try {
            if (!check.isSound(page)) {
                report(Rule.V14_CHECKSUM, Damage.NO_STORAGE, offset, Layout.PAGE,
                        "the page is not what it was when the file was opened");
            }
        } catch (FormatException e) {
            report(e, Damage.NO_STORAGE, Layout.PAGE);
        }
    }

    /// Checks the index as it is in the file, and as it was when the snapshot was opened, which is the same if it is
    /// mapped. Returns whether all its records can be used.
    private boolean verifyIndex() throws IOException {
        CommitRecord commit = snapshot.commit();
        ExtentSums sums = sums(commit.indexOffset(), commit.indexLength());
        if (!sums.digest().equals(commit.rootDigest())) {
            report(Rule.V14_CHECKSUM, Damage.NO_STORAGE, commit.indexOffset(), commit.indexLength(),
                    "the digest of the index does not match");
        }
        List<FormatException> faults = snapshot.faults();
        faults.forEach(fault -> report(fault, Damage.NO_STORAGE, 0));
        return faults.isEmpty();
    }

    private void verifyStorages() throws IOException {
        for (int number = 0; number < snapshot.storageCount(); number++) {
            try {
                verifyStorage(number);
            } catch (FormatException _) {
                // Its records are at fault, which was reported with those of the index.
            }
        }
    }

    private void verifyStorage(int number) throws IOException {
        StorageRecord storage = snapshot.storage(number);
        for (int i = 0; i < storage.extentCount(); i++) {
            ExtentRecord extent = snapshot.extent(storage.firstExtent() + i);
            if (extent.kind() == ExtentKind.RAW && extent.base() == ExtentRecord.THIS_FILE) {
                verifyExtent(number, extent);
            }
        }
    }

    private void reportBases() {
        int[] extents = new int[snapshot.baseCount() + 1];
        for (int number = 0; number < snapshot.extentCount(); number++) {
            extents[snapshot.extent(number).base()]++;
        }
        for (int number = 0; number < snapshot.baseCount(); number++) {
            BaseRecord base = snapshot.base(number);
            report(Rule.V18_BASE, Damage.NO_STORAGE, snapshot.index().fileOffset(SectionType.BASE, number), 0,
                    extents[number + 1] + " extents in the file " + FormatException.quote(base.path())
                            + " were not verified");
        }
    }

    private void verifyExtent(int storage, ExtentRecord extent) throws IOException {
        ExtentSums sums = sums(extent.fileOffset(), extent.storedLength());
        int[] found = sums.checksums();
        boolean sound = true;
        for (int chunk = 0; chunk < found.length; chunk++) {
            if (found[chunk] != snapshot.checksum(extent.firstChecksum() + chunk)) {
                long start = (long) chunk << snapshot.header().chunkLog2();
                long length = Math.min(1L << snapshot.header().chunkLog2(), extent.storedLength() - start);
                report(Rule.V14_CHECKSUM, storage, extent.fileOffset() + start, length,
                        "the checksum of a chunk does not match");
                sound = false;
            }
        }
        if (sound && !sums.digest().equals(extent.digest())) {
            report(Rule.V14_CHECKSUM, storage, extent.fileOffset(), extent.storedLength(),
                    "the digest of an extent does not match");
        }
    }

    private void verifyGaps() throws IOException {
        Intervals covered = new Intervals(snapshot.index(), snapshot.commit());
        long end = snapshot.header().dataStart();
        for (int rank = 0; rank < covered.count(); rank++) {
            if (covered.isInThisFile(rank)) {
                verifyZero(end, covered.start(rank));
                end = covered.end(rank);
            }
        }
        verifyZero(end, snapshot.commit().committedLength());
    }

    private void verifyZero(long from, long to) throws IOException {
        for (long at = from; at < to; at += buffer.byteSize()) {
            MemorySegment piece = buffer.asSlice(0, Math.min(buffer.byteSize(), to - at));
            source.read(at, piece);
            long nonZero = Fields.firstNonZero(piece, 0, piece.byteSize());
            if (nonZero < piece.byteSize()) {
                report(Rule.V3_GAP, Damage.NO_STORAGE, at + nonZero, 1, "a byte that nothing covers is not zero");
                return;
            }
        }
    }

    private ExtentSums sums(long from, long length) throws IOException {
        ExtentDigester digester = new ExtentDigester(snapshot.header().chunkLog2());
        for (long at = 0; at < length; at += buffer.byteSize()) {
            MemorySegment piece = buffer.asSlice(0, Math.min(buffer.byteSize(), length - at));
            source.read(from + at, piece);
            digester.update(piece);
        }
        return digester.finish();
    }

    private void report(FormatException fault, int storage, long length) {
        report(Rule.of(fault), storage, fault.offset(), length, fault.what());
    }

    private void report(Rule rule, int storage, long offset, long length, String what) {
        damages.add(new Damage(rule, storage, offset, length, what));
    }
}
