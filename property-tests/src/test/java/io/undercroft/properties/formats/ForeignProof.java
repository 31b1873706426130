package io.undercroft.properties.formats;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/// Writes as many random states as there is time for in every [Dialect], and checks every [ForeignLaw] of the files. Of
/// five states four are of the kind that the format was made for, and one is any.
public final class ForeignProof {
    private static final int MAX_CHOICES = 250;
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
        Supplier<StateSketch> sketches = RandomProof.samples(StateSketch.plain(), seed);
        while (goesOn.getAsBoolean()) {
            boolean isAny = random.nextInt(5) == 0;
            byte[] choices = new byte[random.nextInt(MAX_CHOICES)];
            random.nextBytes(choices);
            StateSketch sketch = isAny ? sketches.get() : StateSketch.EMPTY;
            try {
                Object state = isAny ? sketch.make() : dialect.make(choices);
                Optional<Written> written = Written.of(dialect, state, scratch);
                if (written.isEmpty()) {
                    refused++;
                } else {
                    files++;
                    faults += isAny ? 0 : faults(written.get(), choices);
                }
            } catch (AssertionError | RuntimeException | StackOverflowError | OutOfMemoryError e) {
                faults++;
                show(dialect + ": writing", isAny ? sketch.toString() : shown(choices), e);
            }
            scratch.clear();
        }
        return List.of(Figure.count(dialect + ": files that were written", files),
                Figure.count(dialect + ": states that were refused", refused),
                Figure.count(dialect + ": broken", faults).atMost(0));
    }

    private int faults(Written written, byte[] choices) throws IOException {
        int faults = 0;
        for (ForeignLaw law : ForeignLaw.values()) {
            try {
                law.check(written);
            } catch (AssertionError | RuntimeException | StackOverflowError | OutOfMemoryError e) {
                faults++;
                broken.merge(law, 1, Integer::sum);
                show(written.dialect() + ": " + law, shown(choices), e);
            }
        }
        return faults;
    }

    private static String shown(byte... choices) {
        return "the choices " + HexFormat.of().formatHex(choices);
    }

    private void show(String what, String state, Throwable e) {
        if (shown++ < SHOWN) {
            System.err.println("BROKEN: " + what + ", by " + state);
            e.printStackTrace();
        }
    }
}
