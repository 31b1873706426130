package io.undercroft.cli.internal.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cuda.internal.DeviceChecks;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;

class CheckListTest {
    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
    private final TextOutput out = new TextOutput(printed);

    private List<String> lines() {
        out.flush();
        return printed.toString(StandardCharsets.UTF_8).lines().toList();
    }

    @Test
    void aCheckThatThrowsHasFailedWithItsReasonAndTheNextOneRuns() {
        CheckList checks = new CheckList(out);
        checks.run("bytes", () -> DeviceChecks.require(false, "the bytes differ"));
        checks.run("files", () -> {
            throw new IOException("disk full");
        });
        checks.run("memory", () -> DeviceChecks.require(true, "impossible"));
        checks.omit("peers", "there is only one device");
        assertThat(checks.failed()).isEqualTo(2);
        assertThat(checks.passed()).isEqualTo(1);
        assertThat(lines()).containsExactly("FAILED   bytes: the bytes differ", "FAILED   files: disk full",
                "passed   memory", "omitted  peers: there is only one device");
    }

    @Test
    void anInterruptedThreadStopsChecking() {
        CheckList checks = new CheckList(out);
        assertThatThrownBy(() -> checks.run("bytes", () -> Thread.currentThread().interrupt()))
                .isInstanceOf(CancellationException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aMissedTargetIsShownAndDecides() throws IOException {
        FigureList figures = new FigureList(false);
        figures.add(FigureList.Figure.ratio("fast / slow", List.of(4.0, 6.0, 8.0), List.of(2.0, 2.0, 2.0)).atLeast(3));
        assertThat(figures.isMet()).isTrue();
        figures.add(FigureList.Figure.of("failures", 1).atMost(0));
        assertThat(figures.isMet()).isFalse();
        figures.omit("torch", "there is no python3");
        figures.environment("gpu", "yes");
        figures.print(out);
        assertThat(lines()).anyMatch(line -> line.matches("fast / slow +3 +x +2 +4 +>= 3 met"))
                .anyMatch(line -> line.matches("failures +1 +<= 0 MISSED"))
                .contains("not measured: torch: there is no python3", "gpu: yes");
        JsonNode json = new ObjectMapper().readTree(lines().getLast());
        assertThat(json.get("name").asText()).isEqualTo("cuda-check");
        assertThat(json.at("/figures/0/samples")).hasSize(3);
        assertThat(json.at("/figures/0/met").asBoolean()).isTrue();
        assertThat(json.at("/figures/1/better").asText()).isEqualTo("lower");
    }

    @Test
    void withAStandInRatesHaveNoTargets() {
        FigureList figures = new FigureList(true);
        figures.add(FigureList.Figure.ratio("slow / fast", List.of(1.0), List.of(2.0)).atLeast(3));
        assertThat(figures.isMet()).isTrue();
        figures.add(FigureList.Figure.of("failures", 1).atMost(0));
        assertThat(figures.isMet()).isFalse();
    }

    @Test
    void theMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle() {
        assertThat(FigureList.Figure.of("x", List.of(9.0, 1.0, 2.0, 4.0), "s").median()).isEqualTo(3.0);
    }
}
