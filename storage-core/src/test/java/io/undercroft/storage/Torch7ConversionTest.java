package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.storage.internal.Convention;
import io.undercroft.storage.internal.Conversion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Every conversion that was measured on a real Torch7.
class Torch7ConversionTest {
    private static final Path MEASURED = Path.of("..", "test-support", "fixtures", "torch7", "conversions.json");
    private static final HexFormat HEX = HexFormat.of();

    /// An element and what it becomes.
    record Measured(String probe, DType from, String element, DType to, String converted) {
        @Override
        public String toString() {
            return from.name() + " " + probe + " (" + element + ") to " + to.name();
        }
    }

    static Stream<Measured> elementsAreConvertedAsTorch7ConvertsThem() throws IOException {
        JsonNode rows = new ObjectMapper().readTree(MEASURED.toFile()).get("rows");
        List<Measured> all = rows.valueStream().flatMap(Torch7ConversionTest::measured).toList();
        assertThat(all).hasSize(203 * 8);
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource
    void elementsAreConvertedAsTorch7ConvertsThem(Measured measured) {
        assertThat(convert(measured, 1)).isEqualTo(measured.converted);
        assertThat(convert(measured, 37)).isEqualTo(measured.converted.repeat(37));
    }

    private static Stream<Measured> measured(JsonNode row) {
        return row.get("dst").propertyStream()
                .map(target -> new Measured(row.get("probe").asText(), DType.of(row.get("src").asText()),
                        row.get("srcHex").asText(), DType.of(target.getKey()), target.getValue().get("hex").asText()));
    }

    private static String convert(Measured measured, int numel) {
        byte[] target = new byte[(int) measured.to.nbytes(numel)];
        Conversion.convert(measured.from, MemorySegment.ofArray(HEX.parseHex(measured.element.repeat(numel))),
                measured.to, MemorySegment.ofArray(target), numel, Convention.TORCH7);
        return HEX.formatHex(target);
    }
}
