package io.undercroft.properties.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.benchmarks.Figure;
import io.undercroft.properties.Scratch;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

/// A call that fails once costs nothing: what was there is there, or what was asked for, and nothing is left behind.
/// The proof `faults` has all operations, all formats, and shared memory.
class FaultLawsTest {
    /// About how many of the calls fail in each way.
    private static final int SOME = Tries.of(40);

    private static void check(String verbs, int tries, int least) throws IOException {
        long seed = ThreadLocalRandom.current().nextLong();
        List<String> broken = new ArrayList<>();
        try (Scratch scratch = Scratch.make()) {
            List<Figure> figures = FaultsProof.run(scratch.directory(), seed, tries, verbs, broken);
            assertThat(broken).as("with the seed %s", seed).isEmpty();
            assertThat(figures.stream().filter(figure -> figure.what().endsWith("of them failed"))
                    .mapToDouble(Figure::value).sum()).isGreaterThan(least);
        }
    }

    @Test
    void aSaveThatFailsAtAnyCallLeavesNothing() throws IOException {
        check("save of a.croft", Integer.MAX_VALUE, 100);
    }

    @Test
    void aFileThatIsReplacedStaysWhenACallFails() throws IOException {
        check("save of a.croft over another one", 2 * SOME, 30);
    }

    @Test
    void snapshotsStayWhenACallFails() throws IOException {
        check("(commit|compact)", SOME, 30);
    }

    @Test
    void anOpenThatFailsKeepsNothing() throws IOException {
        check("open a.croft( into memory)?", 2 * SOME, 30);
    }

    @Test
    void otherFormatsAndSetsLoseNothing() throws IOException {
        check("(convert a.pt to a.croft|convert a.croft to a.safetensors|save of a manifest of shards)",
                SOME / 2, 20);
    }
}
