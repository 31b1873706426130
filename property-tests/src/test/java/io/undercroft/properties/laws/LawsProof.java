package io.undercroft.properties.laws;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.formats.Writer;
import io.undercroft.properties.states.OddGeometry;
import io.undercroft.properties.states.StateMaker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;

/// Checks every [Law] of as many random states as there is time for, and makes as many [histories][History] of files.
public final class LawsProof {
    private static final int MAX_CHOICES = 2000;

    private LawsProof() {}

    public static Report run(Effort effort) throws IOException {
        Duration each = effort == Effort.FULL ? Duration.ofMinutes(1) : Duration.ofSeconds(5);
        return RandomProof.report("laws", (seed, scratch) -> {
            List<Figure> figures = new ArrayList<>();
            for (Law law : Law.values()) {
                figures.addAll(prove(law.toString(), each, new SplittableRandom(seed),
                        choices -> law.check(StateMaker.make(choices), scratch)));
            }
            for (Writer writer : Writer.all()) {
                figures.addAll(prove(writer + ": what is written is read, what is not is refused by path",
                        each.dividedBy(2), new SplittableRandom(seed), choices -> checkWriter(writer, choices)));
            }
            figures.addAll(prove("every snapshot is what was saved, whatever was done to its file", each,
                    new SplittableRandom(seed), LawsProof::makeHistory));
            return figures;
        });
    }

    @FunctionalInterface
    private interface Check {
        void of(byte[] choices) throws IOException;
    }

    private static void checkWriter(Writer writer, byte[] choices) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            writer.check(OddGeometry.make(choices), scratch);
        }
    }

    private static void makeHistory(byte[] choices) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            History.make(choices, scratch, History.Checks.ALL);
        }
    }

    private static List<Figure> prove(String law, Duration time, SplittableRandom random, Check check)
            throws IOException {
        long end = System.nanoTime() + time.toNanos();
        int states = 0;
        int broken = 0;
        while (System.nanoTime() < end) {
            byte[] choices = new byte[random.nextInt(MAX_CHOICES)];
            random.nextBytes(choices);
            states++;
            try {
                check.of(choices);
            } catch (AssertionError | RuntimeException e) {
                if (broken++ == 0) {
                    System.err.println("BROKEN by the choices " + HexFormat.of().formatHex(choices));
                    e.printStackTrace();
                }
            }
        }
        return List.of(Figure.count(law + ": states", states),
                Figure.count(law + ": states that break it", broken).atMost(0));
    }
}
