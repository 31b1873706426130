package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.ChainModel;
import io.undercroft.properties.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;

/// Every snapshot of a file is opened as it was saved, whatever else is done to the file. The same [History] gives the
/// same bytes.
class SnapshotLawsTest {
    private static final int STEPS = 8;

    @Provide
    Arbitrary<ActionChain<History>> histories() {
        return History.chains(History.Checks.ALL).withMaxTransformations(STEPS);
    }

    @Provide
    Arbitrary<ActionChain<History>> unobserved() {
        return History.chains(History.Checks.NONE).withMaxTransformations(STEPS);
    }

    @Property(tries = 40)
    void everySnapshotIsWhatWasSaved(@ForAll("histories") ActionChain<History> chain) throws IOException {
        ChainModel.run(chain, History::check);
    }

    @Property(tries = 15)
    void theSameHistoryGivesTheSameBytes(@ForAll("unobserved") ActionChain<History> chain) throws IOException {
        try (History one = chain.run(); History other = chain.run()) {
            assertThat(names(other.scratch())).isEqualTo(names(one.scratch()));
            for (String name : names(one.scratch())) {
                assertThat(Files.mismatch(one.scratch().file(name), other.scratch().file(name))).as(name)
                        .isEqualTo(-1);
            }
        }
    }

    private static List<String> names(Scratch scratch) throws IOException {
        try (Stream<Path> files = Files.list(scratch.directory())) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
