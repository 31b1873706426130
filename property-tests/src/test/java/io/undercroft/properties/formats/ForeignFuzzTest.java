package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.benchmarks.Figure;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.damage.Operations;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/// Always the same damaged files of every format, some hundred of each; `property-tests/run fuzz` has others for as
/// long as one likes.
@ResourceLock(Operations.LOCK)
class ForeignFuzzTest {
    private static final long SEED = 7;
    private static final int ROUNDS = 120;

    @TempDir
    private Path kept;

    @Test
    void picklesThatAreDamagedOpenIfTheyAreNot() throws IOException {
        for (Specimen specimen : PickleSpecimens.all()) {
            Path file = Files.write(kept.resolve("specimen"), specimen.bytes());
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.format()).as(specimen.name()).isEqualTo(specimen.format());
            }
        }
    }

    @Test
    void damagedFilesOpenOrAreRefused() throws IOException {
        try (Scratch scratch = Scratch.make()) {
            ForeignFuzz fuzz = new ForeignFuzz(Specimen.all(SEED, scratch), SEED, scratch, kept);
            AtomicInteger rounds = new AtomicInteger();
            fuzz.run(() -> rounds.getAndIncrement() < ROUNDS);

            assertThat(fuzz.figures()).allSatisfy(figure -> assertThat(figure.met()).as(figure.what()).isTrue());
            assertThat(fuzz.figures()).hasSizeGreaterThan(20).extracting(Figure::value).anyMatch(value -> value > 0);
        }
    }
}
