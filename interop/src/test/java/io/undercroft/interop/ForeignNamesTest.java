package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ForeignNamesTest {
    /// So that no `.croft` file gets one of them where this module is missing.
    @Test
    void theSerializerKnowsWhatNamesOfTheseFormatsEndIn() {
        Map<String, String> suffixes = new HashMap<>();
        for (CheckpointFormat format : Checkpoint.formats()) {
            if (!format.name().equals("croft")) {
                format.suffixes().forEach(suffix -> suffixes.put(suffix, format.name()));
            }
        }

        assertThat(Formats.foreignSuffixes()).isEqualTo(suffixes);
    }
}
