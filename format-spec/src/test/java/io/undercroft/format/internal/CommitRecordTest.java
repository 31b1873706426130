package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.Digest128;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/// Messages, parent records, and the one record of a sealed file.
class CommitRecordTest {
    private static final long SLOT = FileLayout.FIRST_COMMIT;
    private static final byte[] FILE = Features.shared().toByteArray("größer");
    private static final byte[] SEALED = Features.shared().toSealedByteArray();

    @Test
    void messagesComeBack() throws IOException {
        assertThat(open(FILE).commit().message()).isEqualTo("größer");
        assertThat(open(FILE).commit().recordLength()).isEqualTo(624);
        assertThat(open(Features.shared().toByteArray()).commit().recordLength()).isEqualTo(112);
        assertThat(open(Features.shared().toByteArray("x".repeat(508))).commit().message()).hasSize(508);
    }

    @Test
    void messagesThatDoNotFitAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> Features.shared().toByteArray("ö".repeat(255)));
        assertThatIllegalArgumentException().isThrownBy(() -> Features.shared().toByteArray("\uD800"));
    }

    @Test
    void aFirstRecordHasTheIdOfItsFileOrOneMadeOfWhatItHolds() {
        MemorySegment index = new IndexBuilder(FileImage.CHUNK_LOG2).build(1);
        CommitRecord canonical = CommitRecord.canonical(index, 65_536, 7, "why");
        CommitRecord first = CommitRecord.first(index, 65_536, Features.OTHER_ID, 7, "why");

        assertThat(canonical.uuid()).isEqualTo(FileLayout.canonicalUuid(Digest128.of(index)));
        assertThat(first.uuid()).isEqualTo(Features.OTHER_ID);
        assertThat(first).usingRecursiveComparison().ignoringFields("uuid").isEqualTo(canonical);
        assertThat(first.committedLength()).isEqualTo(65_536 + index.byteSize());
        assertThat(first.timeMillis()).isEqualTo(7);
    }

    @Test
    void theNextRecordSaysWhereTheParentRecordIs() {
        CommitRecord before = CommitRecord.canonical(new IndexBuilder(FileImage.CHUNK_LOG2).build(1), 65_536, 0, "");
        CommitRecord next = before.next(new IndexBuilder(FileImage.CHUNK_LOG2).build(2), 73_728, 8, "next");

        assertThat(next.sequence()).isEqualTo(2);
        assertThat(next.previousRecord()).isEqualTo(73_728 - 768);
        assertThat(next.uuid()).isEqualTo(before.uuid());
        assertThat(next.timeMillis()).isEqualTo(8);
        assertThat(next.message()).isEqualTo("next");
    }

    @Test
    void malformedMessagesAreRefused() {
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putInt(SLOT + 112, 509).sealedPage(SLOT));
        refused(Rule.V6_NAME, new Forgery(FILE).putByte(SLOT + 116, 0xFF).sealedPage(SLOT));
        refused(Rule.V9_RESERVED, new Forgery(FILE).putByte(SLOT + 623, 1).sealedPage(SLOT));
        refused(Rule.V9_RESERVED, new Forgery(FILE).putByte(SLOT + 624, 1).sealedPage(SLOT));
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putInt(SLOT + 4, 623).sealedPage(SLOT));
        refused(Rule.V15_STRUCTURE, new Forgery(FILE).putInt(SLOT + 4, 765).sealedPage(SLOT));
    }

    @Test
    void longerRecordsOfANewerMinorVersionAreRead() throws IOException {
        byte[] longer = new Forgery(FILE).putInt(SLOT + 4, 700).putByte(SLOT + 650, 1).sealedPage(SLOT);
        assertThat(open(longer).commit().message()).isEqualTo("größer");
    }

    @Test
    void v19RefusesAParentRecordThatCannotBe() throws IOException {
        refused(Rule.V19_CHAIN, new Forgery(FILE).putLong(SLOT + 72, FileLayout.DATA_START).sealedPage(SLOT));
        byte[] two = FileImage.append(FILE, new IndexBuilder(FileImage.CHUNK_LOG2), "");
        long second = Refusals.header(two).recordOffset(2);
        long parent = open(two).commit().previousRecord();
        assertThat(parent).isEqualTo(open(two).commit().indexOffset() - FileLayout.COMMIT_BYTES);
        refused(Rule.V19_CHAIN, new Forgery(two).putLong(second + 72, 0).sealedPage(second));
        refused(Rule.V19_CHAIN,
                new Forgery(two).putLong(second + 72, parent - FileLayout.COMMIT_BYTES).sealedPage(second));
    }

    @Test
    void theParentRecordIsTheRecordBefore() throws IOException {
        byte[] two = FileImage.append(FILE, new IndexBuilder(FileImage.CHUNK_LOG2), "second");
        int parent = (int) open(two).commit().previousRecord();
        assertThat(Arrays.copyOfRange(two, parent, parent + FileLayout.COMMIT_BYTES))
                .isEqualTo(Arrays.copyOfRange(FILE, (int) SLOT, (int) SLOT + FileLayout.COMMIT_BYTES));
        assertThat(open(two).commit().message()).isEqualTo("second");
    }

    @Test
    void aSealedFileIsReadFromItsEndAndNeverWrittenTo() throws IOException {
        Snapshot snapshot = open(SEALED);
        assertThat(snapshot.header().isSealed()).isTrue();
        assertThat(snapshot.header().isWritable()).isFalse();
        assertThat(open(FILE).header().isWritable()).isTrue();
        assertThat(snapshot.storageCount()).isEqualTo(2);
        assertThat(verify(SEALED)).isEmpty();
    }

    @Test
    void verifyingASealedFileLooksAtWhatLiesBeforeItsRecord() throws IOException {
        FileImage image = Features.shared();
        image.index().putMetadata("made by", "nobody");
        byte[] marked = image.toSealedByteArray();
        long end = open(marked).commit().committedLength();
        assertThat(end % 64).isPositive();
        marked[(int) end] = 1;
        assertThat(verify(marked)).singleElement().extracting(Finding::rule, Finding::offset)
                .containsExactly(Rule.V3_GAP, end);
    }

    @Test
    void v17RefusesASealedFileThatWasCutOrGrew() {
        refused(Rule.V17_COMMIT, Arrays.copyOf(SEALED, SEALED.length - 1));
        refused(Rule.V17_COMMIT, Arrays.copyOf(SEALED, SEALED.length + 1));
        refused(Rule.V17_COMMIT, Arrays.copyOf(SEALED, SEALED.length - FileLayout.COMMIT_BYTES));
    }

    @Test
    void v20RefusesASealedFileWithAFirstRecordOrWithItsRecordElsewhere() {
        byte[] slotted = SEALED.clone();
        slotted[(int) FileLayout.FIRST_COMMIT] = 1;
        refused(Rule.V20_SEAL, slotted);
        byte[] moved = Arrays.copyOf(SEALED, SEALED.length + FileLayout.COMMIT_BYTES);
        System.arraycopy(SEALED, SEALED.length - FileLayout.COMMIT_BYTES, moved, SEALED.length,
                FileLayout.COMMIT_BYTES);
        refused(Rule.V20_SEAL, moved);
    }
}
