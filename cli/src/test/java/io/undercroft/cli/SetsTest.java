package io.undercroft.cli;

import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SetsTest {
    @TempDir
    Path folder;
    private Path first;
    private Path second;
    private Path set;

    @BeforeEach
    void twoFiles() {
        first = folder.resolve("first.croft");
        second = folder.resolve("second.croft");
        set = folder.resolve("all.croftset");
        Invocation.of("convert", torch("tied.pt"), first);
        Invocation.of("convert", torch("views.pt"), second);
    }

    @Test
    void aSetIsListedAsItWasCommitted() {
        Invocation.of("append", second, torch("tied.pt"));

        Invocation committed = Invocation.of("set", "create", set, first, second);
        Invocation.of("append", second, torch("tied.pt"));

        assertThat(committed.err()).isEmpty();
        assertThat(committed.out().lines().skip(1)).hasSize(2).first().asString().matches("first\\.croft +1 .*");
        assertThat(committed.out().lines()).last().asString().matches("second\\.croft +2 .*");
        assertThat(Invocation.of("set", "list", set).out().lines()).last().asString().matches("second\\.croft +2 .*");
    }

    @Test
    void aShardThatIsMissingIsNamed() throws IOException {
        Invocation.of("set", "create", set, first, second);
        Files.delete(second);

        assertOneLine(Invocation.of("set", "list", set), "'second.croft'", "V21-SHARD");
    }

    @Test
    void aFileIsNotReplacedByASet() throws IOException {
        byte[] before = Files.readAllBytes(first);

        assertOneLine(Invocation.of("set", "create", first, second), "ends in .croftset");

        assertThat(first).hasBinaryContent(before);
    }

    @Test
    void whatIsNoShardIsNamedAndNoSetMade() throws IOException {
        Path other = Files.copy(torch("tied.pt"), folder.resolve("tied.pt"));

        assertOneLine(Invocation.of("set", "create", set, first, folder.resolve("no.croft")),
                "no.croft: there is no such file");
        assertOneLine(Invocation.of("set", "create", set, first, other), other + ": ",
                "files of the format torch-zip have no snapshots; croft convert makes a .croft file of one");
        assertOneLine(Invocation.of("set", "create", folder.resolve("no/all.croftset"), first),
                "no/all.croftset: the directory ", " does not exist; make it first");
        assertOneLine(Invocation.of("set", "create", set), "--help");
        assertOneLine(Invocation.of("set", "list", first), "no set but a file of the format croft");
        assertThat(set).doesNotExist();
    }

    @Test
    void theTensorsOfASetAreShownAndConvertedAsThoseOfOneFile() throws IOException {
        Tensor whole = Tensor.arange(DType.FLOAT32, 12).view(4, 3);
        for (int half = 0; half < 2; half++) {
            Checkpoint.save(List.of(first, second).get(half),
                    Map.of("weight", Slice.of(whole.narrow(0, 2L * half, 2), whole.shape(), 2L * half, 0)));
        }
        Invocation.of("set", "create", set, first, second);
        Path joined = folder.resolve("joined.safetensors");

        Invocation shown = Invocation.of("inspect", set);
        Invocation converted = Invocation.of("convert", set, joined);

        assertThat(shown.err()).isEmpty();
        assertThat(shown.out()).containsPattern("weight +float32 +\\[4, 3\\]");
        assertThat(converted.err()).isEmpty();
        assertThat(Invocation.of("verify", set).code()).isZero();
        try (Checkpoint opened = Checkpoint.open(joined)) {
            assertThat(opened.tensor("weight").contentEquals(whole)).isTrue();
        }
        assertOneLine(Invocation.of("set", "create", folder.resolve("half.croftset"), first), "V22-SLICE", "'weight'",
                "from [2, 0] to [4, 3]");
    }

    private static void assertOneLine(Invocation refused, String... words) {
        assertThat(refused.code()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").hasLineCount(1).contains(words);
    }
}
