package io.undercroft.properties;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.RandomGenerator;
import net.jqwik.api.sessions.JqwikSession;

/// A proof by random cases.
public interface RandomProof {
    /// Tries cases.
    ///
    /// @param seed of all that is random
    /// @param scratch a place for files
    /// @return what came out
    List<Figure> run(long seed, Scratch scratch) throws IOException;

    /// {@return random samples of what the laws try, which are the same for the same seed} Called in a proof.
    ///
    /// @param arbitrary the samples
    /// @param seed the seed
    static <T> Supplier<T> samples(Arbitrary<T> arbitrary, long seed) {
        if (!JqwikSession.isActive()) {
            // For arbitraries, until the process ends.
            JqwikSession.start();
        }
        RandomGenerator<T> generator = arbitrary.generator(1000, true);
        Random random = new Random(seed);
        return () -> generator.next(random).value();
    }

    /// {@return the report of such a proof} A seed of its own for each run finds more than the same one again; it is
    /// printed, so that a run can be repeated by `--seed`.
    static Report report(String name, RandomProof proof) throws IOException {
        return report(name, Scratch.make(), proof);
    }

    /// {@return the report of a proof as by [#report(String, RandomProof)]}
    ///
    /// @param name its name
    /// @param place the place for its files, which is deleted
    /// @param proof the proof
    static Report report(String name, Scratch place, RandomProof proof) throws IOException {
        long seed = Long.getLong("seed", System.nanoTime());
        try (Scratch scratch = place) {
            var environment = Environment.of(scratch.directory());
            environment.put("seed", Long.toString(seed));
            return new Report(name, proof.run(seed, scratch), environment);
        }
    }
}
