package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/// Accidents: flipped bits, lost tails, torn writes.
class DamageTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);

    @Test
    void everyFlippedBitOfPagesExtentsAndIndexIsFound() {
        IntStream bits = IntStream.concat(IntStream.range(0, Layout.PREFIX_BYTES * 8),
                IntStream.range((int) Layout.DATA_START * 8, GOLDEN.length * 8));
        assertThat(unnoticedFlips(bits)).isEmpty();
    }

    /// One bit of each byte: which one makes no difference to a test for zero, and eight times the time.
    @Test
    void aFlippedBitInAnyByteOfTheGapBeforeTheDataIsFound() {
        IntStream bits = IntStream.range(Layout.PREFIX_BYTES, (int) Layout.DATA_START).map(at -> at * 8 + at % 8);
        assertThat(unnoticedFlips(bits)).isEmpty();
    }

    private static int[] unnoticedFlips(IntStream bits) {
        byte[] file = GOLDEN.clone();
        ByteSource source = source(file);
        return bits.filter(bit -> {
            file[bit / 8] ^= (byte) (1 << bit % 8);
            boolean found = isFound(source);
            file[bit / 8] ^= (byte) (1 << bit % 8);
            return !found;
        }).toArray();
    }

    private static boolean isFound(ByteSource source) {
        try {
            return !Verifier.verify(source, Snapshot.open(source, Limits.DEFAULT)).isEmpty();
        } catch (FormatException e) {
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aFileCutAnywhereIsRefused() {
        MemorySegment whole = MemorySegment.ofArray(GOLDEN);
        int[] opened = IntStream.range(0, GOLDEN.length).filter(length -> isOpened(whole.asSlice(0, length))).toArray();
        assertThat(opened).as("lengths at which a cut file was opened all the same").isEmpty();
    }

    private static boolean isOpened(MemorySegment file) {
        try {
            Snapshot.open(ByteSource.of(file), Limits.DEFAULT);
            return true;
        } catch (FormatException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void bytesAfterTheCommittedLengthAreNoPartOfTheFile() throws IOException {
        byte[] longer = Arrays.copyOf(GOLDEN, GOLDEN.length + 1000);
        Arrays.fill(longer, GOLDEN.length, longer.length, (byte) 0x55);

        assertThat(Verifier.verify(source(longer), open(longer))).isEmpty();
    }

    @Test
    void theNewerOfTwoCommitsIsOpened() throws IOException {
        byte[] two = FileImage.append(GOLDEN, secondIndex(), "the second");

        assertThat(open(two).commit().sequence()).isEqualTo(2);
        assertThat(open(two).dtype(0).name()).isEqualTo("second");
        assertThat(open(two).passedOver()).isNull();
        assertThat(Verifier.verify(source(two), open(two))).isEmpty();
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
        assertThat(Verifier.verify(source(file), first)).isNotEmpty();
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
