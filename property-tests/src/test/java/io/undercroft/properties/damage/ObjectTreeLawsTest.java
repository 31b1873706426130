package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// A file that passes every checksum, and says of Java objects what no save would, is opened or refused.
/// `property-tests/run objects` tries more.
class ObjectTreeLawsTest {
    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.ofObjects();
    }

    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(300);
    }

    @Property(tries = 200)
    void aTreeThatIsPutBackIsTheSame(@ForAll("states") StateSketch state) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            byte[] sound = ObjectFuzz.save(state.make(), scratch);
            assertThat(ObjectFuzz.open(scratch.write("b.croft", TreeFile.change(sound, tree -> tree))))
                    .isEqualTo(ObjectFuzz.Outcome.STATE);
        }
    }

    @Property(tries = 500)
    void aTreeWithDamagedBytesIsReadOrRefused(@ForAll("states") StateSketch state, @ForAll("choices") byte[] strikes)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(ObjectFuzz.ofBytes(state.make(), strikes, scratch)).isNotNull();
        }
    }

    @Property(tries = 500)
    void aTreeWithNodesInWrongPlacesIsReadOrRefused(@ForAll("states") StateSketch state,
            @ForAll("choices") byte[] strikes) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(ObjectFuzz.ofNodes(state.make(), strikes, scratch)).isNotNull();
        }
    }
}
