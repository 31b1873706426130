package io.undercroft.properties.processes;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// A few processes for a few seconds; `property-tests/run soak` has more of both.
class SoakTest {
    private static final Soak.Plan PLAN = new Soak.Plan(6, Duration.ofSeconds(4), 6, Duration.ofMillis(200), 42);

    @Test
    @EnabledOnOs(OS.LINUX)
    void processesThatAreKilledLeaveNothingAndNobodySeesHalfOfAnything() throws IOException {
        Soak.Outcome outcome = new Soak(PLAN).run();
        assertThat(outcome.troubles()).isEmpty();
        assertThat(outcome.leftovers()).isEmpty();
        assertThat(outcome.gone()).isEmpty();
        assertThat(outcome.countAll("refused ")).isEqualTo(SoakProof.ordinaryRefusals(outcome));
        assertThat(outcome.count(Soak.IN_THE_MIDDLE)).isGreaterThanOrEqualTo(PLAN.kills());
        assertThat(outcome.count(Soak.ATTACHED)).isPositive();
    }

    @Test
    void aStateOfTwoNumbersIsSeenForWhatItIs() throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("numbered.croft");
            Checkpoint.save(path, NumberedState.of(7));
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                assertThat(NumberedState.faultOf(checkpoint)).isEmpty();
                checkpoint.tensor("tensor of 20000").setLong(19_999, 8);
                assertThat(NumberedState.faultOf(checkpoint)).contains("another number than 7");
            }
        }
    }
}
