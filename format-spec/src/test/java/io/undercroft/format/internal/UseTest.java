package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/// Records that break a rule: the file opens, they are refused when they are used, and the others can be used.
class UseTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);

    private final Forgery forgery = new Forgery(GOLDEN);

    @Test
    void aTensorThatReachesOutsideItsStorageIsRefusedWhenItIsUsed() throws IOException {
        Snapshot snapshot = open(forgery.putLong(forgery.at(SectionType.TENS, 0) + 8, 4).sealed());

        refused(Rule.V5_STRIDE_RANGE, () -> snapshot.tensor(0));
        refused(Rule.V5_STRIDE_RANGE, () -> snapshot.nameOfTensor(0));
        assertThat(snapshot.tensor(1)).isEqualTo(open(GOLDEN).tensor(1));
    }

    @Test
    void aStorageWhoseExtentsDoNotAddUpIsRefusedWhenItIsUsed() throws IOException {
        Snapshot snapshot = open(forgery.putLong(forgery.at(SectionType.STOR, 1), 49).sealed());

        refused(Rule.V4_EXTENT_SUM, () -> snapshot.storage(1));
        assertThat(snapshot.storage(2)).isEqualTo(open(GOLDEN).storage(2));
    }

    @Test
    void aStorageWithTheExtentsOfAnotherIsRefusedWhenItIsUsed() throws IOException {
        Snapshot snapshot = open(forgery.putInt(forgery.at(SectionType.STOR, 1) + 8, 4).sealed());

        refused(Rule.V10_INDEX, () -> snapshot.storage(1));
    }

    @Test
    void anExtentOutsideTheDataIsRefusedWithItsStorage() throws IOException {
        int number = open(GOLDEN).storage(1).firstExtent();
        Snapshot snapshot = open(forgery.putLong(forgery.at(SectionType.EXTN, number) + 8, 0).sealed());

        refused(Rule.V2_RANGE, () -> snapshot.extent(number));
        refused(Rule.V2_RANGE, () -> snapshot.storage(1));
        assertThat(snapshot.storage(0)).isEqualTo(open(GOLDEN).storage(0));
    }

    @Test
    void anElementTypeIsRefusedWhenItOrItsTensorIsUsed() throws IOException {
        int dtype = open(GOLDEN).tensor(0).dtype();
        Snapshot snapshot = open(forgery.putInt(forgery.at(SectionType.DTYP, dtype) + 12, 0).sealed());

        refused(Rule.V15_STRUCTURE, () -> snapshot.dtype(dtype));
        refused(Rule.V15_STRUCTURE, () -> snapshot.tensor(0));
    }

    @Test
    void aNameIsRefusedWhenTheSearchMeetsIt() throws IOException {
        int middle = (open(GOLDEN).nameCount() - 1) / 2;
        Snapshot snapshot = open(forgery.putInt(forgery.at(SectionType.NAMS, middle) + 12, 1000).sealed());

        refused(Rule.V10_INDEX, () -> snapshot.name(middle));
        refused(Rule.V10_INDEX, () -> snapshot.tensorOfName(middle));
        refused(Rule.V10_INDEX, () -> snapshot.findTensor("any"));
    }

    @Test
    void basesAndFreeRangesAreRefusedWhenTheyAreUsed() throws IOException {
        byte[] file = Features.everySection().toByteArray();
        Forgery other = new Forgery(file);
        other.putShort(other.at(SectionType.BASE, 0) + 14, 8).putLong(other.at(SectionType.FREE, 0) + 8, 0);
        Snapshot snapshot = open(other.sealed());

        refused(Rule.V8_LIMIT, () -> snapshot.base(1));
        refused(Rule.V8_LIMIT, () -> snapshot.extent(1));
        refused(Rule.V2_RANGE, () -> snapshot.freeRange(0));
        assertThat(snapshot.extent(0)).isEqualTo(open(file).extent(0));
    }

    @Test
    void treeAndMetadataAreRefusedWhenTheyAreRead() throws IOException {
        forgery.putByte(forgery.at(SectionType.TREE, 0), 0).putByte(forgery.at(SectionType.META, 0), 0x10);
        Snapshot snapshot = open(forgery.sealed());

        refused(Rule.V16_TREE, snapshot::tree);
        refused(Rule.V16_TREE, snapshot::metadata);
        assertThat(snapshot.tensorCount()).isEqualTo(open(GOLDEN).tensorCount());
    }

    @Test
    void storagesAreSummedUpAsTheyAreUsedEachOnce() throws IOException {
        long first = open(GOLDEN).storage(0).nbytes();
        long over = first - open(GOLDEN).commit().committedLength();
        Snapshot snapshot = Snapshot.open(ByteSource.of(MemorySegment.ofArray(GOLDEN)),
                RuleTest.limit("maxExpansion", over));

        assertThat(snapshot.storage(0).nbytes()).isEqualTo(first);
        assertThat(snapshot.storage(0).nbytes()).isEqualTo(first);
        refused(Rule.V7_EXPANSION, () -> snapshot.storage(1));
        refused(Rule.V7_EXPANSION, () -> snapshot.storage(1));
        assertThat(snapshot.storage(0).nbytes()).isEqualTo(first);
    }

    private static void refused(Rule rule, ThrowingCallable use) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(use).extracting(FormatException::code)
                .isEqualTo(rule.code());
    }
}
