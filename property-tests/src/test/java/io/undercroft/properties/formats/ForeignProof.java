package io.undercroft.properties.formats;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.Sketch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/// Writes many random states in every [Dialect], and checks every [ForeignLaw] of the files. Of five states four are of
/// the kind that the format was made for, and one is any.
public final class ForeignProof {
    private static final int SHOWN = 3;

    private final Map<ForeignLaw, Integer> broken = new EnumMap<>(ForeignLaw.class);
    private final long seed;
    private final Effort effort;
    private final Scratch scratch;
    private int shown;

    private ForeignProof(long seed, Effort effort, Scratch scratch) {
        this.seed = seed;
        this.effort = effort;
        this.scratch = scratch;
    }

    public static Report run(Effort effort) throws IOException {
        return RandomProof.report("foreign", (seed, scratch) -> new ForeignProof(seed, effort, scratch).figures());
    }

    private List<Figure> figures() throws IOException {
        List<Figure> figures = new ArrayList<>();
        for (Dialect dialect : Dialect.values()) {
            figures.addAll(prove(dialect));
        }
        for (ForeignLaw law : ForeignLaw.values()) {
            figures.add(Figure.count(law + ": files that break it", broken.getOrDefault(law, 0)).atMost(0));
        }
        return figures;
    }

    private List<Figure> prove(Dialect dialect) throws IOException {
        BooleanSupplier goesOn = effort.cases(Duration.ofSeconds(45), 300);
        int files = 0;
        int refused = 0;
        int faults = 0;
        shown = 0;
        // Of its own: how many states the dialects before it had time for changes nothing.
        SplittableRandom random = new SplittableRandom(seed);
        Supplier<StateSketch> any = RandomProof.samples(StateSketch.plain(), seed);
        Supplier<ForeignSketch> own = RandomProof.samples(ForeignSketch.of(dialect), seed);
        while (goesOn.getAsBoolean()) {
            boolean isAny = random.nextInt(5) == 0;
            Sketch sketch = isAny ? any.get() : own.get();
            try {
                Optional<Written> written = Written.of(dialect, sketch.make(), scratch);
                if (written.isEmpty()) {
                    refused++;
                } else {
                    files++;
                    faults += isAny ? 0 : faults(written.get(), sketch);
                }
            } catch (AssertionError | RuntimeException | StackOverflowError | OutOfMemoryError e) {
                faults++;
                show(dialect + ": writing", sketch, e);
            }
            scratch.clear();
        }
        return List.of(Figure.count(dialect + ": files that were written", files),
                Figure.count(dialect + ": states that were refused", refused),
                Figure.count(dialect + ": broken", faults).atMost(0));
    }

    private int faults(Written written, Sketch sketch) throws IOException {
        int faults = 0;
        for (ForeignLaw law : ForeignLaw.values()) {
            try {
                law.check(written);
            } catch (AssertionError | RuntimeException | StackOverflowError | OutOfMemoryError e) {
                faults++;
                broken.merge(law, 1, Integer::sum);
                show(written.dialect() + ": " + law, sketch, e);
            }
        }
        return faults;
    }

    private void show(String what, Sketch sketch, Throwable e) {
        if (shown++ < SHOWN) {
            System.err.println("BROKEN: " + what + ", by\n" + sketch);
            e.printStackTrace();
        }
    }
}
