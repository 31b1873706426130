package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.Digest128;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DigestSetTest {
    @Test
    void eachDigestIsNewOnce() {
        UniqueBytes.DigestSet set = new UniqueBytes.DigestSet();
        Set<Digest128> model = new HashSet<>();
        Random random = new Random(5);
        for (int i = 0; i < 100_000; i++) {
            Digest128 digest = new Digest128(random.nextInt(300) - 100L, random.nextInt(300) - 100L);

            assertThat(set.add(digest)).isEqualTo(model.add(digest));
        }
    }

    @Test
    void theDigestOfZerosIsOneOfThem() {
        UniqueBytes.DigestSet set = new UniqueBytes.DigestSet();

        assertThat(set.add(Digest128.ZERO)).isTrue();
        assertThat(set.add(Digest128.ZERO)).isFalse();
        assertThat(set.add(new Digest128(0, 1))).isTrue();
        assertThat(set.add(new Digest128(1, 0))).isTrue();
    }
}
