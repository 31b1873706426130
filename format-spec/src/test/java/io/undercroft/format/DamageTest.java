package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Accidents: flipped bits, lost tails, torn writes.
class DamageTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);

    /// A bit of every 97th byte; `property-tests/run bitflips` flips them all.
    @ParameterizedTest
    @ValueSource(strings = {"everything", "snapshots", "torn", "dedup", "sealed"})
    void aFlippedBitIsFound(String name) throws IOException {
        byte[] file = Golden.resource("golden/" + name + ".croft");
        Snapshot snapshot = open(file);
        ByteSource source = source(file);
        IntStream places = IntStream.iterate(0, at -> at < file.length, at -> at + 97);
        assertThat(places.filter(at -> !isFree(snapshot, at) && !isFoundFlipped(source, file, at))).isEmpty();
    }

    private static boolean isFree(Snapshot snapshot, int at) {
        return IntStream.range(0, snapshot.freeRangeCount()).mapToObj(snapshot::freeRange)
                .anyMatch(range -> at >= range.offset() && at < range.offset() + range.length());
    }

    private static boolean isFoundFlipped(ByteSource source, byte[] file, int at) {
        file[at] ^= (byte) (1 << at % 8);
        boolean found = isFound(source);
        file[at] ^= (byte) (1 << at % 8);
        return found;
    }

    private static boolean isFound(ByteSource source) {
        try {
            return !Verifier.verify(source, Snapshot.open(source, Limits.DEFAULT), BaseFiles.none()).damages()
                    .isEmpty();
        } catch (FormatException e) {
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// At every 97th length; `property-tests/run truncations` cuts at all.
    @ParameterizedTest
    @ValueSource(strings = {"everything", "snapshots", "torn", "dedup", "sealed"})
    void aFileThatIsCutOpensAtTheSnapshotBeforeOrNotAtAll(String name) throws IOException {
        byte[] file = Golden.resource("golden/" + name + ".croft");
        Snapshot newest = open(file);
        long before = newest.commit().sequence() - 1;
        long whole = before == 0 ? file.length : newest.openAt(before).commit().committedLength();
        for (int length = 0; length < file.length; length += 97) {
            assertThat(sequence(MemorySegment.ofArray(file).asSlice(0, length))).as("cut at %d", length)
                    .isEqualTo(length < whole ? 0 : before);
        }
    }

    /// {@return the number of the snapshot that is opened, or 0 if the file is refused}
    private static long sequence(MemorySegment file) throws IOException {
        try {
            return Snapshot.open(ByteSource.of(file), Limits.DEFAULT).commit().sequence();
        } catch (FormatException e) {
            return 0;
        }
    }

    @Test
    void bytesAfterTheCommittedLengthAreNoPartOfTheFile() throws IOException {
        byte[] longer = Arrays.copyOf(GOLDEN, GOLDEN.length + 1000);
        Arrays.fill(longer, GOLDEN.length, longer.length, (byte) 0x55);

        assertThat(Verifier.verify(source(longer), open(longer), BaseFiles.none()).damages()).isEmpty();
    }

    @Test
    void theNewerOfTwoCommitsIsOpened() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");

        assertThat(open(two).commit().sequence()).isEqualTo(2);
        assertThat(open(two).dtype(0).name()).isEqualTo("second");
        assertThat(open(two).passedOver()).isNull();
        assertThat(Verifier.verify(source(two), open(two), BaseFiles.none()).damages()).isEmpty();
    }

    @Test
    void aTornCommitRecordGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        Arrays.fill(two, 0x1000 + 512, 0x2000, (byte) 0);

        assertOpensFirstCommit(two);
    }

    @Test
    void anIndexThatWasNeverWrittenGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        Arrays.fill(two, GOLDEN.length, two.length, (byte) 0);

        assertOpensFirstCommit(two);
    }

    @Test
    void aLostTailGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");

        assertOpensFirstCommit(Arrays.copyOf(two, GOLDEN.length));
    }

    @Test
    void aCommitThatBreaksARuleIsRefusedAndNotPassedOver() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        byte[] forged = new Forgery(two).putInt(0x1000 + 88, 1).sealedPage(0x1000);

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(forged))
                .extracting(FormatException::code).isEqualTo("V13-UNSUPPORTED");
    }

    private static void assertOpensFirstCommit(byte[] file) throws IOException {
        Snapshot first = open(file);
        assertThat(first.commit().sequence()).isEqualTo(1);
        assertThat(first.passedOver()).isNotNull();
        assertThat(Verifier.verify(source(file), first, BaseFiles.none()).damages()).isNotEmpty();
    }

    private static IndexBuilder secondIndex() {
        IndexBuilder second = new IndexBuilder(FileImage.CHUNK_LOG2);
        second.addDType(new DTypeRecord("second", 8));
        return second;
    }

    private static Snapshot open(byte[] file) throws IOException {
        return Snapshot.open(source(file), Limits.DEFAULT);
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}
