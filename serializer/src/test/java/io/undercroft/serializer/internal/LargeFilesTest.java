package io.undercroft.serializer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class LargeFilesTest {
    @Test
    void aFileOfMoreThanAQuarterOfTheAvailableMemoryIsLarge() {
        assertThat(LargeFiles.isLarge(25, OptionalLong.of(100))).isFalse();
        assertThat(LargeFiles.isLarge(26, OptionalLong.of(100))).isTrue();
        assertThat(LargeFiles.isLarge(Long.MAX_VALUE, OptionalLong.empty())).isFalse();
    }
}
