package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class SamplesTest {
    @Test
    void theMedianOfAnOddNumberIsTheMiddleOne() {
        assertThat(new Samples(List.of(9.0, 1.0, 5.0)).median()).isEqualTo(5);
    }

    @Test
    void theMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle() {
        assertThat(new Samples(List.of(4.0, 1.0, 3.0, 100.0)).median()).isEqualTo(3.5);
    }

    @Test
    void quantilesReachFromTheSmallestToTheLargest() {
        var samples = new Samples(List.of(2.0, 1.0, 4.0, 3.0, 5.0));
        assertThat(samples.quantile(0)).isEqualTo(1);
        assertThat(samples.quantile(0.25)).isEqualTo(2);
        assertThat(samples.quantile(1)).isEqualTo(5);
    }

    @Test
    void ratiosAreTakenRoundByRound() {
        var ours = new Samples(List.of(1.0, 10.0));
        assertThat(new Samples(List.of(3.0, 30.0)).over(ours).values()).containsExactly(3.0, 3.0);
    }

    @Test
    void ratiosNeedAsManyRounds() {
        var two = new Samples(List.of(1.0, 2.0));
        assertThatThrownBy(() -> two.over(new Samples(List.of(1.0)))).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void noSamplesAreNoMeasurement() {
        assertThatThrownBy(() -> new Samples(List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
