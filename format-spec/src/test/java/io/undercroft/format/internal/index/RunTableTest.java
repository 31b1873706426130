package io.undercroft.format.internal.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.ExtentSums;
import org.junit.jupiter.api.Test;

class RunTableTest {
    private static final int MANY = 100_000;

    private final RunTable table = new RunTable();

    @Test
    void everyRunIsFoundByItsFilePlaceAndLength() {
        for (int i = 0; i < MANY; i++) {
            assertThat(table.add(i % 3, 65_536L * i, 1 + i % 5, sums(i, -i, i))).isEqualTo(i);
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
        int first = table.add(7, 1L << 40, 100, sums(-5, 1, -2));
        int second = table.add(-1, 1L << 41, 1L << 33, sums(1, -3, 4));

        assertThat(table.file(first)).isEqualTo(7);
        assertThat(table.offset(first)).isEqualTo(1L << 40);
        assertThat(table.sums(first)).isEqualTo(sums(-5, 1, -2));
        assertThat(table.file(second)).isEqualTo(-1);
        assertThat(table.length(second)).isEqualTo(1L << 33);
        assertThat(table.sums(second)).isEqualTo(sums(1, -3, 4));
    }

    private static ExtentSums sums(int checksum, long high, long low) {
        return new ExtentSums(checksum, new Digest128(high, low));
    }
}
