package io.undercroft.properties.processes;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/// Lets many processes share memory and be killed at it for some minutes ([Soak]). Nobody may see anything half done,
/// and nothing may be left.
public final class SoakProof {
    /// What is refused in the ordinary course of things: a name that is taken, one that is gone, and a descriptor whose
    /// number means another file by the time it is asked for.
    private static final Pattern ORDINARY = Pattern.compile("refused (\\w+ (EXISTS|NOT_FOUND)|take NOT_MEMORY)");

    /// Without these it would prove nothing.
    private static final List<String> NEEDED = List.of(Soak.STARTED, Soak.KILLED, Soak.IN_THE_MIDDLE, Soak.ATTACHED,
            "done: publish", "done: swap", "done: take", "done: publish-own", "done: swept");

    private SoakProof() {}

    public static Report run(Effort effort) throws IOException {
        return RandomProof.report("soak", (seed, scratch) -> figures(new Soak(plan(effort, seed)).run()));
    }

    private static Soak.Plan plan(Effort effort, long seed) {
        return effort == Effort.FULL
                ? new Soak.Plan(32, Duration.ofMinutes(5), 100, Duration.ofSeconds(1), seed)
                : new Soak.Plan(8, Duration.ofSeconds(20), 10, Duration.ofMillis(500), seed);
    }

    private static List<Figure> figures(Soak.Outcome outcome) {
        outcome.troubles().forEach(System.err::println);
        outcome.leftovers().forEach(path -> System.err.println("left: " + path));
        outcome.gone().forEach(path -> System.err.println("gone: " + path));
        List<Figure> figures = new ArrayList<>();
        NEEDED.forEach(what -> figures.add(Figure.count(what, outcome.count(what)).atLeast(1)));
        outcome.counts().forEach((what, count) -> {
            if (!NEEDED.contains(what) && !what.equals("torn") && !what.equals("failed")) {
                figures.add(Figure.count(what, count));
            }
        });
        long unusual = outcome.countAll("refused ") - ordinaryRefusals(outcome);
        figures.add(none("refusals for another reason than that what is asked for is taken or gone", unusual));
        figures.add(none("torn reads, wrong sizes, names lost while held", outcome.count("torn")));
        figures.add(none("errors without a type, crashes", outcome.count("failed")));
        figures.add(Figure.count("entries that the dead left in /dev/shm", outcome.collected().size())
                .atLeast(1));
        figures.add(none("entries of them that gc left there", outcome.leftovers().size()));
        figures.add(none("entries of somebody else that are gone or changed", outcome.gone().size()));
        figures.add(Figure.count("entries that others made meanwhile", outcome.foreign().size()));
        return figures;
    }

    /// {@return how often something was refused as it has to be}
    static long ordinaryRefusals(Soak.Outcome outcome) {
        return outcome.counts().keySet().stream().filter(ORDINARY.asMatchPredicate()).mapToLong(outcome::count).sum();
    }

    private static Figure none(String what, long count) {
        return Figure.count(what, count).atMost(0);
    }
}
