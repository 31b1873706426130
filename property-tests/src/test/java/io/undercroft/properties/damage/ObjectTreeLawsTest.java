package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.ObjectMaker;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// Files that pass every checksum, and whose trees say of Java objects what no save would. `property-tests/run objects`
/// tries as many as there is time for.
class ObjectTreeLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(300);
    }

    @Property(tries = 200)
    void aTreeThatIsPutBackIsTheSame(@ForAll("choices") byte[] state) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            byte[] sound = ObjectFuzz.save(ObjectMaker.make(state), scratch);
            assertThat(ObjectFuzz.open(scratch.write("b.croft", TreeFile.change(sound, tree -> tree))))
                    .isEqualTo(ObjectFuzz.Outcome.STATE);
        }
    }

    @Property(tries = 500)
    void aTreeWithDamagedBytesIsReadOrRefused(@ForAll("choices") byte[] state, @ForAll("choices") byte[] strikes)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(ObjectFuzz.ofBytes(ObjectMaker.make(state), strikes, scratch)).isNotNull();
        }
    }

    @Property(tries = 500)
    void aTreeWithNodesInWrongPlacesIsReadOrRefused(@ForAll("choices") byte[] state,
            @ForAll("choices") byte[] strikes) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(ObjectFuzz.ofNodes(ObjectMaker.make(state), strikes, scratch)).isNotNull();
        }
    }
}
