package io.undercroft.format;

import static io.undercroft.format.Refusals.open;
import static io.undercroft.format.Refusals.refused;
import static io.undercroft.format.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/// An index of more than 64 KiB, whose blocks have checksums.
class LargeIndexTest {
    private static final byte[] FILE = OpeningTest.manyTensors(1000);

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
    void v15RefusesChecksumsOfTooFewBlocks() {
        long entry = forgery.entry(SectionType.ISUM);
        long count = forgery.getLong(entry + 24);
        Forgery shorter = new Forgery(FILE).putLong(entry + 16, 4 * (count - 1)).putLong(entry + 24, count - 1);
        refused(Rule.V15_STRUCTURE, shorter.putInt(forgery.at(SectionType.ISUM, count - 1), 0).sealedWithoutBlocks());
    }

    @Test
    void v8LetsAnIndexBeLargerIfItHasThem() throws IOException {
        Limits small = RuleTest.limit("maxIndexBytes", 65_536);
        assertThat(Snapshot.open(ByteSource.of(MemorySegment.ofArray(FILE)), small).tensorCount())
                .isEqualTo(1000);
        refused(Rule.V8_LIMIT, FILE, RuleTest.limit("maxSummedIndexBytes", 65_536));
        byte[] unsummed = OpeningTest.manyTensors(100);
        refused(Rule.V8_LIMIT, unsummed, RuleTest.limit("maxIndexBytes", 10_000));
    }
}
