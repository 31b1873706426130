package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReportTest {
    private static final Samples SAMPLES = new Samples(List.of(2.0, 3.0, 2.5));

    @Test
    void theJsonIsOneLineWithTheKeysThatProgramsRelyOn() {
        var figure = Figure.of("a \"b\"", SAMPLES, "x").atLeast(2.5);
        assertThat(new Report("save", List.of(figure), Map.of("jdk", "25")).json()).isEqualTo(
                "{\"name\":\"save\",\"figures\":[{\"what\":\"a \\\"b\\\"\",\"value\":2.5,\"unit\":\"x\",\"target\":2.5,"
                        + "\"better\":\"higher\",\"met\":true,\"samples\":[2.0,3.0,2.5]}],\"env\":{\"jdk\":\"25\"}}");
    }

    @Test
    void aFigureWithoutAGoalHasNullsInItsPlace() {
        assertThat(new Report("open", List.of(Figure.of("t", 7, "s")), Map.of()).json())
                .contains("\"target\":null,\"better\":null,\"met\":null");
    }

    @Test
    void aMissedGoalIsSaid() {
        var missed = new Report("open", List.of(Figure.of("t", SAMPLES, "s").atMost(1)), Map.of());
        assertThat(missed.met()).isFalse();
        assertThat(missed.json()).contains("\"better\":\"lower\",\"met\":false");
        assertThat(missed.table()).anyMatch(line -> line.endsWith("<= 1 MISSED"));
    }

    @Test
    void aNumberThatIsNoneMeetsNoGoal() {
        assertThat(Figure.of("t", Double.NaN, "s").atLeast(0).met()).isFalse();
        assertThat(Figure.of("t", Double.NaN, "s").atMost(0).met()).isFalse();
    }
}
