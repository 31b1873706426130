package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class PieceReaderTest {
    @Test
    void aFileOfMoreThanAQuarterOfTheAvailableMemoryIsLarge() {
        assertThat(PieceReader.isLarge(25, OptionalLong.of(100))).isFalse();
        assertThat(PieceReader.isLarge(26, OptionalLong.of(100))).isTrue();
        assertThat(PieceReader.isLarge(Long.MAX_VALUE, OptionalLong.empty())).isFalse();
    }
}
