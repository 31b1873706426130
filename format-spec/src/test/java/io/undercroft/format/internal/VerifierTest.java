package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/// Verifying files of several snapshots.
class VerifierTest {
    private static final byte[] OLD = {1, 2, 3, 4};
    private static final byte[] KEPT = {5, 6, 7, 8, 9};
    private static final byte[] NEW = {10, 11, 12};
    private static final long PLACE_OF_OLD = FileLayout.DATA_START;
    private static final long PLACE_OF_KEPT = FileLayout.DATA_START + 64;

    private final byte[] one = first();
    private final byte[] two = second(one).toByteArray("two");
    private final byte[] three = third(two).toByteArray("three");

    private static byte[] first() {
        FileImage image = new FileImage();
        image.addStorage(OLD);
        image.addStorage(KEPT);
        return image.toByteArray();
    }

    /// Storage 0 is another one, storage 1 the same, storage 2 equal to it.
    private static FileImage second(byte[] file) {
        FileImage image = FileImage.after(file);
        image.addStorage(NEW);
        for (int i = 0; i < 2; i++) {
            image.addRawExtentAt(PLACE_OF_KEPT, KEPT);
            image.index().addStorage("cpu");
        }
        return image;
    }

    private static FileImage third(byte[] file) {
        FileImage image = FileImage.after(file);
        image.addRawExtentAt(PLACE_OF_KEPT, KEPT);
        image.index().addStorage("cpu");
        return image;
    }

    @Test
    void aSoundChainHasNoDamage() throws IOException {
        assertThat(verify(two)).isEmpty();
        assertThat(verify(three)).isEmpty();
    }

    @Test
    void damageToBytesOfAnEarlierSnapshotIsFoundAndNamesIt() throws IOException {
        assertThat(verify(flipped(three, PLACE_OF_OLD))).containsExactly(
                new Finding(Rule.V14_CHECKSUM, 1, 0, 0, PLACE_OF_OLD, OLD.length,
                        "the checksum of a chunk does not match"));
    }

    @Test
    void damageToSharedBytesNamesEveryStorageOfEverySnapshotThatHasThem() throws IOException {
        assertThat(verify(flipped(three, PLACE_OF_KEPT + 1)))
                .extracting(damage -> damage.sequence() + ":" + damage.storage())
                .containsExactly("3:0", "2:1", "2:2", "1:1");
    }

    @Test
    void eachRunOfBytesIsReadOnce() throws IOException {
        long[] reads = new long[1];
        ByteSource source = new ByteSource() {
            private final ByteSource bytes = source(three);

            @Override
            public long size() throws IOException {
                return bytes.size();
            }

            @Override
            public void read(long offset, MemorySegment into) throws IOException {
                reads[0] += offset == PLACE_OF_KEPT ? 1 : 0;
                bytes.read(offset, into);
            }
        };
        Verifier.verify(source, Snapshot.open(source, Limits.DEFAULT), BaseFiles.none());
        assertThat(reads[0]).isEqualTo(1);
    }

    /// Storages that overlap are no runs that were read before, and a short file can have very many.
    @Test
    void extentsThatOverlapAreReadInProportionToTheFile() throws IOException {
        byte[] file = overlapping(1000);
        long[] read = new long[1];
        ByteSource source = counting(file, read);
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
        assertThat(Verifier.verify(source, snapshot, BaseFiles.none()).findings()).extracting(Finding::rule)
                .containsExactly(Rule.V2_RANGE);
        assertThat(read[0]).isLessThan(4L * file.length);
        read[0] = 0;
        StorageCheck.Pass pass = new StorageCheck(snapshot).pass(_ -> Optional.of(source));
        int refused = 0;
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            try {
                assertThat(pass.damaged(storage)).isEmpty();
            } catch (FormatException e) {
                assertThat(e.code()).isEqualTo(Rule.V2_RANGE.code());
                refused++;
            }
        }
        assertThat(refused).isGreaterThan(900);
        assertThat(read[0]).isLessThan(file.length);
    }

    @Test
    void bytesThatStoragesShareAreReadOnceInAPass() throws IOException {
        long[] read = new long[1];
        ByteSource source = counting(two, read);
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
        StorageCheck.Pass pass = new StorageCheck(snapshot).pass(_ -> Optional.of(source));
        read[0] = 0;
        assertThat(pass.damaged(1)).isEmpty();
        assertThat(pass.damaged(2)).isEmpty();
        assertThat(read[0]).isEqualTo(KEPT.length);
    }

    /// Each storage begins 64 bytes behind the one before.
    private static byte[] overlapping(int count) {
        byte[] bytes = new byte[50_000];
        new Random(1).nextBytes(bytes);
        FileImage image = new FileImage();
        image.addStorage(bytes);
        for (int i = 1; i <= count; i++) {
            int length = bytes.length - 64 * (i % 100) - i / 100;
            image.addRawExtentAt(FileLayout.DATA_START + 64L * (i % 100),
                    Arrays.copyOfRange(bytes, 64 * (i % 100), 64 * (i % 100) + length));
            image.index().addStorage("cpu");
        }
        return image.toByteArray();
    }

    private static ByteSource counting(byte[] file, long[] read) {
        ByteSource bytes = source(file);
        return new ByteSource() {
            @Override
            public long size() throws IOException {
                return bytes.size();
            }

            @Override
            public void read(long offset, MemorySegment into) throws IOException {
                read[0] += into.byteSize();
                bytes.read(offset, into);
            }
        };
    }

    @Test
    void extentsThatSayDifferentThingsOfTheSameBytesCannotBothBeRight() throws IOException {
        FileImage image = FileImage.after(two);
        image.index().addRawExtent(PLACE_OF_KEPT, KEPT.length, Features.sums(OLD));
        image.index().addStorage("cpu");
        assertThat(verify(image.toByteArray())).singleElement()
                .satisfies(damage -> assertThat(damage.sequence()).isEqualTo(3));
    }

    @Test
    void damageToAnEarlierIndexIsFoundAndTheOthersAreVerifiedAllTheSame() throws IOException {
        byte[] damaged = flipped(three, open(two).commit().indexOffset() + 100);
        assertThat(verify(damaged)).extracting(Finding::sequence).containsExactly(2L);
        assertThat(verify(flipped(damaged, PLACE_OF_OLD))).extracting(Finding::sequence).containsExactly(2L, 1L);
    }

    @Test
    void damageToAParentRecordIsFound() throws IOException {
        long newest = open(three).commit().previousRecord();
        long second = open(two).commit().previousRecord();
        assertThat(verify(flipped(three, newest + 80))).extracting(Finding::rule).containsExactly(Rule.V19_CHAIN,
                Rule.V14_CHECKSUM);
        assertThat(verify(flipped(three, second + 80))).extracting(Finding::rule).containsExactly(Rule.V14_CHECKSUM);
    }

    @Test
    void v19RefusesASlotThatDoesNotHaveTheCommitBefore() throws IOException {
        long other = Refusals.header(three).recordOffset(2);
        byte[] changed = new Forgery(three).putLong(other + 80, 99).sealedPage(other);
        assertThat(verify(changed)).extracting(Finding::rule).containsExactly(Rule.V19_CHAIN);

        byte[] empty = three.clone();
        Arrays.fill(empty, (int) other, (int) other + FileLayout.PAGE, (byte) 0);
        assertThat(verify(empty)).extracting(Finding::rule).containsExactly(Rule.V19_CHAIN);

        byte[] untrue = two.clone();
        untrue[(int) other + FileLayout.PAGE - 1] = 1;
        assertThat(verify(untrue)).extracting(Finding::rule).containsExactly(Rule.V3_GAP);
    }

    @Test
    void damageToTheFirstCommitRecordIsFoundAndNoLossButForItself() throws IOException {
        for (byte[] file : new byte[][]{two, three}) {
            byte[] damaged = flipped(file, FileLayout.FIRST_COMMIT + 100);
            assertThat(open(damaged).commit()).isEqualTo(open(file).commit());
            assertThat(open(damaged).skippedCommit()).isNull();
            assertThat(verify(damaged)).extracting(Finding::rule).containsExactly(Rule.V14_CHECKSUM);
        }
    }

    @Test
    void v19RefusesAFreeRangeThatIsFreeNoMore() throws IOException {
        byte[] torn = FileImage.torn(one, 100);
        List<FreeRange> tail = FileImage.tail(torn);
        FileImage repaired = third(torn);
        tail.forEach(repaired.index()::addFreeRange);
        byte[] free = repaired.toByteArray();
        assertThat(verify(free)).isEmpty();

        FileImage faithful = third(free);
        tail.forEach(faithful.index()::addFreeRange);
        assertThat(verify(faithful.toByteArray())).isEmpty();
        FileImage shorter = third(free);
        shorter.index().addFreeRange(tail.getFirst());
        shorter.index().addFreeRange(new FreeRange(tail.getLast().offset(), 99));
        assertThat(verify(shorter.toByteArray())).extracting(Finding::rule).containsExactly(Rule.V19_CHAIN,
                Rule.V3_GAP);
        assertThat(verify(third(torn).toByteArray())).extracting(Finding::rule).containsExactly(Rule.V3_GAP);
    }

    @Test
    void aTornAppendIsReportedAndTheRestVerified() throws IOException {
        byte[] torn = three.clone();
        int slot = (int) Refusals.header(three).recordOffset(3);
        Arrays.fill(torn, slot + 512, slot + FileLayout.PAGE, (byte) 0);
        assertThat(open(torn).commit().sequence()).isEqualTo(2);
        assertThat(verify(torn)).extracting(Finding::rule).containsExactly(Rule.V14_CHECKSUM);
    }

    @Test
    void anEarlierSnapshotIsVerifiedWithThoseBeforeItAlone() throws IOException {
        byte[] damaged = flipped(three, open(two).commit().indexOffset() + 100);
        Snapshot first = open(damaged).openAt(1);
        assertThat(Verifier.verify(source(damaged), first, BaseFiles.none()).findings()).isEmpty();
    }

    @Test
    void whatIsAppendedMeanwhileIsNoDamage() throws IOException {
        for (byte[] opened : new byte[][]{one, two}) {
            assertThat(Verifier.verify(source(three), open(opened), BaseFiles.none()).findings()).isEmpty();
        }
    }

    /// A file that is another one after so many calls.
    private static final class Changing implements ByteSource {
        private final byte[] before;
        private final byte[] after;
        private int calls;

        Changing(byte[] before, byte[] after, int calls) {
            this.before = before;
            this.after = after;
            this.calls = calls;
        }

        private ByteSource now() {
            return source(calls-- > 0 ? before : after);
        }

        @Override
        public long size() throws IOException {
            return now().size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            now().read(offset, into);
        }
    }

    @Test
    void whatIsAppendedOrCutBackMeanwhileIsNoDamage() throws IOException {
        byte[] halfWritten = three.clone();
        int slot = (int) Refusals.header(three).recordOffset(3);
        Arrays.fill(halfWritten, slot + 512, slot + FileLayout.PAGE, (byte) 0);
        for (byte[][] change : new byte[][][]{{one, two}, {two, three}, {FileImage.torn(one, 100), one},
                {FileImage.torn(two, 100), two}, {halfWritten, three}}) {
            byte[] intact = change[1] == three ? two : one;
            // From the eighth call on, what is half written has been read twice.
            for (int calls = 0; calls < 8; calls++) {
                Snapshot found = Snapshot.open(new Changing(change[0], change[1], calls), Limits.DEFAULT);
                assertThat(found.skippedCommit()).as("after %d calls", calls).isNull();
                assertThat(Verifier.verify(new Changing(change[0], change[1], calls), open(intact), BaseFiles.none())
                        .findings()).as("after %d calls", calls).isEmpty();
            }
        }
    }

    @Test
    void v8RefusesAChainThatIsLongerThanTheLimit() throws IOException {
        Snapshot snapshot = Snapshot.open(source(three), RuleTest.limit("maxSnapshots", 2));
        assertThat(Verifier.verify(source(three), snapshot, BaseFiles.none()).findings()).extracting(Finding::rule)
                .containsExactly(Rule.V8_LIMIT);
    }

    @Test
    void v11RefusesAFileThatBecomesShorter() throws IOException {
        byte[] shorter = Arrays.copyOf(three, (int) PLACE_OF_KEPT);
        Snapshot snapshot = open(three);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Verifier.verify(source(shorter), snapshot, BaseFiles.none()))
                .extracting(FormatException::code).isEqualTo(Rule.V11_TRUNCATED.code());
    }

    @Test
    void v2RefusesAnExtentOnAnEarlierIndex() throws IOException {
        FileImage image = FileImage.after(two);
        long inside = open(one).commit().indexOffset() + 64;
        byte[] bytes = Arrays.copyOfRange(two, (int) inside, (int) inside + 64);
        image.addRawExtentAt(inside, bytes);
        image.index().addStorage("cpu");
        assertThat(verify(image.toByteArray())).extracting(Finding::rule).containsExactly(Rule.V2_RANGE);
    }

    @Test
    void extentsOfDifferentSnapshotsMayOverlap() throws IOException {
        FileImage image = FileImage.after(one);
        image.addRawExtentAt(PLACE_OF_OLD, Arrays.copyOf(OLD, 2));
        image.index().addStorage("cpu");
        assertThat(verify(image.toByteArray())).isEmpty();
    }

    @Test
    void v3ReportsAByteBetweenSnapshots() throws IOException {
        long gap = one.length + 10L;
        assertThat(verify(flipped(three, gap))).extracting(Finding::rule, Finding::offset)
                .containsExactly(tuple(Rule.V3_GAP, gap));
    }

    private static byte[] flipped(byte[] file, long at) {
        byte[] flipped = file.clone();
        flipped[(int) at] ^= 1;
        return flipped;
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}
