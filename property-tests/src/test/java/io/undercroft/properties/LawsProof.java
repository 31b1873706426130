package io.undercroft.properties;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Goal;
import io.undercroft.benchmarks.Report;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;

/// Checks every [Law] of as many random states as there is time for.
final class LawsProof {
    private static final int MAX_CHOICES = 2000;

    private LawsProof() {}

    static Report run(Effort effort) throws IOException {
        Duration each = effort == Effort.FULL ? Duration.ofMinutes(1) : Duration.ofSeconds(5);
        return RandomProof.report("laws", (seed, scratch) -> {
            List<Figure> figures = new ArrayList<>();
            for (Law law : Law.values()) {
                figures.addAll(prove(law, each, new SplittableRandom(seed), scratch));
            }
            return figures;
        });
    }

    private static List<Figure> prove(Law law, Duration time, SplittableRandom random, Scratch scratch)
            throws IOException {
        long end = System.nanoTime() + time.toNanos();
        int states = 0;
        int broken = 0;
        while (System.nanoTime() < end) {
            byte[] choices = new byte[random.nextInt(MAX_CHOICES)];
            random.nextBytes(choices);
            states++;
            try {
                law.check(StateMaker.make(choices), scratch);
            } catch (AssertionError | RuntimeException e) {
                if (broken++ == 0) {
                    System.err.println("BROKEN by the choices " + HexFormat.of().formatHex(choices));
                    e.printStackTrace();
                }
            }
        }
        return List.of(Figure.count(law + ": states", states),
                Figure.count(law + ": states that break it", broken).with(Goal.atMost(0)));
    }
}
