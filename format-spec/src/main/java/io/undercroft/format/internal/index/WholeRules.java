package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.index.Records.Extn;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.LongConsumer;

/// Checks an index as a whole: every record as [RecordRules] does, and what only all records together can break.
///
/// For any hostile file, the work is linear in the size of the index (but for sorting the extents), and nothing
/// is allocated that is larger than the index.
public final class WholeRules {
    private final Index index;
    private final RecordRules records;
    private final CommitRecord commit;
    private final Limits limits;
    private final List<FormatException> faults = new ArrayList<>();

    private WholeRules(Index index, RecordRules records, CommitRecord commit, Limits limits) {
        this.index = index;
        this.records = records;
        this.commit = commit;
        this.limits = limits;
    }

    /// Checks all rules that need no more than the index.
    ///
    /// @param index the index, whose bytes were compared with the root digest
    /// @param records the rules for one record of it
    /// @param commit the record that points to it
    /// @param limits the limits that the file must not exceed
    /// @return of each table the first fault
    public static List<FormatException> faults(Index index, RecordRules records, CommitRecord commit, Limits limits) {
        WholeRules rules = new WholeRules(index, records, commit, limits);
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
            named.set((int) index.get(SectionType.EXTN, extent, Extn.BASE));
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
        new Expansion(commit, limits).check(total);
    }

    private void checkNames() {
        for (int number = 0; number < index.count(SectionType.NAMS); number++) {
            records.checkName(number);
            if (number > 0 && index.compareName(number - 1, number) >= 0) {
                throw records.broken(Rule.V6_NAME, SectionType.NAMS, number, "is not greater than the name before it");
            }
        }
    }
}
