package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringWriter;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ProgressBarTest {
    private static final long TOTAL = 4 << 20;

    private final StringWriter screen = new StringWriter();
    private long now;
    private final ProgressBar bar = new ProgressBar(screen, () -> now, Text::bytes);

    private void after(Duration time, long done) {
        now += time.toNanos();
        bar.onProgress(done, TOTAL);
    }

    private String lastLine() {
        return screen.toString().substring(screen.toString().lastIndexOf('\r') + 1);
    }

    @Test
    void aShortSaveShowsNothing() {
        after(Duration.ZERO, 0);
        after(Duration.ofMillis(900), TOTAL);
        bar.close();
        assertThat(screen.toString()).isEmpty();
    }

    @Test
    void aLongOneShowsHowFarItIs() {
        after(Duration.ZERO, 0);
        after(Duration.ofSeconds(2), TOTAL / 2);
        assertThat(lastLine()).isEqualTo("[###############...............] 50 % of 4.0 MiB, 1.0 MiB/s, 0:02 left");
    }

    @Test
    void itIsNotDrawnMoreOftenThanOneCanLook() {
        after(Duration.ofSeconds(2), 1);
        String before = screen.toString();
        after(Duration.ofMillis(50), TOTAL / 2);
        assertThat(screen).hasToString(before);
        after(Duration.ofMillis(60), TOTAL / 2);
        assertThat(lastLine()).contains("50 %");
    }

    @Test
    void atTheEndTheLineIsEmptyAgain() {
        after(Duration.ofSeconds(2), TOTAL / 2);
        int width = lastLine().length();
        bar.close();
        assertThat(screen.toString()).endsWith("\r" + " ".repeat(width) + "\r");
    }

    @Test
    void workWithoutAKnownEndShowsHowMuchIsDone() {
        now += Duration.ofMillis(900).toNanos();
        bar.advanced(1 << 20);
        assertThat(screen.toString()).isEmpty();
        now += Duration.ofMillis(1100).toNanos();
        bar.advanced(3 << 20);
        assertThat(lastLine()).isEqualTo("3.0 MiB, 1.5 MiB/s");
    }

    @Test
    void thingsAreCounted() {
        ProgressBar entries = new ProgressBar(screen, () -> now, count -> count + " entries");
        now += Duration.ofSeconds(2).toNanos();
        entries.onProgress(10, 40);
        assertThat(lastLine()).isEqualTo("[#######.......................] 25 % of 40 entries, 5 entries/s, 0:06 left");
    }
}
