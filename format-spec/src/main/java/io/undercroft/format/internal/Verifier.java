package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Coverage;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Reads every byte of a file that its snapshots use, and compares all checksums and digests.
///
/// Together with [Snapshot#open] it finds every flipped bit: in the header and commit records, the indexes of all
/// snapshots, their extents, the references of coded ones, and the zeros between them; but not in ranges that are
/// declared free. Extents in other files are read too if [BaseFiles] finds these, otherwise counted.
///
/// Each run of bytes is read once, however many storages and snapshots share it, through a buffer of 1 MiB, or of a
/// chunk where it is coded. Memory is needed for the indexes of two snapshots, and some 70 bytes for each run.
public final class Verifier {
    /// The result of verifying.
    ///
    /// @param findings all that is wrong, from the newest snapshot to the oldest; empty for an intact file
    /// @param unverifiedExtents the number of extents of which the bytes, or the reference, are in other files that
    ///     could not be read, those that are the same bytes counted once
    /// @param unverifiedBytes the number of bytes that these extents take
    public record Result(List<Finding> findings, long unverifiedExtents, long unverifiedBytes) {
        /// Copies the list.
        public Result {
            findings = List.copyOf(findings);
        }
    }

    private final ByteSource source;
    private final Snapshot newest;
    private final Scan scan;
    private final VerifiedRuns runs;
    private final List<CommitRecord> chain = new ArrayList<>();
    private final List<Finding> findings = new ArrayList<>();
    /// Whether the ranges that the snapshots cover are known: all could be opened and read, and their records break no
    /// rule.
    private boolean isCoverageKnown = true;

    private Verifier(ByteSource source, Snapshot newest, BaseFiles files) {
        this.source = source;
        this.newest = newest;
        this.scan = new Scan(newest.commit().committedLength());
        this.runs = new VerifiedRuns(source, newest.commit().committedLength(), scan, files, newest.limits());
    }

    /// Verifies a snapshot and all those before it.
    ///
    /// @param source the file
    /// @param snapshot the snapshot that [Snapshot#open] returned, to verify the whole file; or an earlier one
    /// @param bases the sources of its bases
    /// @return all findings, and the number of bytes that were not read
    /// @throws FormatException by rule V11 if the file becomes shorter meanwhile
    /// @throws IOException if reading fails
    public static Result verify(ByteSource source, Snapshot snapshot, BaseFiles bases) throws IOException {
        Verifier verifier = new Verifier(source, snapshot, bases);
        try (VerifiedRuns _ = verifier.runs) {
            return verifier.verify();
        } catch (EOFException e) {
            throw Snapshot.truncated(FormatException.NO_OFFSET, e);
        }
    }

    private Result verify() throws IOException {
        verifyPages();
        verifyChain();
        if (isCoverageKnown) {
            verifyCoverage();
        }
        return new Result(findings, runs.unreadCount(), runs.unreadBytes());
    }

    private void verifyPages() throws IOException {
        FormatException skippedCommit = newest.skippedCommit();
        if (skippedCommit != null) {
            report(Finding.WHOLE_FILE, skippedCommit, FileLayout.PAGE);
        }
        long own = newest.place();
        verifyRecord(0, FileLayout.HEADER_BYTES, header -> Header.decode(header).equals(newest.header()));
        verifyRecord(own, FileLayout.COMMIT_BYTES, record -> isOwnOrLater(CommitRecord.decode(record, own)));
        if (newest.header().isSealed()) {
            verifyZero(FileLayout.FIRST_COMMIT, newest.header().dataStart());
            verifyZero(newest.commit().committedLength(), own);
        } else {
            verifyZero(FileLayout.PREFIX_BYTES, newest.header().dataStart());
            verifySlots();
        }
    }

    private void verifyRecord(long offset, int length, Predicate<MemorySegment> check) throws IOException {
        MemorySegment record = settled(offset, length);
        try {
            if (!check.test(record)) {
                report(Finding.WHOLE_FILE, Rule.V14_CHECKSUM, offset, length,
                        "the record is not what it was when the file was opened");
            }
        } catch (FormatException e) {
            report(Finding.WHOLE_FILE, e, length);
        }
    }

    /// A writer may have committed more since the file was opened.
    private boolean isOwnOrLater(CommitRecord commit) {
        return commit.equals(newest.commit()) || isLater(commit);
    }

    private boolean isLater(CommitRecord commit) {
        return commit.uuid().equals(newest.header().uuid()) && commit.sequence() > newest.commit().sequence();
    }

    /// The slot that the next commit will take has the commit before, unless one was torn while it was written there:
    /// that was skipped then. While there are fewer than three commits, it is empty, and so are both if there is one.
    /// The slots contain nothing about an earlier snapshot.
    private void verifySlots() throws IOException {
        Header header = newest.header();
        CommitRecord commit = newest.commit();
        boolean isNewest = newest.skippedCommit() == null && newest.place() == header.recordOffset(commit.sequence());
        if (!isNewest || source.size() < header.slotsEnd()) {
            return;
        }
        if (commit.sequence() == 1) {
            verifyEmptySlots(header);
            return;
        }
        verifyZero(newest.place() + FileLayout.COMMIT_BYTES, newest.place() + FileLayout.PAGE);
        byte[] before = new byte[FileLayout.PAGE];
        if (commit.sequence() > 2) {
            MemorySegment record = scan.bytes(source, commit.previousRecord(), FileLayout.COMMIT_BYTES);
            MemorySegment.copy(record, ValueLayout.JAVA_BYTE, 0, before, 0, FileLayout.COMMIT_BYTES);
        }
        verifySlot(header.recordOffset(commit.sequence() == 2 ? 3 : commit.sequence() - 1), before);
    }

    /// An append that fails may cut them off meanwhile.
    private void verifyEmptySlots(Header header) throws IOException {
        try {
            verifySlot(header.recordOffset(2), new byte[FileLayout.PAGE]);
            verifySlot(header.recordOffset(3), new byte[FileLayout.PAGE]);
        } catch (EOFException e) {
            if (source.size() >= header.slotsEnd()) {
                throw e;
            }
        }
    }

    /// Repeats a read of bytes that a writer may be changing, until two reads agree.
    private MemorySegment settled(long offset, int length) throws IOException {
        MemorySegment before = MemorySegment.ofArray(new byte[length]);
        MemorySegment now = scan.bytes(source, offset, length);
        while (now.mismatch(before) >= 0) {
            before.copyFrom(now);
            now = scan.bytes(source, offset, length);
        }
        return now;
    }

    private void verifySlot(long offset, byte[] expected) throws IOException {
        MemorySegment slot = settled(offset, FileLayout.PAGE);
        if (slot.mismatch(MemorySegment.ofArray(expected)) >= 0 && !isLater(slot, offset)) {
            report(Finding.WHOLE_FILE, Rule.V19_CHAIN, offset, FileLayout.PAGE,
                    "the slot that is not the newest commit's does not have the commit before it");
        }
    }

    /// The record after the header is never written again.
    private void verifyFirst(CommitRecord first) throws IOException {
        if (!newest.header().isSealed() && newest.place() != FileLayout.FIRST_COMMIT) {
            verifyRecord(FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES,
                    record -> CommitRecord.decode(record, FileLayout.FIRST_COMMIT).equals(first));
        }
    }

    private boolean isLater(MemorySegment slot, long offset) {
        try {
            return isLater(CommitRecord.decode(slot.asSlice(0, FileLayout.COMMIT_BYTES), offset));
        } catch (FormatException e) {
            return false;
        }
    }

    private void verifyChain() throws IOException {
        CommitRecord commit = newest.commit();
        Snapshot newer = verifySnapshot(newest);
        chain.add(commit);
        for (CommitRecord before = parent(commit); before != null; before = parent(commit)) {
            newer = verifyEarlier(commit, before, newer);
            chain.add(before);
            commit = before;
        }
        if (commit.sequence() == 1) {
            verifyFirst(commit);
        }
    }

    /// {@return the commit before another one, or null if there is none or it is damaged}
    private @Nullable CommitRecord parent(CommitRecord commit) throws IOException {
        if (commit.sequence() == 1) {
            return null;
        }
        try {
            newest.checkWalk(newest.commit().sequence());
            return newest.parent(commit);
        } catch (FormatException e) {
            isCoverageKnown = false;
            report(commit.sequence() - 1, e, FileLayout.COMMIT_BYTES);
            return null;
        }
    }

    /// {@return the earlier snapshot if all its records can be used}
    private @Nullable Snapshot verifyEarlier(CommitRecord next, CommitRecord commit, @Nullable Snapshot newer)
            throws IOException {
        Snapshot earlier;
        try {
            earlier = newest.openParent(next, commit);
        } catch (FormatException e) {
            isCoverageKnown = false;
            report(commit.sequence(), e, 0);
            return null;
        } catch (IOException e) {
            unread(commit.sequence(), commit.indexOffset() + commit.indexLength(), e);
            return null;
        }
        Snapshot usable = verifySnapshot(earlier);
        if (newer != null && usable != null) {
            verifyFreeRanges(earlier, newer);
        }
        return usable;
    }

    /// {@return the snapshot if all its records can be used}
    private @Nullable Snapshot verifySnapshot(Snapshot snapshot) throws IOException {
        boolean isIntact = verifyIndex(snapshot);
        verifyBases(snapshot);
        verifyStorages(snapshot);
        isCoverageKnown &= isIntact;
        return isIntact ? snapshot : null;
    }

    /// Checks the index as it is in the file, and as it was when the snapshot was opened, which is the same if it is
    /// mapped. Returns whether all its records can be used.
    private boolean verifyIndex(Snapshot snapshot) throws IOException {
        CommitRecord commit = snapshot.commit();
        try {
            ExtentSums sums = scan.sums(source, commit.indexOffset(), commit.indexLength());
            if (!sums.digest().equals(commit.rootDigest())) {
                report(commit.sequence(), Rule.V14_CHECKSUM, commit.indexOffset(), commit.indexLength(),
                        "the digest of the index does not match");
            }
        } catch (IOException e) {
            unread(commit.sequence(), commit.indexOffset() + commit.indexLength(), e);
            return false;
        }
        List<FormatException> faults = snapshot.faults();
        faults.forEach(fault -> report(commit.sequence(), fault, 0));
        return faults.isEmpty();
    }

    /// Reports the problem of a base once, for the newest snapshot that names it.
    private void verifyBases(Snapshot snapshot) throws IOException {
        for (int number = 0; number < snapshot.baseCount(); number++) {
            try {
                runs.open(snapshot.base(number));
            } catch (FormatException e) {
                if (e.code().equals(Rule.V18_BASE.code())) { // what else may be wrong was reported with the index
                    report(snapshot.commit().sequence(), e, 0);
                }
            }
        }
    }

    private void verifyStorages(Snapshot snapshot) throws IOException {
        for (int number = 0; number < snapshot.storageCount(); number++) {
            try {
                verifyStorage(snapshot, number);
            } catch (FormatException _) {
                // Its records are invalid, which was reported with those of the index.
            }
        }
    }

    private void verifyStorage(Snapshot snapshot, int number) throws IOException {
        for (ExtentRecord extent : snapshot.extents(number)) {
            Optional<ExtentSums> sums = extent.kind() == ExtentKind.ZERO
                    ? Optional.empty()
                    : sums(snapshot, number, extent);
            if (sums.isPresent()) {
                compare(snapshot, number, extent, sums.get());
            }
        }
    }

    /// Reading the file itself ends early only if the file was truncated, and then it cannot be verified.
    private Optional<ExtentSums> sums(Snapshot snapshot, int storage, ExtentRecord extent) throws IOException {
        try {
            return runs.sums(snapshot, extent);
        } catch (EOFException e) {
            throw e;
        } catch (FormatException e) {
            // That coded bytes are damaged, or a base became shorter; what else is wrong with it was reported before.
            findings.add(new Finding(Rule.of(e), snapshot.commit().sequence(), storage, extent.base(),
                    extent.fileOffset(), extent.storedLength(), e.what()));
            return Optional.empty();
        } catch (IOException e) {
            unread(snapshot.commit().sequence(), storage, extent, e);
            return Optional.empty();
        }
    }

    private void unread(long sequence, int storage, ExtentRecord extent, IOException failure) throws IOException {
        long end = Math.addExact(extent.fileOffset(), extent.storedLength());
        long from = source.failedAt(failure).orElse(extent.fileOffset());
        Coding coding = extent.coding();
        if (coding != null && coding.hasReference() && (from < extent.fileOffset() || from >= end)) {
            unread(sequence, storage, coding.referenceBase(), coding.referenceOffset() + extent.length(), failure);
        } else {
            unread(sequence, storage, extent.base(), end, failure);
        }
    }

    /// Reports where the medium failed, if that is what ended the reading.
    ///
    /// @param end the end of the range that was read
    private void unread(long sequence, int storage, int base, long end, IOException failure) throws IOException {
        isCoverageKnown = false;
        long from = source.failedAt(failure).orElseThrow(() -> failure);
        findings.add(new Finding(null, sequence, storage, base, from, end - from, "read error"));
    }

    private void unread(long sequence, long end, IOException failure) throws IOException {
        unread(sequence, Finding.NO_STORAGE, ExtentRecord.THIS_FILE, end, failure);
    }

    private void compare(Snapshot snapshot, int storage, ExtentRecord extent, ExtentSums sums) {
        long sequence = snapshot.commit().sequence();
        if (!sums.equals(extent.sums())) {
            String what = "the " + (sums.checksum() == extent.sums().checksum()
                    ? "digest of an extent"
                    : "checksum of a chunk") + " does not match";
            Coding coding = extent.coding();
            // The coded bytes match their own checksum, or they would not have been decoded.
            findings.add(coding != null && coding.hasReference() && !coding.hasReferenceInThisFile()
                    ? new Finding(Rule.V14_CHECKSUM, sequence, storage, coding.referenceBase(),
                            coding.referenceOffset(), extent.length(), what)
                    : new Finding(Rule.V14_CHECKSUM, sequence, storage, extent.base(), extent.fileOffset(),
                            extent.storedLength(), what));
        }
    }

    /// All later snapshots must declare free what an earlier one does.
    private void verifyFreeRanges(Snapshot earlier, Snapshot newer) {
        int at = 0;
        for (int number = 0; number < earlier.freeRangeCount(); number++) {
            FreeRange range = earlier.freeRange(number);
            while (at < newer.freeRangeCount() && newer.freeRange(at).offset() < range.offset()) {
                at++;
            }
            if (at == newer.freeRangeCount() || !newer.freeRange(at).equals(range)) {
                report(newer.commit().sequence(), Rule.V19_CHAIN, range.offset(), range.length(),
                        "a range that the snapshot before declares free is not declared free");
            }
        }
    }

    private void verifyCoverage() throws IOException {
        try {
            new Coverage(runs.table(), VerifiedRuns.OWN_FILE, newest.index(), chain, newest.header())
                    .walk(newest.header().dataStart(), this::verifyZero);
        } catch (FormatException e) {
            report(Finding.WHOLE_FILE, e, 0);
        }
    }

    private void verifyZero(long from, long to) throws IOException {
        try {
            long nonZero = scan.firstNonZero(source, from, to);
            if (nonZero < to) {
                report(Finding.WHOLE_FILE, Rule.V3_GAP, nonZero, 1, "a byte that nothing covers is not zero");
            }
        } catch (IOException e) {
            unread(Finding.WHOLE_FILE, to, e);
        }
    }

    private void report(long sequence, FormatException fault, long length) {
        report(sequence, Rule.of(fault), fault.offset(), length, fault.what());
    }

    private void report(long sequence, Rule rule, long offset, long length, String what) {
        findings.add(new Finding(rule, sequence, Finding.NO_STORAGE, ExtentRecord.THIS_FILE, offset, length, what));
    }
}
