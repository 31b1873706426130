package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// What holds of a file whatever was done to it, see [History].
class SnapshotLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMinSize(100)
                .ofMaxSize(600);
    }

    @Property(tries = 40)
    void everySnapshotIsWhatWasSaved(@ForAll("choices") byte[] choices) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            History.make(choices, scratch, History.Checks.ALL);
        }
    }

    @Property(tries = 15)
    void theSameHistoryGivesTheSameBytes(@ForAll("choices") byte[] choices) throws IOException {
        try (Scratch one = Scratch.make(); Scratch other = Scratch.make()) {
            History.make(choices, one, History.Checks.NONE);
            History.make(choices, other, History.Checks.NONE);
            assertThat(names(other)).isEqualTo(names(one));
            for (String name : names(one)) {
                assertThat(Files.mismatch(one.file(name), other.file(name))).as(name).isEqualTo(-1);
            }
        }
    }

    private static List<String> names(Scratch scratch) throws IOException {
        try (Stream<Path> files = Files.list(scratch.directory())) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
