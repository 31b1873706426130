package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.ExtentFields;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.function.LongConsumer;

/// Checks an index as a whole: every record as [RecordRules] does, and what only all records together can break.
///
/// For any hostile file, the work is linear in the size of the index (but for sorting the extents), and nothing
/// is allocated that is larger than the index.
public final class IndexRules {
    private final Index index;
    private final RecordRules records;
    private final CommitRecord commit;
    private final List<FormatException> faults = new ArrayList<>();

    private IndexRules(Index index, RecordRules records, CommitRecord commit) {
        this.index = index;
        this.records = records;
        this.commit = commit;
    }

    /// Checks all rules that need no more than the index.
    ///
    /// @param index the index, whose bytes were compared with the root digest
    /// @param records the rules for one record of it
    /// @param commit the record that points to it
    /// @return of each table the first fault
    public static List<FormatException> faults(Index index, RecordRules records, CommitRecord commit) {
        IndexRules rules = new IndexRules(index, records, commit);
        rules.run();
        return rules.faults;
    }

    private void run() {
        check(index::checkSections);
        check(this::checkBlocks);
        check(index::checkPadding);
        check(() -> each(SectionType.STRS, records::checkString));
        check(() -> each(SectionType.DTYP, records::checkDType));
        check(records::checkBases);
        check(() -> each(SectionType.FREE, records::checkFreeRange));
        check(() -> each(SectionType.EXTN, records::checkExtent));
        check(() -> each(SectionType.CODE, records::checkCoding));
        if (faults.isEmpty()) {
            check(this::checkBasesAreNamed);
            check(() -> new Intervals(index, commit).check());
        }
        check(this::checkStorages);
        check(() -> each(SectionType.TENS, records::checkTensor));
        check(this::checkNames);
        check(records::state);
        check(records::metadata);
    }

    private void check(Runnable rule) {
        try {
            rule.run();
        } catch (FormatException e) {
            faults.add(e);
        }
    }

    private void each(SectionType type, LongConsumer check) {
        for (long number = 0; number < index.count(type); number++) {
            check.accept(number);
        }
    }

    private void checkBlocks() {
        for (long block = 0; block < index.blockCount(); block++) {
            index.checkBlock(block);
        }
    }

    private void checkBasesAreNamed() {
        BitSet named = new BitSet();
        for (int extent = 0; extent < index.count(SectionType.EXTN); extent++) {
            named.set((int) index.get(SectionType.EXTN, extent, ExtentFields.BASE));
        }
        for (long coding = 0; coding < index.count(SectionType.CODE); coding++) {
            named.set((int) index.get(SectionType.CODE, coding, CodingFields.REFERENCE_BASE));
        }
        int unnamed = named.nextClearBit(1);
        if (unnamed <= index.count(SectionType.BASE)) {
            throw records.broken(Rule.V10_INDEX, SectionType.BASE, unnamed - 1, "is named by no extent");
        }
    }

    /// Each storage's extents follow those of the one before it, so that each extent belongs to one storage at most.
    private void checkStorages() {
        long total = 0;
        for (long number = 0; number < index.count(SectionType.STOR); number++) {
            records.checkStorage(number);
            total = records.sum(total, records.nbytes(number), SectionType.STOR, number);
        }
        if (index.count(SectionType.STOR) == 0 && index.count(SectionType.EXTN) > 0) {
            throw records.broken(Rule.V10_INDEX, SectionType.EXTN, 0, "belongs to no storage");
        }
        records.checkExpansion(total);
    }

    private void checkNames() {
        for (int number = 0; number < index.count(SectionType.NAMS); number++) {
            records.checkName(number);
            if (number > 0 && index.compareName(number - 1, number) >= 0) {
                throw records.broken(Rule.V6_NAME, SectionType.NAMS, number, "is not greater than the name before it");
            }
        }
    }

    /// The ranges of files that an index accounts for, sorted by file and offset: its extents except those of zeros,
    /// the free ranges, and the index itself with its parent record.
    ///
    /// Takes 8 bytes of memory an extent.
    private static final class Intervals {
        private final Index index;
        private final CommitRecord commit;
        private final int extents;
        private final int count;
        private final int[] sorted;

        /// Sorts the ranges of an index.
        ///
        /// @param index the index, whose records were checked one by one
        /// @param commit the record that points to it
        Intervals(Index index, CommitRecord commit) {
            this.index = index;
            this.commit = commit;
            this.extents = (int) index.count(SectionType.EXTN);
            this.count = Math.addExact(Math.addExact(extents, (int) index.count(SectionType.FREE)), 1);
            this.sorted = IndexSort.sorted(count, this::compare);
        }

        /// Checks that ranges either have no byte in common or are the same bytes, flagged so.
        void check() {
            int first = 0;
            for (int rank = 1; rank <= count; rank++) {
                if (rank == count || compare(sorted[first], sorted[rank]) != 0) {
                    checkSame(first, rank);
                    first = rank;
                }
            }
            for (int rank = 1; rank < count; rank++) {
                boolean same = compare(sorted[rank - 1], sorted[rank]) == 0;
                if (!same && base(sorted[rank - 1]) == base(sorted[rank])
                        && offset(sorted[rank]) < end(sorted[rank - 1])) {
                    throw Rule.V2_RANGE.broken("two extents, or an extent and the index or a free range, overlap",
                            offset(sorted[rank]));
                }
            }
        }

        /// Checks the ranges from one rank to before another, all of the same place.
        private void checkSame(int from, int to) {
            if (length(sorted[from]) == 0) {
                return;
            }
            boolean shared = to - from > 1;
            for (int rank = from; rank < to; rank++) {
                int item = sorted[rank];
                boolean isExtent = item < extents;
                if (shared && (!isExtent || !isSame(index.extent(sorted[from]), index.extent(item)))) {
                    throw Rule.V2_RANGE.broken("two extents, or an extent and the index or a free range, are the same "
                            + "bytes and may not be", offset(item));
                }
                if (isExtent && index.isShared(item) != shared) {
                    throw Rule.V2_RANGE.broken(
                            shared
                                    ? "an extent is not flagged as shared, and is"
                                    : "an extent is flagged as shared, and is not",
                            index.fileOffset(SectionType.EXTN, item) + ExtentFields.FLAGS.offset());
                }
            }
        }

        private static boolean isSame(ExtentRecord one, ExtentRecord other) {
            return one.length() == other.length() && one.sums().equals(other.sums())
                    && Objects.equals(one.coding(), other.coding());
        }

        private int compare(int left, int right) {
            int order = Integer.compare(base(left), base(right));
            order = order != 0 ? order : Long.compare(offset(left), offset(right));
            return order != 0 ? order : Long.compare(length(left), length(right));
        }

        private long end(int item) {
            return offset(item) + length(item);
        }

        private int base(int item) {
            return item < extents ? (int) index.get(SectionType.EXTN, item, ExtentFields.BASE) : ExtentRecord.THIS_FILE;
        }

        private long offset(int item) {
            if (item < extents) {
                return index.get(SectionType.EXTN, item, ExtentFields.OFFSET);
            }
            return item < count - 1 ? free(item).offset() : commit.ownOffset();
        }

        private long length(int item) {
            if (item < extents) {
                return index.storedLength(item);
            }
            return item < count - 1
                    ? free(item).length()
                    : commit.indexOffset() + commit.indexLength() - commit.ownOffset();
        }

        private FreeRange free(int item) {
            return index.freeRange(item - extents);
        }
    }
}
