package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MapBudgetTest {
    @Test
    void itHasHalfOfWhatLinuxAllows() {
        assertThat(new MapBudget().left()).isEqualTo(32_768);
    }

    @Test
    void takingIsAllOrNothing() {
        MapBudget budget = new MapBudget(5);
        assertThat(budget.tryAcquire(6)).isFalse();
        assertThat(budget.left()).isEqualTo(5);
        assertThat(budget.tryAcquire(5)).isTrue();
        assertThat(budget.tryAcquire(1)).isFalse();
        assertThat(budget.tryAcquire(0)).isTrue();
        budget.release(5);
        assertThat(budget.left()).isEqualTo(5);
    }

    @Test
    void threadsNeverTakeMoreThanThereIs() {
        MapBudget budget = new MapBudget(1000);
        AtomicInteger taken = new AtomicInteger();
        IntStream.range(0, 5000).parallel().filter(_ -> budget.tryAcquire(3)).forEach(_ -> taken.addAndGet(3));
        assertThat(taken).hasValue(999);
        assertThat(budget.left()).isEqualTo(1);
    }

    @Test
    void itCannotBeNegative() {
        assertThatIllegalArgumentException().isThrownBy(() -> new MapBudget(-1)).withMessageContaining("-1");
    }
}
