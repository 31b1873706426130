package io.undercroft.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Times contenders in turn.
///
/// @param warmUp how long each contender runs before, uncounted and at least once: the JVM compiles, Python imports, the page
///     cache fills
/// @param counted rounds that are counted
record Rounds(Duration warmUp, int counted) {
    /// Runs every contender once in each round; each round starts with the next one, so that none always follows the same.
    ///
    /// @param contenders at least one
    /// @return the seconds of the counted rounds
    /// @throws IOException if a contender fails
    /// @throws IllegalStateException if two contenders did not do the same thing
    Timings time(List<Contender> contenders) throws IOException {
        List<List<Double>> seconds = contenders.stream().<List<Double>>map(contender -> new ArrayList<>()).toList();
        double witness = warmUp(contenders);
        for (int round = 0; round < counted; round++) {
            for (int turn = 0; turn < contenders.size(); turn++) {
                int i = (round + turn) % contenders.size();
                Contender.Outcome outcome = contenders.get(i).task().run();
                agree(witness, outcome, contenders.get(i));
                seconds.get(i).add(outcome.seconds());
            }
        }
        Map<String, Samples> samples = new LinkedHashMap<>();
        for (int i = 0; i < contenders.size(); i++) {
            samples.put(contenders.get(i).name(), new Samples(seconds.get(i)));
        }
        return new Timings(samples);
    }

    /// Returns the witness that all contenders agree on.
    private double warmUp(List<Contender> contenders) throws IOException {
        double witness = contenders.getFirst().task().run().witness();
        for (Contender contender : contenders) {
            long end = System.nanoTime() + warmUp.toNanos();
            do {
                agree(witness, contender.task().run(), contender);
            } while (System.nanoTime() < end);
        }
        return witness;
    }

    private static void agree(double witness, Contender.Outcome outcome, Contender contender) {
        if (outcome.witness() != witness) {
            throw new IllegalStateException(
                    contender.name() + " came to " + outcome.witness() + " where the others came to " + witness);
        }
    }
}
