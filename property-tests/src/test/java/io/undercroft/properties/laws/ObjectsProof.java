package io.undercroft.properties.laws;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.damage.ObjectFuzz;
import io.undercroft.properties.damage.ObjectFuzz.Outcome;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/// Saves and opens many random states of Java objects, by every law that holds of them, and opens as many files whose
/// trees were damaged or mixed up and summed up anew.
public final class ObjectsProof {
    private static final int MAX_STRIKES = 100;

    private ObjectsProof() {}

    public static Report run(Effort effort) throws IOException {
        Supplier<BooleanSupplier> each = () -> effort.cases(Duration.ofMinutes(1), 1000);
        return RandomProof.report("objects", (seed, scratch) -> {
            List<Figure> figures = new ArrayList<>();
            for (Law law : Law.ofObjects()) {
                figures.addAll(new Trial(law.toString(), each.get(), seed).run((state, _) -> {
                    law.check(state.make(), scratch);
                    return Outcome.STATE;
                }));
            }
            figures.addAll(new Trial("files with damaged trees", each.get(), seed)
                    .run((state, strikes) -> ObjectFuzz.ofBytes(state.make(), strikes, scratch)));
            figures.addAll(new Trial("files with nodes in wrong places", each.get(), seed)
                    .run((state, strikes) -> ObjectFuzz.ofNodes(state.make(), strikes, scratch)));
            return figures;
        });
    }

    @FunctionalInterface
    private interface Check {
        Outcome of(StateSketch state, byte[] strikes) throws IOException;
    }

    /// One check of many states.
    private static final class Trial {
        private final String name;
        private final BooleanSupplier goesOn;
        private final Supplier<StateSketch> states;
        private final SplittableRandom random;
        private final Map<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
        private int broken;

        Trial(String name, BooleanSupplier goesOn, long seed) {
            this.name = name;
            this.goesOn = goesOn;
            this.states = RandomProof.samples(StateSketch.ofObjects(), seed);
            this.random = new SplittableRandom(seed);
        }

        List<Figure> run(Check check) throws IOException {
            while (goesOn.getAsBoolean()) {
                StateSketch state = states.get();
                byte[] strikes = bytes(MAX_STRIKES);
                try {
                    outcomes.merge(check.of(state, strikes), 1, Integer::sum);
                } catch (AssertionError | RuntimeException | StackOverflowError | OutOfMemoryError e) {
                    if (broken++ == 0) {
                        System.err.println("BROKEN by the strikes " + HexFormat.of().formatHex(strikes) + " and\n"
                                + state);
                        e.printStackTrace();
                    }
                }
            }
            return List.of(Figure.count(name + ": opened", outcomes.getOrDefault(Outcome.STATE, 0)),
                    Figure.count(name + ": refused", outcomes.getOrDefault(Outcome.REFUSED, 0)),
                    Figure.count(name + ": broken", broken).atMost(0));
        }

        private byte[] bytes(int below) {
            byte[] bytes = new byte[random.nextInt(below)];
            random.nextBytes(bytes);
            return bytes;
        }
    }
}
