package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// A state is opened as it was saved: its tree, its bytes, its names, and what is shared in it. Each method checks one
/// [Law].
class RoundTripLawsTest {
    private static final int TRIES = 200;

    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.plain();
    }

    @Property(tries = TRIES)
    void whatIsOpenedIsWhatWasSaved(@ForAll("states") StateSketch state) throws IOException {
        check(Law.WHAT_IS_OPENED_IS_WHAT_WAS_SAVED, state);
    }

    @Property(tries = TRIES)
    void namesAreThoseOfTheState(@ForAll("states") StateSketch state) throws IOException {
        check(Law.NAMES_ARE_THOSE_OF_THE_STATE, state);
    }

    @Property(tries = TRIES)
    void aSoundFileVerifies(@ForAll("states") StateSketch state) throws IOException {
        check(Law.A_SOUND_FILE_VERIFIES, state);
    }

    @Property(tries = TRIES)
    void theSameStateGivesTheSameBytes(@ForAll("states") StateSketch state) throws IOException {
        check(Law.BYTES_ARE_CANONICAL, state);
    }

    @Property(tries = TRIES)
    void savingWhatWasOpenedGivesTheSameBytes(@ForAll("states") StateSketch state) throws IOException {
        check(Law.SAVING_WHAT_WAS_OPENED_GIVES_THE_SAME_BYTES, state);
    }

    @Property(tries = TRIES)
    void whatIsWrittenShowsInAliasesAndNotInTheFile(@ForAll("states") StateSketch state) throws IOException {
        check(Law.WRITES_SHOW_IN_ALIASES_AND_NOT_IN_THE_FILE, state);
    }

    @Property(tries = TRIES)
    void aDeviceKeepsWhatWasSaved(@ForAll("states") StateSketch state) throws IOException {
        check(Law.A_DEVICE_KEEPS_WHAT_WAS_SAVED, state);
    }

    private static void check(Law law, StateSketch state) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            law.check(state.make(), scratch);
        }
    }
}
