package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NearNamesTest {
    private static final List<String> NAMES = List.of("model/wte.weight", "model/wpe.weight", "model/fc.bias",
            "optimizer/state/0/exp_avg");

    @Test
    void aTypingErrorIsFound() {
        assertThat(NearNames.question("model/wte.wieght", NAMES))
                .isEqualTo("; did you mean 'model/wte.weight' or 'model/wpe.weight'?");
    }

    @Test
    void aNameWithoutItsPathIsFoundFirst() {
        assertThat(NearNames.question("fc.bias", NAMES)).isEqualTo("; did you mean 'model/fc.bias'?");
        assertThat(NearNames.question("state/model/fc.bias", NAMES)).startsWith("; did you mean 'model/fc.bias'");
        assertThat(NearNames.question("MODEL/FC.BIAS", NAMES)).startsWith("; did you mean 'model/fc.bias'");
    }

    @Test
    void nothingIsAskedIfNoNameIsNear() {
        assertThat(NearNames.question("lm_head", NAMES)).isEmpty();
        assertThat(NearNames.question("x".repeat(10_000), List.of("x".repeat(10_000)))).isEmpty();
        assertThat(NearNames.question("a", List.of())).isEmpty();
    }
}
