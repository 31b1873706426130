package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// What a reader does with what it does not know: section 13 of `SPEC.md`, row by row.
class FutureTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    private static final byte[] EVERYTHING = Features.everySection().toByteArray();
    private static final String NAME = "model/größe";

    private final Forgery forgery = new Forgery(GOLDEN);

    @Test
    void theTableHasTheseRows() throws IOException {
        assertThat(SpecTable.one(Golden.spec(), "what a reader does not know", "what it does").rows())
                .extracting(List::getFirst).containsExactly("another major version", "a greater minor version",
                        "a required bit, of the file or a commit", "a read-only-compatible bit", "an optional bit",
                        "a critical section", "another section", "longer records, where allowed",
                        "a longer commit record", "a flag of an extent or tensor, a reserved byte",
                        "a kind of extent or base, a codec", "an element type", "a tag of the state tree");
    }

    @Test
    void anotherMajorVersionIsRefused() {
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putShort(8, 2).sealedPage(0));
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putShort(8, 0).sealedPage(0));
    }

    @Test
    void aGreaterMinorVersionIsRead() throws IOException {
        byte[] newer = forgery.putShort(10, 0xFFFF).sealedPage(0);
        assertThat(open(newer).header().minor()).isEqualTo(0xFFFF);
        assertThat(open(newer).header().isWritable()).isTrue();
        assertReadsAsGolden(newer);
    }

    @Test
    void aRequiredBitOfTheFileOrACommitIsRefused() {
        for (int bit = 0; bit < Long.SIZE; bit++) {
            refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putLong(32, 1L << bit).sealedPage(0));
            long slot = forgery.slot();
            refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putLong(slot + 88, 1L << bit).sealedPage(slot));
        }
    }

    @Test
    void aReadOnlyCompatibleBitIsReadAndNeverWrittenTo() throws IOException {
        for (int bit = 1; bit < Long.SIZE; bit++) {
            byte[] newer = new Forgery(GOLDEN).putLong(40, 1L << bit).sealedPage(0);
            assertThat(open(newer).header().isWritable()).isFalse();
            assertThat(open(newer).header().isSealed()).isFalse();
            assertReadsAsGolden(newer);
        }
    }

    @Test
    void anOptionalBitIsIgnored() throws IOException {
        byte[] newer = forgery.putLong(48, -1).sealedPage(0);
        assertThat(open(newer).header().isWritable()).isTrue();
        assertReadsAsGolden(newer);
    }

    @Test
    void aCriticalSectionIsRefused() throws IOException {
        byte[] newer = Future.of(GOLDEN, Set.of(), Future.SAFE);
        long flags = lastEntry(newer) + 4;
        for (int critical : new int[]{Index.CRITICAL, Index.CRITICAL | Index.SAFE_TO_COPY}) {
            refused(Rule.V13_UNSUPPORTED, new Forgery(newer).putInt(flags, critical).sealedDirectory());
        }
        refused(Rule.V9_RESERVED, new Forgery(newer).putInt(flags, 4).sealedDirectory());
    }

    @Test
    void anotherSectionIsIgnored() throws IOException {
        assertReadsAsGolden(Future.of(GOLDEN, Set.of(), Future.UNSAFE, Future.SAFE));
        byte[] large = Future.of(EVERYTHING, Set.of(), Future.UNSAFE, Future.SAFE);
        assertThat(open(large).findTensor("name 999")).isEqualTo(open(EVERYTHING).findTensor("name 999"));
        assertThat(open(large).faults()).isEmpty();
    }

    @Test
    void thePlaceAndTheChecksumOfAnotherSectionAreCheckedAllTheSame() throws IOException {
        byte[] newer = Future.of(GOLDEN, Set.of(), Future.SAFE);
        Forgery forged = new Forgery(newer);
        long entry = lastEntry(newer);
        long start = forged.indexOffset() + forged.getLong(entry + 8);
        refused(Rule.V14_CHECKSUM, new Forgery(newer).putByte(start, 9).sealedDirectory());
        refused(Rule.V2_RANGE, new Forgery(newer).putLong(entry + 8, 0x240).sealedDirectory());
        refused(Rule.V2_RANGE, new Forgery(newer).putLong(entry + 16, 1 << 20).sealedDirectory());
        refused(Rule.V15_STRUCTURE, new Forgery(newer).putLong(entry + 24, 2).sealedDirectory());
        refused(Rule.V9_RESERVED, new Forgery(newer).putByte(start + 3, 1).sealedDirectory());
    }

    @Test
    void theChecksumOfAnotherSectionOfALargeIndexIsCheckedWhenItIsUsed() throws IOException {
        byte[] newer = Future.of(EVERYTHING, Set.of(), Future.SAFE);
        Forgery forged = new Forgery(newer);
        long entry = lastEntry(newer) - Index.ENTRY_BYTES; // ISUM is the last one.
        newer[Math.toIntExact(forged.indexOffset() + forged.getLong(entry + 8))] ^= 1;
        Snapshot snapshot = open(newer);
        refusedInUse(Rule.V14_CHECKSUM, snapshot::unknownSections);
        assertThat(snapshot.findTensor("name 0")).isPositive();
    }

    private static long lastEntry(byte[] file) throws IOException {
        CommitRecord commit = open(file).commit();
        return commit.indexOffset() + Records.directory(open(file).index().bytes()).byteSize() - Index.ENTRY_BYTES;
    }

    @ParameterizedTest
    @EnumSource(SectionType.class)
    void longerRecordsAreReadWhereAllowedAndRefusedElsewhere(SectionType type) throws IOException {
        byte[] longer = Future.of(EVERYTHING, EnumSet.of(type));
        if (!type.isWidenable()) {
            if (type != SectionType.ISUM) { // which is made anew, with the records that it has
                refused(Rule.V15_STRUCTURE, longer);
            }
            return;
        }
        Snapshot snapshot = open(longer);
        Snapshot before = open(EVERYTHING);
        assertThat(snapshot.index().recordSize(type)).isEqualTo(type.recordSize() + 8);
        assertThat(snapshot.faults()).isEmpty();
        for (int i = 0; i < before.tensorCount(); i++) {
            assertThat(snapshot.tensor(i)).isEqualTo(before.tensor(i));
            assertThat(snapshot.nameOfTensor(i)).isEqualTo(before.nameOfTensor(i));
        }
        for (int i = 0; i < before.nameCount(); i++) {
            assertThat(snapshot.findTensor(before.name(i))).isEqualTo(before.tensorOfName(i));
        }
        for (int i = 0; i < before.storageCount(); i++) {
            assertThat(snapshot.storage(i)).isEqualTo(before.storage(i));
        }
        for (int i = 0; i < before.extentCount(); i++) {
            assertThat(snapshot.extent(i)).isEqualTo(before.extent(i));
        }
        assertThat(snapshot.base(1)).isEqualTo(before.base(1));
        assertThat(snapshot.freeRange(0)).isEqualTo(before.freeRange(0));
        assertThat(snapshot.dtype(0)).isEqualTo(before.dtype(0));
    }

    @Test
    void shorterRecordsAreRefused() {
        long entry = forgery.entry(SectionType.STRS);
        refused(Rule.V15_STRUCTURE, forgery.putInt(entry + 32, 8).putLong(entry + 24, 4).sealed());
    }

    @Test
    void aLongerCommitRecordIsRead() throws IOException {
        long slot = forgery.slot();
        byte[] longer = forgery.putInt(slot + 4, FileLayout.COMMIT_BYTES - 4).putLong(slot + 624, -1)
                .putByte(slot + 763, 7)
                .sealedPage(slot);
        assertReadsAsGolden(longer);
    }

    @Test
    void aFlagOrAReservedByteIsRefused() throws IOException {
        long extent = forgery.at(SectionType.EXTN, 1);
        long tensor = forgery.at(SectionType.TENS, 0);
        long string = forgery.at(SectionType.STRS, 0);
        for (int bit = 1; bit < Byte.SIZE; bit++) {
            refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putByte(extent + 1, 1 << bit).sealed());
        }
        for (int bit = 0; bit < Integer.SIZE; bit++) {
            refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putInt(string + 12, 1 << bit).sealed());
        }
        Snapshot snapshot = open(new Forgery(GOLDEN).putByte(tensor + 3, 0x80).sealed());
        refusedInUse(Rule.V9_RESERVED, () -> snapshot.tensor(0));
        assertThat(snapshot.tensor(1)).isEqualTo(open(GOLDEN).tensor(1));
    }

    @Test
    void aKindOfExtentOrBaseIsRefusedWithWhatStandsOnIt() throws IOException {
        for (int kind : new int[]{4, 9, 0xFF}) {
            Snapshot extents = open(new Forgery(GOLDEN).putByte(forgery.at(SectionType.EXTN, 1), kind).sealed());
            refusedInUse(Rule.V13_UNSUPPORTED, () -> extents.storage(0));
            assertThat(extents.storage(1)).isEqualTo(open(GOLDEN).storage(1));
        }
        Forgery based = new Forgery(EVERYTHING);
        Snapshot bases = open(based.putShort(based.at(SectionType.BASE, 1) + 12, 2).sealed());
        refusedInUse(Rule.V13_UNSUPPORTED, () -> bases.storage(2));
        assertThat(bases.storage(0)).isEqualTo(open(EVERYTHING).storage(0));
    }

    @Test
    void aCodecIsRefusedWithTheExtentsThatHaveIt() throws IOException {
        byte[] coded = Features.coded().toByteArray();
        Forgery known = new Forgery(coded);
        for (int codec : new int[]{0, 3, 0xFF}) {
            Snapshot snapshot = open(
                    new Forgery(coded).putByte(known.at(SectionType.CODE, 0) + 4, codec).sealed());
            refusedInUse(Rule.V13_UNSUPPORTED, () -> snapshot.extent(1));
            assertThat(snapshot.extent(2)).isEqualTo(open(coded).extent(2));
        }
    }

    @Test
    void anElementTypeIsItsBits() throws IOException {
        FileImage image = new FileImage();
        int posit = image.index().addDType(new DTypeRecord("posit24", 24));
        int wide = image.index().addDType(new DTypeRecord("float32", 33));
        int storage = image.addStorage(new byte[9]);
        TensorRecord tensor = new TensorRecord(posit, storage, 0, Set.of(), new long[]{3}, new long[]{1});
        image.index().addName("a", image.index().addTensor(tensor));
        // From the second element on, which starts at bit 33.
        image.index().addTensor(new TensorRecord(wide, image.addStorage(new byte[13]), 4, 1, Set.of(), new long[]{2},
                new long[]{1}));
        byte[] file = image.toByteArray();

        assertThat(verify(file)).isEmpty();
        assertThat(open(file).tensor(0)).isEqualTo(tensor);
        assertThat(open(file).dtype(posit)).isEqualTo(new DTypeRecord("posit24", 24));
        assertThat(open(file).dtype(wide)).isEqualTo(new DTypeRecord("float32", 33));
        Forgery longer = new Forgery(file);
        refused(Rule.V5_STRIDE_RANGE, longer.putLong(longer.at(SectionType.DIMS, 0), 4).sealed());
    }

    @Test
    void aTagOfTheStateTreeIsRefusedWithTheTreeAndNothingElse() throws IOException {
        Snapshot snapshot = open(forgery.putByte(forgery.at(SectionType.TREE, 0), 0x30).sealed());
        refusedInUse(Rule.V16_TREE, snapshot::tree);
        assertThat(snapshot.tensor(snapshot.findTensor(NAME))).isEqualTo(open(GOLDEN).tensor(1));
        assertThat(snapshot.metadata()).isEqualTo(open(GOLDEN).metadata());
    }

    private static void assertReadsAsGolden(byte[] file) throws IOException {
        Snapshot snapshot = open(file);
        assertThat(snapshot.tensor(snapshot.findTensor(NAME))).isEqualTo(open(GOLDEN).tensor(1));
        assertThat(snapshot.metadata()).isEqualTo(open(GOLDEN).metadata());
        assertThat(verify(file)).isEmpty();
    }

    private static void refusedInUse(Rule rule, ThrowingCallable use) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(use).extracting(FormatException::code)
                .isEqualTo(rule.code());
    }
}
