package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.ObjectMaker;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// The laws of [Law#ofObjects], of any state of Java objects.
class ObjectLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(400);
    }

    @Provide
    Arbitrary<Law> laws() {
        return Arbitraries.of(Law.ofObjects());
    }

    @Property(tries = 400)
    void aLawHoldsOfJavaObjects(@ForAll("laws") Law law, @ForAll("choices") byte[] choices) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            law.check(ObjectMaker.make(choices), scratch);
        }
    }
}
