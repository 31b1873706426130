package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

@ResourceLock(Operations.LOCK)
class OperationsTest {
    static long square(int side) {
        long sum = 0;
        for (int i = 0; i < side; i++) {
            for (int j = 0; j < side; j++) {
                sum++;
            }
        }
        return sum;
    }

    static int depth(int calls) {
        return calls == 0 ? 0 : 1 + depth(calls - 1);
    }

    @Test
    void iterationsOfLoopsAreCounted() throws IOException {
        Operations.Result result = Operations.of(OperationsTest.class, "square", 1000);
        assertThat(result.value()).isEqualTo(1_000_000L);
        assertThat(result.operations()).isBetween(1_000_000L, 1_010_000L);
    }

    @Test
    void callsOfMethodsAreCounted() throws IOException {
        assertThat(Operations.of(OperationsTest.class, "depth", 100)).isEqualTo(new Operations.Result(100, 101));
    }

    @Test
    void theSameWorkHasTheSameCount() throws IOException {
        assertThat(Operations.of(OperationsTest.class, "square", 10))
                .isEqualTo(Operations.of(OperationsTest.class, "square", 10));
    }
}
