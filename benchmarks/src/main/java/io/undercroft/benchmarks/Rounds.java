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
record Rounds(Duration warmUp, int counted) {
    /// Runs every contender once in each round; each round starts with the next one, so that none always follows the
    /// same.
    ///
    /// @param contenders at least one
    /// @return the seconds of the counted rounds
    /// @throws IOException if a contender fails
    /// @throws IllegalStateException if two contenders did not do the same thing
    Timings time(List<Contender> contenders) throws IOException {
        List<List<Double>> seconds = contenders.stream().<List<Double>>map(contender -> new ArrayList<>()).toList();
        warmUp(contenders);
        double witness = Double.NaN;
        for (int round = 0; round < counted; round++) {
            for (int turn = 0; turn < contenders.size(); turn++) {
                int i = (round + turn) % contenders.size();
                Contender.Outcome outcome = contenders.get(i).task().run();
                witness = agree(witness, outcome, contenders.get(i));
                seconds.get(i).add(outcome.seconds());
            }
        }
        Map<String, Samples> samples = new LinkedHashMap<>();
        for (int i = 0; i < contenders.size(); i++) {
            samples.put(contenders.get(i).name(), new Samples(seconds.get(i)));
        }
        return new Timings(samples);
    }

    private void warmUp(List<Contender> contenders) throws IOException {
        for (Contender contender : contenders) {
            long end = System.nanoTime() + warmUp.toNanos();
            while (System.nanoTime() < end) {
                contender.task().run();
            }
        }
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
