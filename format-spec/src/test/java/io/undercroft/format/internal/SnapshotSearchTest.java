package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/// A file of four snapshots.
class SnapshotSearchTest {
    private final byte[] file = fourSnapshots();

    private static byte[] fourSnapshots() {
        FileImage image = new FileImage();
        image.addStorage((byte) 1, (byte) 2);
        byte[] file = image.toByteArray("one");
        for (String message : new String[]{"two", "three", "four"}) {
            file = FileImage.append(file, new IndexBuilder(FileImage.CHUNK_LOG2), message);
        }
        return file;
    }

    @Test
    void aSoundFileIsNotSearched() throws IOException {
        SnapshotSearch.Found found = find(file);
        assertThat(found.isSearched()).isFalse();
        assertThat(found.snapshot().commit().message()).isEqualTo("four");
    }

    @Test
    void whatOpensInTheUsualWayIsNotSearchedFor() throws IOException {
        damageIndexOf(4);
        SnapshotSearch.Found found = find(file);
        assertThat(found.isSearched()).isFalse();
        assertThat(found.snapshot().commit().sequence()).isEqualTo(3);
        assertThat(found.snapshot().skippedCommit()).isNotNull();
    }

    @Test
    void snapshotsThatNoSlotLeadsToAreFoundByTheirParentRecords() throws IOException {
        damageIndexOf(4);
        damageIndexOf(3);
        SnapshotSearch.Found found = find(file);
        assertThat(found.isSearched()).isTrue();
        assertThat(found.snapshot().commit().message()).isEqualTo("two");
        assertThat(found.snapshot().skippedCommit()).isNotNull();
        assertThat(found.snapshot().chain()).extracting(CommitRecord::sequence).containsExactly(2L, 1L);
    }

    @Test
    void lostSlotsAreNoLossButForTheNewestSnapshot() throws IOException {
        damageSlots(file);
        SnapshotSearch.Found found = find(file);
        assertThat(found.isSearched()).isTrue();
        assertThat(found.snapshot().commit().sequence()).isEqualTo(3);
    }

    @Test
    void recordsOfOtherFilesAndForgedOnesAreNotBelieved() throws IOException {
        CommitRecord newest = commit(4);
        byte[] longer = Arrays.copyOf(file, file.length + 4 * FileLayout.COMMIT_BYTES);
        int end = (int) FileLayout.placeIndex(file.length);
        put(longer, end, new CommitRecord(9, newest.indexOffset(), newest.indexLength(), newest.directoryDigest(),
                Features.OTHER_ID, newest.committedLength(), newest.previousRecord(), 0, 0, newest.rootDigest(), ""));
        put(longer, end + FileLayout.COMMIT_BYTES,
                new CommitRecord(9, Long.MAX_VALUE - 63, 64, newest.directoryDigest(),
                        newest.uuid(), Long.MAX_VALUE, Long.MAX_VALUE - 63 - 768, 0, 0, newest.rootDigest(), ""));
        damageSlots(longer);
        assertThat(find(longer).snapshot().commit().sequence()).isEqualTo(3);
    }

    @Test
    void whereNothingOpensTheFirstFaultIsTold() {
        for (long sequence = 1; sequence <= 4; sequence++) {
            damageIndexOf(sequence);
        }
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> find(file))
                .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> find(Arrays.copyOf(file, 1000)))
                .extracting(FormatException::code).isEqualTo("V11-TRUNCATED");
        file[100] ^= 1;
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> find(file))
                .withMessageContaining("header");
    }

    @Test
    void aFileCutAnywhereGivesASnapshotOrAFormatException() throws IOException {
        damageSlots(file);
        for (int length = 0; length < file.length; length += 509) {
            try {
                assertThat(find(Arrays.copyOf(file, length)).snapshot().commit().committedLength())
                        .isLessThanOrEqualTo(length);
            } catch (FormatException e) {
                assertThat(e.what()).isNotBlank();
            }
        }
    }

    private void damageIndexOf(long sequence) {
        file[(int) commit(sequence).indexOffset() + 40] ^= 1;
    }

    private static void damageSlots(byte[] file) {
        Header header = Refusals.header(file);
        Arrays.fill(file, (int) header.slots(), (int) header.slotsEnd(), (byte) 0x55);
    }

    /// From its slot or parent record, which the tests leave as they are while they ask.
    private CommitRecord commit(long sequence) {
        for (int at = 0; at + FileLayout.COMMIT_BYTES <= file.length; at += (int) FileLayout.SMALL_ALIGNMENT) {
            try {
                CommitRecord record = CommitRecord
                        .decode(MemorySegment.ofArray(file).asSlice(at, FileLayout.COMMIT_BYTES), at);
                if (record.sequence() == sequence) {
                    return record;
                }
            } catch (FormatException e) {
                assertThat(e.what()).isNotBlank();
            }
        }
        throw new AssertionError("there is no commit " + sequence);
    }

    private static SnapshotSearch.Found find(byte[] file) throws IOException {
        return SnapshotSearch.find(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT);
    }

    private static void put(byte[] file, int at, CommitRecord record) {
        System.arraycopy(record.encode(), 0, file, at, FileLayout.COMMIT_BYTES);
    }
}
