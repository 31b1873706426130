package io.undercroft.cli.internal.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class CudaCheckTest {
    private static final Path DIRECTORY = Path.of("work");

    @Test
    void theUsualSizeFitsIntoTheFreeSpace() throws IOException {
        assertThat(CudaCheck.usualSize(DIRECTORY, 1L << 40)).isEqualTo(4L << 30);
        assertThat(CudaCheck.usualSize(DIRECTORY, (6L << 30) + (256 << 20))).isEqualTo(1L << 30);
    }

    @Test
    void withoutSpaceForAnyMeasurementItIsNotZero() {
        for (long free : new long[]{0, 256 << 20, 600 << 20}) {
            assertThatIOException().isThrownBy(() -> CudaCheck.usualSize(DIRECTORY, free))
                    .withMessageContaining("work has ").withMessageContaining("640.0 MiB are needed")
                    .withMessageContaining("--dir");
        }
    }
}
