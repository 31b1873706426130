package io.undercroft.properties.fuzzing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.undercroft.properties.Scratch;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

class CorpusTest {
    @TestFactory
    Stream<DynamicTest> whatAFuzzerFoundIsReadOrRefused() throws IOException {
        Scratch scratch = Scratch.make();
        return FuzzTargets.all(scratch).stream()
                .map(target -> DynamicTest.dynamicTest(target.name(), () -> read(target)))
                .onClose(() -> close(scratch));
    }

    private static void close(Scratch scratch) {
        try {
            scratch.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void read(FuzzTarget target) throws IOException {
        List<byte[]> inputs = target.seeds().get();
        inputs.addAll(Corpus.inputs(target));
        assertThat(inputs).isNotEmpty();
        for (int i = 0; i < inputs.size(); i++) {
            try {
                target.read(inputs.get(i));
            } catch (RuntimeException | AssertionError e) {
                fail("input " + i + " of " + inputs.size(), e);
            }
        }
    }
}
