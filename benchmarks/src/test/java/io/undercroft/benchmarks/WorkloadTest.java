package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WorkloadTest {
    @Test
    void theLargeOneIsOneGibibyteIn256Tensors() {
        Workload large = Workload.large(Effort.FULL);
        assertThat(large.nbytes()).isEqualTo(1L << 30);
        assertThat(large.count()).isEqualTo(256);
    }

    @Test
    void theManyAreTenThousand() {
        assertThat(Workload.many(Effort.FULL).count()).isEqualTo(10_000);
        assertThat(Workload.many(Effort.FULL).someName()).isEqualTo("layer.05000.weight");
    }
}
