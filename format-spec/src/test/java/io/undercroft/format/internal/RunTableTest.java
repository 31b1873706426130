package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.Digest128;
import org.junit.jupiter.api.Test;

class RunTableTest {
    private static final int MANY = 100_000;

    private final RunTable table = new RunTable();

    @Test
    void everyRunIsFoundByItsFilePlaceAndLength() {
        for (int i = 0; i < MANY; i++) {
            assertThat(table.add(i % 3, 65_536L * i, 1 + i % 5, new int[]{i}, new Digest128(-i, i))).isEqualTo(i);
        }
        assertThat(table.count()).isEqualTo(MANY);
        for (int i = 0; i < MANY; i++) {
            assertThat(table.find(i % 3, 65_536L * i, 1 + i % 5)).isEqualTo(i);
            assertThat(table.find((i + 1) % 3, 65_536L * i, 1 + i % 5)).isEqualTo(-1);
            assertThat(table.find(i % 3, 65_536L * i + 1, 1 + i % 5)).isEqualTo(-1);
            assertThat(table.find(i % 3, 65_536L * i, 6)).isEqualTo(-1);
        }
    }

    @Test
    void aRunKeepsWhatWasFoundOverIt() {
        int first = table.add(7, 1L << 40, 100, new int[]{-5}, new Digest128(1, -2));
        int second = table.add(-1, 1L << 41, 1L << 33, new int[]{1, 2, 3}, new Digest128(-3, 4));

        assertThat(table.file(first)).isEqualTo(7);
        assertThat(table.offset(first)).isEqualTo(1L << 40);
        assertThat(table.checksums(first)).containsExactly(-5);
        assertThat(table.digest(first)).isEqualTo(new Digest128(1, -2));
        assertThat(table.file(second)).isEqualTo(-1);
        assertThat(table.length(second)).isEqualTo(1L << 33);
        assertThat(table.checksums(second)).containsExactly(1, 2, 3);
        assertThat(table.digest(second)).isEqualTo(new Digest128(-3, 4));
    }
}
