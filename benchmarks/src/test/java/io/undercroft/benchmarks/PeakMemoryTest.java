package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class PeakMemoryTest {
    private static final long NBYTES = 64 << 20;

    @Test
    void whatIsTakenAndGivenBackIsCounted() throws IOException {
        assumeTrue(Files.isWritable(Path.of("/proc/self/clear_refs")));
        long peak = PeakMemory.during(() -> {
            try (Arena arena = Arena.ofConfined()) {
                arena.allocate(NBYTES).fill((byte) 1);
            }
        });
        assertThat(peak).isBetween(NBYTES * 9 / 10, NBYTES * 2);
    }
}
