package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.Test;

class LayoutTest {
    @Test
    void commitsTakeTurnsBetweenTheSlots() {
        assertThat(Layout.slotOffset(1)).isEqualTo(0x2000);
        assertThat(Layout.slotOffset(2)).isEqualTo(0x1000);
        assertThat(Layout.slotOffset(3)).isEqualTo(0x2000);
    }

    @Test
    void largeStoragesStartWhereTheyCanBeMapped() {
        assertThat(Layout.placeExtent(0x10001, 65535)).isEqualTo(0x10040);
        assertThat(Layout.placeExtent(0x10001, 65536)).isEqualTo(0x20000);
        assertThat(Layout.placeExtent(0x20000, 65536)).isEqualTo(0x20000);
        assertThat(Layout.placeIndex(0x20001)).isEqualTo(0x21000);
    }

    @Test
    void aPlacePastTheEndOfAllFilesIsRefused() {
        assertThatExceptionOfType(ArithmeticException.class).isThrownBy(() -> Layout.placeIndex(Long.MAX_VALUE));
    }

    @Test
    void theIdOfAFileKeepsTheDigestButForVersionAndVariant() {
        assertThat(Layout.canonicalUuid(new Digest128(-1, -1))).hasToString("ffffffff-ffff-8fff-bfff-ffffffffffff");
        assertThat(Layout.canonicalUuid(Digest128.ZERO)).hasToString("00000000-0000-8000-8000-000000000000");
    }
}
