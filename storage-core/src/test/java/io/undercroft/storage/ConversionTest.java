package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.internal.Convention;
import io.undercroft.storage.internal.Conversion;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ConversionTest {
    private static final HexFormat HEX = HexFormat.of();

    /// Elements of one dtype, and what PyTorch converts them to.
    record Answers(DType from, DType to, List<String> elements, List<String> converted) {
        static Answers of(String line) {
            String[] parts = line.split(" ", -1);
            List<String> pairs = Arrays.asList(parts).subList(2, parts.length);
            return new Answers(DType.of(parts[0]), DType.of(parts[1]),
                    pairs.stream().map(pair -> pair.substring(0, pair.indexOf(':'))).toList(),
                    pairs.stream().map(pair -> pair.substring(pair.indexOf(':') + 1)).toList());
        }

        @Override
        public String toString() {
            return from.name() + " to " + to.name();
        }
    }

    static Stream<Answers> answers() {
        return TorchCases.lines("conversions-between-dtypes.txt").stream().map(Answers::of);
    }

    @ParameterizedTest
    @MethodSource("answers")
    void oneElementIsConvertedAsPyTorchConvertsIt(Answers answers) {
        for (int i = 0; i < answers.elements.size(); i++) {
            String converted = convert(answers.from, answers.elements.get(i), answers.to, 1);
            assertThat(converted).as(answers.elements.get(i)).isEqualTo(answers.converted.get(i));
        }
    }

    @ParameterizedTest
    @MethodSource("answers")
    void manyElementsAreConvertedAsOneIs(Answers answers) {
        int repeats = 5000 / answers.elements.size();
        String elements = String.join("", answers.elements).repeat(repeats);
        String converted = convert(answers.from, elements, answers.to, (long) repeats * answers.elements.size());
        assertThat(converted).isEqualTo(String.join("", answers.converted).repeat(repeats));
    }

    private static String convert(DType from, String elements, DType to, long numel) {
        byte[] target = new byte[(int) to.nbytes(numel)];
        Conversion.convert(from, MemorySegment.ofArray(HEX.parseHex(elements)), to, MemorySegment.ofArray(target),
                numel, Convention.PYTORCH);
        return HEX.formatHex(target);
    }
}
