package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// A state of Java objects is opened as it was saved. The laws are those of [Law#ofObjects].
class ObjectLawsTest {
    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.ofObjects();
    }

    @Provide
    Arbitrary<Law> laws() {
        return Arbitraries.of(Law.ofObjects());
    }

    @Property(tries = 400)
    void aLawHoldsOfJavaObjects(@ForAll("laws") Law law, @ForAll("states") StateSketch state) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            law.check(state.make(), scratch);
        }
    }
}
