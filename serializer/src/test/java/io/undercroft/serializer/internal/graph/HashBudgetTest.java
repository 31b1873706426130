package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.internal.graph.HashBudget.Wrong;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Tuple;
import java.util.AbstractList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/// The work that hostile keys of maps and sets can cause.
class HashBudgetTest {
    private static final int MANY = 400_000;
    private static final Tuple LARGE = new Tuple(Collections.nCopies(StateKeys.MAX_PARTS - 3, 1));

    /// Many keys, which counts how many of them were requested.
    private static final class Keys extends AbstractList<@Nullable Object> {
        private final IntFunction<@Nullable Object> key;
        private int requested;

        Keys(IntFunction<@Nullable Object> key) {
            this.key = key;
        }

        @Override
        public @Nullable Object get(int index) {
            requested++;
            return key.apply(Objects.checkIndex(index, MANY));
        }

        @Override
        public int size() {
            return MANY;
        }
    }

    /// 2^24 comparisons of parts are made by 182 such keys, each compared with those before it.
    @Test
    void keysThatAreOneTupleAreRefusedAfterTheFirstFew() {
        Keys keys = new Keys(_ -> LARGE);
        assertThat(new HashBudget().check(keys)).contains(Wrong.TOO_MUCH);
        assertThat(keys.requested).isLessThan(200);
    }

    /// 2^24 parts are in 18 700 such keys, of each of which 128 are free.
    @Test
    void keysThatShareALargePartAreRefusedBeforeTheLast() {
        Keys keys = new Keys(i -> Tuple.of(LARGE, i));
        assertThat(new HashBudget().check(keys)).contains(Wrong.TOO_MUCH);
        assertThat(keys.requested).isLessThan(20_000);
    }

    @Test
    void keysBehindOneThatIsNoKeyAreNotLookedAt() {
        Keys keys = new Keys(i -> i == 10 ? List.of() : Tuple.of(i));
        assertThat(new HashBudget().check(keys)).contains(Wrong.NO_KEY);
        assertThat(keys.requested).isLessThan(20);
    }

    @Test
    void aPartThatManyKeysShareIsConvertedOnce() {
        Object first = HashBudget.identity(Tuple.of(LARGE, LARGE));
        assertThat(first).isInstanceOfSatisfying(List.class,
                parts -> assertThat(parts.get(0)).isSameAs(parts.get(1)).isEqualTo(
                        Collections.nCopies(LARGE.size(), 1L)));
    }

    @Test
    void tuplesOfTheSameNumbersOfTwoWidthsAreOneKey() {
        assertThat(new HashBudget().check(List.of(Tuple.of(1, "a"), Tuple.of(1L, "a")))).contains(Wrong.TWICE);
        assertThat(new HashBudget().check(List.of(Tuple.of(1, "a"), Tuple.of(2L, "a")))).isEmpty();
    }
}
