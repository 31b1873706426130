package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class PssTest {
    private static final List<Long> THIS = List.of(ProcessHandle.current().pid());

    @Test
    void theMappingsOfAFileArePartOfTheProcess() throws IOException {
        assertThat(Pss.of(THIS, "libjvm.so")).isPositive().isLessThan(Pss.of(THIS));
    }

    @Test
    void aFileThatNobodyMappedCountsNothing() throws IOException {
        assertThat(Pss.of(THIS, "no such file")).isZero();
    }
}
