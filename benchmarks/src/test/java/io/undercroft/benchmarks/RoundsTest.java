package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RoundsTest {
    private final List<String> order = new ArrayList<>();

    private Contender contender(String name, double witness) {
        return new Contender(name, () -> {
            order.add(name);
            return new Contender.Outcome(order.size(), witness);
        });
    }

    @Test
    void contendersTakeTurnsAndEachRoundStartsWithAnother() throws IOException {
        new Rounds(Duration.ZERO, 2).time(List.of(contender("a", 0), contender("b", 0)));
        assertThat(order.subList(order.size() - 4, order.size())).containsExactly("a", "b", "b", "a");
    }

    @Test
    void everySecondRoundGoesBackwardsSoThatNoneAlwaysFollowsTheSame() throws IOException {
        new Rounds(Duration.ZERO, 4).time(List.of(contender("a", 0), contender("b", 0), contender("c", 0)));
        assertThat(String.join("", order)).isEqualTo("abc" + "bac" + "cab" + "acb");
    }

    @Test
    void whatIsRunToWarmUpIsNotCounted() throws IOException {
        var samples = new Rounds(Duration.ofMillis(1), 1).time(List.of(contender("a", 0)));
        assertThat(order).hasSizeGreaterThan(2);
        assertThat(samples.of("a").values()).containsExactly((double) order.size());
    }

    private Contender lasting(String name, double seconds) {
        return new Contender(name, () -> {
            order.add(name);
            return new Contender.Outcome(seconds, 0);
        });
    }

    @Test
    void ofBoundedRoundsTheFirstRunOfASlowContenderCountsAndItIsNotRunAgainAfterSomeTime() throws IOException {
        var rounds = Rounds.bounded(Duration.ofMillis(1), 4);
        var timings = rounds.time(List.of(lasting("slow", 15), lasting("slower", 60), lasting("fast", 0.1)));
        assertThat(timings.of("slow").values()).containsExactly(15.0, 15.0);
        assertThat(timings.of("slower").values()).containsExactly(60.0);
        assertThat(timings.of("fast").values()).hasSize(4);
        assertThat(order.subList(0, 2)).containsExactly("slow", "slower");
        assertThat(timings.speedup("fast", "slower").values()).containsExactly(600.0);
    }

    @Test
    void ofBoundedRoundsAFirstRunThatEndsBeforeTheWarmUpIsPartOfIt() {
        assertThat(Rounds.bounded(Duration.ofSeconds(3), 1).slow()).isEqualTo(3);
        assertThat(Rounds.bounded(Duration.ofMillis(1), 1).slow()).isEqualTo(1);
    }

    @Test
    void contendersThatDoDifferentThingsAreNotCompared() {
        var rounds = new Rounds(Duration.ZERO, 1);
        assertThatThrownBy(() -> rounds.time(List.of(contender("a", 1), contender("b", 2))))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("b came to 2.0");
    }
}
