package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateMaker;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// Every [Law], of any state.
class RoundTripLawsTest {
    private static final int TRIES = 200;

    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(400);
    }

    @Property(tries = TRIES)
    void whatIsOpenedIsWhatWasSaved(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.WHAT_IS_OPENED_IS_WHAT_WAS_SAVED, choices);
    }

    @Property(tries = TRIES)
    void namesAreThoseOfTheState(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.NAMES_ARE_THOSE_OF_THE_STATE, choices);
    }

    @Property(tries = TRIES)
    void aSoundFileVerifies(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.A_SOUND_FILE_VERIFIES, choices);
    }

    @Property(tries = TRIES)
    void theSameStateGivesTheSameBytes(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.BYTES_ARE_CANONICAL, choices);
    }

    @Property(tries = TRIES)
    void savingWhatWasOpenedGivesTheSameBytes(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.SAVING_WHAT_WAS_OPENED_GIVES_THE_SAME_BYTES, choices);
    }

    @Property(tries = TRIES)
    void whatIsWrittenShowsInAliasesAndNotInTheFile(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.WRITES_SHOW_IN_ALIASES_AND_NOT_IN_THE_FILE, choices);
    }

    @Property(tries = TRIES)
    void aDeviceKeepsWhatWasSaved(@ForAll("choices") byte[] choices) throws IOException {
        check(Law.A_DEVICE_KEEPS_WHAT_WAS_SAVED, choices);
    }

    private static void check(Law law, byte[] choices) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            law.check(StateMaker.make(choices), scratch);
        }
    }
}
