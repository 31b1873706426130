package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/// The directory of an index, and its records as they are passed on and compared.
class SectionsTest {
    private static final byte[] EVERY_SECTION = Features.everySection().toByteArray();
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);

    private final long entry = new Forgery(EVERY_SECTION).entry(SectionType.STOR);

    @Test
    void aSectionIsRefusedAtTheFieldThatIsWrong() {
        isRefused(Rule.V9_RESERVED, 4, forgery -> forgery.putInt(entry + 4, 0x10));
        isRefused(Rule.V2_RANGE, 8, forgery -> forgery.putLong(entry + 8, forgery.getLong(entry + 8) + 1));
        isRefused(Rule.V2_RANGE, 8, forgery -> forgery.putLong(entry + 8, 0));
        isRefused(Rule.V2_RANGE, 8, forgery -> forgery.putLong(entry + 16, 1L << 40));
        isRefused(Rule.V15_STRUCTURE, 0, forgery -> forgery.putLong(entry + 24, forgery.getLong(entry + 24) + 1));
        isRefused(Rule.V15_STRUCTURE, 0, forgery -> forgery.putInt(entry + 32, 1));
        isRefused(Rule.V9_RESERVED, 40, forgery -> forgery.putByte(entry + 40, 1));
        isRefused(Rule.V13_UNSUPPORTED, 0, forgery -> forgery.putInt(entry, 0x5858_5858).putInt(entry + 4, 1));
    }

    private void isRefused(Rule rule, long field, UnaryOperator<Forgery> change) {
        byte[] changed = change.apply(new Forgery(EVERY_SECTION)).sealedDirectory();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(changed)).satisfies(
                e -> assertThat(List.of(e.code(), e.offset())).isEqualTo(List.of(rule.code(), entry + field)));
    }

    @Test
    void anIndexWithSumsOfBlocksSaysSoInAnyPartOfItsDirectory() throws IOException {
        MemorySegment directory = Records.directory(open(EVERY_SECTION).index().bytes());

        assertThat(Index.claimsBlocks(directory)).isTrue();
        assertThat(Index.claimsBlocks(directory.asSlice(0, directory.byteSize() - 1))).isFalse();
        assertThat(Index.claimsBlocks(Records.directory(open(GOLDEN).index().bytes()))).isFalse();
        assertThat(Index.claimsBlocks(MemorySegment.ofArray(new byte[7]))).isFalse();
    }

    @Test
    void recordsAreComparedOneByOne() throws IOException {
        Index index = open(EVERY_SECTION).index();
        long last = index.count(SectionType.TENS) - 1;
        Forgery forgery = new Forgery(EVERY_SECTION);
        long at = forgery.at(SectionType.TENS, last) + 8;
        Index other = open(forgery.putByte(at, 1).sealed()).index();

        assertThat(index.hasSameRecords(SectionType.TENS, 0, last + 1, index)).isTrue();
        assertThat(index.hasSameRecords(SectionType.TENS, 0, last, other)).isTrue();
        assertThat(index.hasSameRecords(SectionType.TENS, 0, last + 1, other)).isFalse();
        assertThat(index.hasSameRecords(SectionType.TENS, last, 1, other)).isFalse();
    }

    @Test
    void extentsArePassedOnAsTheyAreButThoseOfZeros() throws IOException {
        for (byte[] file : List.of(EVERY_SECTION, GOLDEN)) {
            Snapshot snapshot = open(file);
            List<List<Object>> expected = new ArrayList<>();
            for (int storage = 0; storage < snapshot.storageCount(); storage++) {
                for (ExtentRecord extent : snapshot.extents(storage)) {
                    if (extent.kind() != ExtentKind.ZERO) {
                        expected.add(List.of(extent.base(), extent.fileOffset(), extent.length(),
                                extent.kind() == ExtentKind.CODED));
                    }
                }
            }
            List<List<Object>> passed = new ArrayList<>();
            for (int number = 0; number < snapshot.index().count(SectionType.EXTN); number++) {
                snapshot.index().passOn(number, (high, low, base, offset, length, coding) -> passed
                        .add(List.of(base, offset, length, coding != null)));
            }

            assertThat(passed).isEqualTo(expected).isNotEmpty();
        }
    }
}
