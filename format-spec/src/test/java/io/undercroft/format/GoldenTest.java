package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class GoldenTest {
    private final ByteSource source = ByteSource.of(MemorySegment.ofArray(Golden.resource(Golden.FILE)));

    @Test
    void theSameInputGivesTheSameBytes() {
        assertThat(Golden.file()).isEqualTo(Golden.resource(Golden.FILE));
    }

    @Test
    void everythingReadsBackAsItWasSaved() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        assertThat(snapshot.storageCount()).isEqualTo(4);
        assertThat(snapshot.storage(0)).isEqualTo(new StorageRecord(65616, 0, 2, "cuda:0"));
        assertThat(snapshot.extent(0).kind()).isEqualTo(ExtentKind.ZERO);
        assertThat(snapshot.extent(1).fileOffset()).isEqualTo(Layout.DATA_START);
        assertThat(snapshot.storage(3).extentCount()).isZero();
        assertThat(snapshot.tensor(snapshot.findTensor("model/größe"))).isEqualTo(
                new TensorRecord(0, 1, 4, Set.of(), new long[]{3, 3}, new long[]{1, 4}));
        assertThat(snapshot.tensor(0).flags()).containsExactly(TensorFlag.REQUIRES_GRAD);
        assertThat(snapshot.dtype(1)).isEqualTo(new DTypeRecord("int4", 4));
        assertThat(snapshot.metadata()).isEqualTo(Map.of("title", "everything", "made by", "Undercroft"));
        assertThat(snapshot.passedOver()).isNull();
        assertThat(snapshot.commit().uuid().version()).isEqualTo(8);
        assertThat(snapshot.commit().uuid().variant()).isEqualTo(2);
    }

    @Test
    void tiedNamesLeadToOneTensorAndTheFirstIsTheOneItIsShownBy() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        assertThat(snapshot.findTensor("model/wte.weight")).isZero();
        assertThat(snapshot.findTensor("model/lm_head.weight")).isZero();
        assertThat(snapshot.name(snapshot.nameOfTensor(0))).isEqualTo("model/wte.weight");
        assertThat(snapshot.nameOfTensor(5)).isEqualTo(-1);
    }

    @Test
    void namesAreFoundAmongSortedOnesAndOthersAreNot() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        for (int name = 0; name < snapshot.nameCount(); name++) {
            assertThat(snapshot.findTensor(snapshot.name(name))).isEqualTo(snapshot.tensorOfName(name));
            assertThat(snapshot.findTensor(snapshot.name(name) + "~")).isEqualTo(-1);
        }
    }

    @Test
    void aSoundFileHasNoDamage() throws IOException {
        assertThat(Verifier.verify(source, Snapshot.open(source, Limits.DEFAULT))).isEmpty();
    }

    @Test
    void theDumpSaysWhatTheBytesAre() throws IOException {
        assertThat(Golden.dump()).isEqualTo(new String(Golden.resource(Golden.DUMP), StandardCharsets.UTF_8));
    }

    @Test
    void everyLineOfTheDumpIsWhatStandsInTheFileThere() {
        byte[] file = Golden.resource(Golden.FILE);
        Pattern line = Pattern.compile("([0-9a-f]{5}) ((?:[0-9a-f]{2} )+) *# .*");
        long compared = new String(Golden.resource(Golden.DUMP), StandardCharsets.UTF_8).lines().map(line::matcher)
                .filter(Matcher::matches).mapToLong(found -> {
                    int at = Integer.parseInt(found.group(1), 16);
                    byte[] bytes = HexFormat.ofDelimiter(" ").parseHex(found.group(2).strip());
                    assertThat(Arrays.copyOfRange(file, at, at + bytes.length)).as(found.group()).isEqualTo(bytes);
                    return bytes.length;
                }).sum();
        assertThat(compared).isGreaterThan(2000);
    }

    @Test
    void theSpecificationShowsTheDump() throws IOException {
        assertThat(Golden.spec()).contains("```text\n" + Golden.dump() + "```\n");
    }
}
