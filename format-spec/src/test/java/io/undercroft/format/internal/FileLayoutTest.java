package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.Digest128;
import org.junit.jupiter.api.Test;

class FileLayoutTest {
    @Test
    void theFirstCommitFollowsTheHeaderAndTheOthersTakeTurnsBetweenTheSlotsBehindIt() {
        Header header = Header.of(Features.OTHER_ID, 16, 0x12340);
        assertThat(header.recordOffset(1)).isEqualTo(256);
        assertThat(header.recordOffset(2)).isEqualTo(0x13000);
        assertThat(header.recordOffset(3)).isEqualTo(0x14000);
        assertThat(header.recordOffset(4)).isEqualTo(0x13000);
        assertThat(header.slotsEnd()).isEqualTo(0x15000);
        assertThat(Header.of(Features.OTHER_ID, 16, 0x13000).slots()).isEqualTo(0x13000);
    }

    @Test
    void storagesOfAtLeastAChunkStartWhereTheyCanBeMapped() {
        assertThat(FileLayout.placeExtent(0x10001, 65535, 16)).isEqualTo(0x10040);
        assertThat(FileLayout.placeExtent(0x10001, 65536, 16)).isEqualTo(0x20000);
        assertThat(FileLayout.placeExtent(0x20000, 65536, 16)).isEqualTo(0x20000);
        assertThat(FileLayout.placeExtent(0x10001, (1 << 20) - 1, 20)).isEqualTo(0x10040);
        assertThat(FileLayout.placeExtent(0x10001, 1 << 20, 20)).isEqualTo(0x20000);
        assertThat(FileLayout.placeIndex(0x20001)).isEqualTo(0x20040);
        assertThat(FileLayout.placePage(0x20001)).isEqualTo(0x21000);
    }

    @Test
    void aPlacePastTheEndOfAllFilesIsRefused() {
        assertThatExceptionOfType(ArithmeticException.class).isThrownBy(() -> FileLayout.placeIndex(Long.MAX_VALUE));
    }

    @Test
    void theIdOfAFileKeepsTheDigestButForVersionAndVariant() {
        assertThat(FileLayout.canonicalUuid(new Digest128(-1, -1))).hasToString("ffffffff-ffff-8fff-bfff-ffffffffffff");
        assertThat(FileLayout.canonicalUuid(Digest128.ZERO)).hasToString("00000000-0000-8000-8000-000000000000");
    }
}
