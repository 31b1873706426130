package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class ProcessMemoryTest {
    private static final List<Long> THIS = List.of(ProcessHandle.current().pid());
    private static final long NBYTES = 64 << 20;

    @Test
    void theMappingsOfAFileArePartOfTheProcess() throws IOException {
        assertThat(ProcessMemory.proportional(THIS, "libjvm.so")).isPositive()
                .isLessThan(ProcessMemory.proportional(THIS));
    }

    @Test
    void aFileThatNobodyMappedCountsNothing() throws IOException {
        assertThat(ProcessMemory.proportional(THIS, "no such file")).isZero();
    }

    @Test
    void whatIsTakenAndGivenBackIsCounted() throws IOException {
        assumeTrue(Files.isWritable(Path.of("/proc/self/clear_refs")));
        long peak = ProcessMemory.peakDuring(() -> {
            try (Arena arena = Arena.ofConfined()) {
                arena.allocate(NBYTES).fill((byte) 1);
            }
        });
        assertThat(peak).isBetween(NBYTES * 9 / 10, NBYTES * 2);
    }
}
