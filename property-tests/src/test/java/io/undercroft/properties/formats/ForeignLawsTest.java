package io.undercroft.properties.formats;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import java.util.Optional;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// A state in another format is opened as it was saved, as far as the format keeps it, and what is lost is reported.
/// The laws are those of [ForeignLaw], of states of the kind that a format was made for and of any;
/// `property-tests/run foreign` tries more.
class ForeignLawsTest {
    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.plain(30);
    }

    @Provide
    Arbitrary<ForeignSketch> own() {
        return ForeignSketch.of(Dialect.values());
    }

    @Provide
    Arbitrary<ForeignSketch> annotated() {
        return ForeignSketch.annotated(Dialect.values());
    }

    @Property(tries = 150)
    void whatAFormatWasMadeForObeysEveryLaw(@ForAll("own") ForeignSketch sketch) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Optional<Written> written = Written.of(sketch.dialect(), sketch.make(), scratch);
            if (written.isPresent()) {
                for (ForeignLaw law : ForeignLaw.values()) {
                    law.check(written.get());
                }
            }
        }
    }

    @Property(tries = 150)
    void anyStateIsRefusedOrObeysEveryLaw(@ForAll Dialect dialect, @ForAll("states") StateSketch state)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Written.of(dialect, state.make(), scratch);
        }
    }

    @Property(tries = 300)
    void theLossesOfAnnotatedStatesAreReportedAndNoOthers(@ForAll("annotated") ForeignSketch sketch)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Optional<Written> written = Written.of(sketch.dialect(), sketch.make(), scratch);
            if (written.isPresent()) {
                ForeignLaw.LOSSES_ARE_WHAT_IS_NOT_READ_BACK.check(written.get());
            }
        }
    }
}
