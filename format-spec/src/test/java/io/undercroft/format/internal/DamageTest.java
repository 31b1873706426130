package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
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

    /// A bit of every 97th byte, of fewer where verifying decodes; `property-tests/run bitflips` flips them all.
    @ParameterizedTest
    @ValueSource(strings = {"everything", "snapshots", "torn", "dedup", "sealed", "coded"})
    void aFlippedBitIsFound(String name) throws IOException {
        byte[] file = Golden.resource("golden/" + name + ".croft");
        Snapshot snapshot = open(file);
        ByteSource source = source(file);
        int step = name.equals("coded") ? 997 : 97;
        IntStream places = IntStream.iterate(0, at -> at < file.length, at -> at + step);
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
            return !Verifier.verify(source, Snapshot.open(source, Limits.DEFAULT), BaseFiles.none()).findings()
                    .isEmpty();
        } catch (FormatException e) {
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// At every 97th length; `property-tests/run truncations` cuts at all.
    @ParameterizedTest
    @ValueSource(strings = {"everything", "snapshots", "torn", "dedup", "sealed", "coded"})
    void aFileThatIsCutOpensAtTheSnapshotBeforeOrNotAtAll(String name) throws IOException {
        byte[] file = Golden.resource("golden/" + name + ".croft");
        Snapshot newest = open(file);
        long before = newest.commit().sequence() - 1;
        long whole = before == 0 ? file.length : newest.openAt(before).commit().committedLength();
        long first = newest.openAt(1).commit().committedLength();
        for (int length = 0; length < file.length; length += 97) {
            boolean isInSlots = before > 0 && length >= first && length < newest.header().slotsEnd();
            assertThat(sequence(MemorySegment.ofArray(file).asSlice(0, length))).as("cut at %d", length)
                    .isEqualTo(isInSlots ? 1 : length < whole ? 0 : before);
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
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        for (byte[] file : new byte[][]{FileImage.torn(GOLDEN, 1000), FileImage.torn(two, 1000)}) {
            assertThat(open(file).skippedCommit()).isNull();
            assertThat(Verifier.verify(source(file), open(file), BaseFiles.none()).findings()).isEmpty();
        }
    }

    @Test
    void aFirstSnapshotBehindWhichCommitSlotsAreMissingOrDamagedIsOpenedAndToldOf() throws IOException {
        for (int more : new int[]{1, 1000, 4096, 10_000}) {
            byte[] longer = Arrays.copyOf(GOLDEN, GOLDEN.length + more);
            Arrays.fill(longer, GOLDEN.length, longer.length, (byte) 0x55);
            assertOpensFirstCommit(longer);
        }
        byte[] bothDamaged = Arrays.copyOf(GOLDEN, GOLDEN.length + 20_000);
        Arrays.fill(bothDamaged, GOLDEN.length, bothDamaged.length, (byte) 0x55);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(bothDamaged))
                .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
    }

    @Test
    void theNewerOfTwoCommitsIsOpened() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");

        assertThat(open(two).commit().sequence()).isEqualTo(2);
        assertThat(open(two).dtype(0).name()).isEqualTo("second");
        assertThat(open(two).skippedCommit()).isNull();
        assertThat(Verifier.verify(source(two), open(two), BaseFiles.none()).findings()).isEmpty();
    }

    @Test
    void aTornCommitRecordGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        int slot = (int) Refusals.header(two).recordOffset(2);
        Arrays.fill(two, slot + 512, slot + FileLayout.PAGE, (byte) 0);

        assertOpensFirstCommit(two);
    }

    @Test
    void anIndexThatWasNeverWrittenGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        Arrays.fill(two, (int) Refusals.header(two).slotsEnd(), two.length, (byte) 0);

        assertOpensFirstCommit(two);
    }

    @Test
    void aLostTailGivesTheCommitBefore() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");

        Header header = Refusals.header(two);
        for (long end : new long[]{GOLDEN.length + 1, header.slots(), header.slots() + FileLayout.PAGE,
                header.slotsEnd() - 1, header.slotsEnd(), two.length - 1}) {
            assertOpensFirstCommit(Arrays.copyOf(two, (int) end));
        }
        byte[] asItWas = Arrays.copyOf(two, GOLDEN.length);
        assertThat(asItWas).isEqualTo(GOLDEN);
    }

    @Test
    void theFirstSnapshotIsNoSubstituteForAThird() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        byte[] three = FileImage.append(two, secondIndex(), "the third");
        Header header = Refusals.header(three);
        Arrays.fill(three, (int) header.slots() + 100, (int) header.slotsEnd() - 100, (byte) 0x55);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(three))
                .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
    }

    @Test
    void aCommitThatBreaksARuleIsRefusedAndNotPassedOver() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");
        long slot = Refusals.header(two).recordOffset(2);
        byte[] forged = new Forgery(two).putInt(slot + 88, 1).sealedPage(slot);

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(forged))
                .extracting(FormatException::code).isEqualTo("V13-UNSUPPORTED");
    }

    private static void assertOpensFirstCommit(byte[] file) throws IOException {
        Snapshot first = open(file);
        assertThat(first.commit().sequence()).isEqualTo(1);
        assertThat(first.skippedCommit()).isNotNull();
        assertThat(Verifier.verify(source(file), first, BaseFiles.none()).findings()).isNotEmpty();
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
