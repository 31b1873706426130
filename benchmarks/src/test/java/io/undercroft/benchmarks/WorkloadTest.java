package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WorkloadTest {
    @Test
    void theLargeOneIsOneGibibyteIn256Tensors() {
        assertThat(Workload.LARGE.nbytes()).isEqualTo(1L << 30);
        assertThat(Workload.LARGE.count()).isEqualTo(256);
        assertThat(Workload.LARGE.what()).isEqualTo("1 GiB in 256 tensors");
    }

    @Test
    void namesHaveNumbersOfFiveDigits() {
        assertThat(new Workload("10 000 small tensors", 10_000, 8, 8).someName()).isEqualTo("layer.05000.weight");
    }
}
