package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/// Earlier snapshots of a file.
class ChainTest {
    private byte[] one = new byte[0];
    private byte[] two = new byte[0];
    private byte[] three = new byte[0];

    @BeforeEach
    void appendTwice() throws IOException {
        one = Golden.resource(Golden.FILE);
        two = FileImage.append(one, index("second"), "the second");
        three = FileImage.append(two, index("third"), "the third");
    }

    private static IndexBuilder index(String dtype) {
        IndexBuilder index = new IndexBuilder(FileImage.CHUNK_LOG2);
        index.addDType(new DTypeRecord(dtype, 8));
        return index;
    }

    @Test
    void aFileOfOneSnapshotHasAChainOfOne() throws IOException {
        assertThat(open(one).chain()).containsExactly(open(one).commit());
        byte[] sealed = new FileImage().toSealedByteArray();
        assertThat(open(sealed).chain()).containsExactly(open(sealed).commit());
    }

    @Test
    void theChainHasTheCommitsTheNewestFirst() throws IOException {
        assertThat(open(three).chain()).containsExactly(open(three).commit(), open(two).commit(), open(one).commit());
        assertThat(open(three).chain()).extracting(CommitRecord::message)
                .containsExactly("the third", "the second", "");
    }

    @Test
    void anEarlierSnapshotIsWhatItWas() throws IOException {
        Snapshot second = open(three).openAt(2);
        assertThat(second.commit()).isEqualTo(open(two).commit());
        assertThat(second.dtype(0).name()).isEqualTo("second");
        assertThat(second.chain()).hasSize(2);

        Snapshot first = open(three).openAt(1);
        assertThat(first.name(0)).isEqualTo(open(one).name(0));
        assertThat(Verifier.verify(source(three), first, BaseFiles.none()).findings()).isEmpty();
        assertThat(open(three).openAt(3).commit()).isEqualTo(open(three).commit());
    }

    @Test
    void aSnapshotThatIsNotThereIsNotFound() throws IOException {
        Snapshot snapshot = open(two);
        for (long sequence : new long[]{-1, 0, 3, Long.MAX_VALUE}) {
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> snapshot.openAt(sequence))
                    .withMessageContaining("snapshot " + sequence);
        }
    }

    @Test
    void v19RefusesAParentRecordOfAnotherCommit() throws IOException {
        int parent = (int) open(three).commit().previousRecord();
        FileImage.put(three, parent,
                Arrays.copyOfRange(three, (int) FileLayout.FIRST_COMMIT,
                        (int) FileLayout.FIRST_COMMIT + FileLayout.COMMIT_BYTES));
        Snapshot snapshot = open(three);
        refused(Rule.V19_CHAIN, snapshot::chain);
        refused(Rule.V19_CHAIN, () -> snapshot.openAt(1));
    }

    @Test
    void v19RefusesAParentThatReachesOverItsRecord() throws IOException {
        CommitRecord second = open(two).commit();
        long parent = open(three).commit().previousRecord();
        CommitRecord longer = new CommitRecord(2, second.indexOffset(), second.indexLength(), second.directoryDigest(),
                second.uuid(), parent + 1, second.previousRecord(), 0, 0, second.rootDigest(), "");
        FileImage.put(three, parent, longer.encode());
        refused(Rule.V19_CHAIN, open(three)::chain);
    }

    @Test
    void v14RefusesADamagedParentRecordAndADamagedEarlierIndex() throws IOException {
        byte[] page = three.clone();
        page[(int) open(three).commit().previousRecord() + 20] ^= 1;
        refused(Rule.V14_CHECKSUM, open(page)::chain);

        three[(int) open(one).commit().indexOffset() + 40] ^= 1;
        assertThat(open(three).chain()).hasSize(3);
        Snapshot snapshot = open(three);
        refused(Rule.V14_CHECKSUM, () -> snapshot.openAt(1));
        assertThat(snapshot.openAt(2).dtype(0).name()).isEqualTo("second");
    }

    @Test
    void v8RefusesALongerWalkThanTheLimit() throws IOException {
        Snapshot snapshot = Snapshot.open(source(three), RuleTest.limit("maxSnapshots", 1));
        refused(Rule.V8_LIMIT, snapshot::chain);
        refused(Rule.V8_LIMIT, () -> snapshot.openAt(1));
        assertThat(snapshot.openAt(2).commit().message()).isEqualTo("the second");
    }

    private static void refused(Rule rule, ThrowingCallable use) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(use).extracting(FormatException::code)
                .isEqualTo(rule.code());
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}
