package io.undercroft.properties.laws;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.formats.Writer;
import io.undercroft.properties.states.OddGeometry;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/// Checks every [Law] of many random states, and makes many [histories][History] of files.
public final class LawsProof {
    private static final int STEPS = 8;

    private LawsProof() {}

    public static Report run(Effort effort) throws IOException {
        Duration each = Duration.ofMinutes(1);
        return RandomProof.report("laws", (seed, scratch) -> {
            List<Figure> figures = new ArrayList<>();
            for (Law law : Law.values()) {
                figures.addAll(
                        prove(law.toString(), effort.cases(each, 1000), RandomProof.samples(StateSketch.plain(), seed),
                                state -> law.check(state.make(), scratch)));
            }
            for (Writer writer : Writer.all()) {
                figures.addAll(prove(writer + ": what is written is read, what is not is refused by path",
                        effort.cases(each.dividedBy(2), 1500), RandomProof.samples(OddGeometry.any(), seed),
                        state -> checkWriter(writer, state)));
            }
            figures.addAll(prove("every snapshot is what was saved, whatever was done to its file",
                    effort.cases(each, 50),
                    RandomProof.samples(History.chains(History.Checks.ALL).withMaxTransformations(STEPS), seed),
                    chain -> ChainModel.run(chain, History::check)));
            return figures;
        });
    }

    @FunctionalInterface
    private interface Check<T> {
        void of(T sample) throws IOException;
    }

    private static void checkWriter(Writer writer, OddGeometry state) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            writer.check(state.make(), scratch);
        }
    }

    private static <T> List<Figure> prove(String law, BooleanSupplier goesOn, Supplier<T> samples, Check<T> check)
            throws IOException {
        int states = 0;
        int broken = 0;
        while (goesOn.getAsBoolean()) {
            T sample = samples.get();
            states++;
            try {
                check.of(sample);
            } catch (AssertionError | RuntimeException e) {
                if (broken++ == 0) {
                    System.err.println("BROKEN by\n" + sample);
                    e.printStackTrace();
                }
            }
        }
        return List.of(Figure.count(law + ": states", states),
                Figure.count(law + ": states that break it", broken).atMost(0));
    }
}
