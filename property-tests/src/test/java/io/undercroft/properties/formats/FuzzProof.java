package io.undercroft.properties.formats;

import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Repository;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/// Damages many files of the formats of others, and reads them; see [ForeignFuzz].
public final class FuzzProof {
    private FuzzProof() {}

    public static Report run(Effort effort) throws IOException {
        Path kept = Repository.path("property-tests/target/fuzz");
        return RandomProof.report("fuzz", (seed, scratch) -> {
            ForeignFuzz fuzz = new ForeignFuzz(Specimen.all(seed, scratch), seed, scratch, kept);
            fuzz.run(effort.cases(Duration.ofMinutes(10), 1000));
            return fuzz.figures();
        });
    }
}
