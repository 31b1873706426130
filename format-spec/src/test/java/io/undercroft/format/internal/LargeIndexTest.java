package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/// An index of more than 64 KiB, whose blocks have checksums.
class LargeIndexTest {
    private static final byte[] FILE = OpeningTest.manyTensors(2000);

    private final Forgery forgery = new Forgery(FILE);

    @Test
    void onlyALargeIndexHasChecksumsOfItsBlocks() throws IOException {
        assertThat(open(FILE).commit().indexLength()).isGreaterThan(65_536);
        assertThat(open(FILE).index().count(SectionType.ISUM)).isGreaterThan(16);
        assertThat(open(OpeningTest.manyTensors(100)).index().count(SectionType.ISUM)).isZero();
        assertThat(verify(FILE)).isEmpty();
    }

    @Test
    void v14RefusesABlockThatDoesNotMatch() {
        long sums = forgery.at(SectionType.ISUM, 5);
        byte[] wrong = new Forgery(FILE).putInt(sums, (int) forgery.getLong(sums) + 1).sealedWithoutBlocks();
        refused(Rule.V14_CHECKSUM, wrong);
    }

    @Test
    void openingTouchesNoRecord() throws IOException {
        assertThat(open(withAllRecordsDamaged()).tensorCount()).isEqualTo(2000);
    }

    private byte[] withAllRecordsDamaged() {
        byte[] file = FILE.clone();
        int end = (int) forgery.at(SectionType.ISUM, 0);
        for (int at = (int) forgery.at(SectionType.EXTN, 0); at < end; at++) {
            file[at] ^= 0x40;
        }
        return file;
    }

    @Test
    void damageIsFoundWhenItsBlockIsUsedAndNotBefore() throws IOException {
        byte[] damaged = FILE.clone();
        int at = (int) forgery.at(SectionType.TENS, 900);
        damaged[at + 16] ^= 1;
        Snapshot snapshot = open(damaged);

        assertThat(snapshot.tensor(0)).isEqualTo(open(FILE).tensor(0));
        assertThat(snapshot.findTensor("model/layer.900")).isEqualTo(900);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> snapshot.tensor(900)).satisfies(e -> {
            assertThat(e.code()).isEqualTo("V14-CHECKSUM");
            assertThat(e.offset()).isBetween(at - 4096L, (long) at);
        });
        assertThat(Verifier.verify(source(damaged), snapshot, BaseFiles.none()).findings()).extracting(Finding::rule)
                .containsOnly(Rule.V14_CHECKSUM);
        assertThat(snapshot.tensor(0)).isEqualTo(open(FILE).tensor(0));
    }

    @Test
    void damageInABlockIsNoReasonToAnswerFromAnOlderSnapshot() throws IOException {
        IndexBuilder next = new IndexBuilder(FileImage.CHUNK_LOG2);
        int dtype = next.addDType(new DTypeRecord("int8", 8));
        int storage = next.addStorage("cpu");
        for (int i = 0; i < 4000; i++) {
            next.addTensor(new TensorRecord(dtype, storage, 0, Set.of(), new long[]{0}, new long[]{1}));
        }
        byte[] two = FileImage.append(FILE, next, "");
        two[(int) new Forgery(two).at(SectionType.TENS, 900)] ^= 1;

        assertThat(open(two).commit().sequence()).isEqualTo(2);
        two[(int) new Forgery(two).at(SectionType.ISUM, 0)] ^= 1;
        assertThat(open(two).commit().sequence()).as("damage that opening finds").isEqualTo(1);
        assertThat(open(two).skippedCommit()).isNotNull();
    }

    @Test
    void manyThreadsMayFindWhatTheyLookFor() throws Exception {
        Snapshot snapshot = open(FILE);
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<Boolean>> found = threads.invokeAll(
                    IntStream.range(0, 4).mapToObj(thread -> (Callable<Boolean>) () -> findsAll(snapshot)).toList());
            for (Future<Boolean> each : found) {
                assertThat(each.get()).isTrue();
            }
        }
    }

    private static boolean findsAll(Snapshot snapshot) {
        return IntStream.range(0, 2000).allMatch(i -> snapshot.findTensor("model/layer." + i) == i
                && snapshot.tensor(i).storage() == 0);
    }

    @Test
    void aNameThatIsNotThereIsNotFound() throws IOException {
        assertThat(open(FILE).findTensor("model/layer.2000")).isEqualTo(-1);
        assertThat(open(FILE).findTensor("")).isEqualTo(-1);
        assertThat(open(FILE).findTensor("zzz")).isEqualTo(-1);
    }

    @Test
    void v15RefusesChecksumsOfTooFewBlocks() {
        long entry = forgery.entry(SectionType.ISUM);
        long count = forgery.getLong(entry + 24);
        Forgery shorter = new Forgery(FILE).putLong(entry + 16, 4 * (count - 1)).putLong(entry + 24, count - 1);
        refused(Rule.V15_STRUCTURE, shorter.putInt(forgery.at(SectionType.ISUM, count - 1), 0).sealedWithoutBlocks());
    }

    @Test
    void v8LetsAnIndexBeLargerIfItHasThem() throws IOException {
        Limits small = RuleTest.limit("maxIndexBytes", 65_536);
        assertThat(Snapshot.open(source(FILE), small).tensorCount())
                .isEqualTo(2000);
        refused(Rule.V8_LIMIT, FILE, RuleTest.limit("maxSummedIndexBytes", 65_536));
        byte[] unsummed = OpeningTest.manyTensors(100);
        refused(Rule.V8_LIMIT, unsummed, RuleTest.limit("maxIndexBytes", 5_000));
    }

    private static ByteSource source(byte[] file) {
        return ByteSource.of(MemorySegment.ofArray(file));
    }
}
