package io.undercroft.cuda.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RingSizeTest {
    @Test
    void threadsGrowWithTheProcessorsAndBuffersWithTheThreads() {
        assertThat(RingSize.of(1)).isEqualTo(new RingSize(1, 16, 4 << 20));
        assertThat(RingSize.of(8)).isEqualTo(new RingSize(8, 16, 4 << 20));
        assertThat(RingSize.of(16)).isEqualTo(new RingSize(16, 32, 4 << 20));
        assertThat(RingSize.of(208)).isEqualTo(RingSize.of(16));
    }
}
