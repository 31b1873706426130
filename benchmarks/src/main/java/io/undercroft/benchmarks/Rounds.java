package io.undercroft.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Times contenders in turn.
///
/// @param warmUp how long each contender runs before, uncounted: the JVM compiles, Python imports, the page cache
///     fills. It is run until that time is over; not at all if it is zero
/// @param counted rounds that are counted
/// @param slow seconds from which on a contender is not warmed up: its first run counts
/// @param most seconds after which a contender is not run again
record Rounds(Duration warmUp, int counted, double slow, double most) {
    private static final double SLOW_SECONDS = 1;
    private static final double MOST_SECONDS = 20;

    /// Rounds in which all contenders run equally often.
    Rounds(Duration warmUp, int counted) {
        this(warmUp, counted, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY);
    }

    /// {@return rounds that end in bounded time also if a contender takes a minute} One whose first run takes as long
    /// as the warm-up, and at least a second, is not warmed up, and one whose runs have taken 20 seconds together is
    /// not run again. (A first run in a JVM may take ten times as long as the later ones, so a contender that is fast
    /// when it is compiled may take a second before.)
    ///
    /// @param warmUp how long each other contender runs before
    /// @param counted the maximum number of rounds that are counted
    static Rounds bounded(Duration warmUp, int counted) {
        return new Rounds(warmUp, counted, Math.max(SLOW_SECONDS, warmUp.toNanos() / 1e9), MOST_SECONDS);
    }

    /// Runs every contender once in each round; each round starts with the next one, and every second round goes
    /// backwards, so that none always follows the same.
    ///
    /// @param contenders at least one
    /// @return the seconds of the counted rounds
    /// @throws IOException if a contender fails
    /// @throws IllegalStateException if two contenders did not do the same thing
    Timings time(List<Contender> contenders) throws IOException {
        List<List<Double>> seconds = new ArrayList<>();
        for (Contender contender : contenders) {
            seconds.add(warmedUp(contender));
        }
        double witness = Double.NaN;
        for (int round = 0; round < counted; round++) {
            for (int turn = 0; turn < contenders.size(); turn++) {
                int i = (round + (round % 2 == 0 ? turn : contenders.size() - turn)) % contenders.size();
                List<Double> there = seconds.get(i);
                if (there.size() > round || there.stream().mapToDouble(Double::doubleValue).sum() >= most) {
                    continue;
                }
                Contender.Outcome outcome = contenders.get(i).task().run();
                witness = agree(witness, outcome, contenders.get(i));
                there.add(outcome.seconds());
            }
        }
        Map<String, Samples> samples = new LinkedHashMap<>();
        for (int i = 0; i < contenders.size(); i++) {
            samples.put(contenders.get(i).name(), new Samples(seconds.get(i)));
        }
        return new Timings(samples);
    }

    /// Returns what counts of the runs before the first round: nothing, or the first of a slow contender.
    private List<Double> warmedUp(Contender contender) throws IOException {
        long end = System.nanoTime() + warmUp.toNanos();
        for (boolean first = true; System.nanoTime() < end; first = false) {
            double seconds = contender.task().run().seconds();
            if (first && seconds >= slow) {
                return new ArrayList<>(List.of(seconds));
            }
        }
        return new ArrayList<>();
    }

    /// Returns the witness that all contenders agree on; the first one, which has none to agree with, finds NaN.
    private static double agree(double witness, Contender.Outcome outcome, Contender contender) {
        if (!Double.isNaN(witness) && outcome.witness() != witness) {
            throw new IllegalStateException(
                    contender.name() + " came to " + outcome.witness() + " where the others came to " + witness);
        }
        return outcome.witness();
    }
}
