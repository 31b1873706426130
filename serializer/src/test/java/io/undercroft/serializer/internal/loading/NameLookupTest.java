package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NameLookupTest {
    private static final List<String> NAMES = List.of("model/wte.weight", "model/wpe.weight", "model/fc.bias",
            "optimizer/state/0/exp_avg");

    private static String hint(String typed) {
        return new NameLookup(NAMES::contains, test -> NAMES.stream().anyMatch(test)).hint(typed, NAMES);
    }

    @Test
    void aTypingErrorIsFound() {
        assertThat(hint("model/wte.wieght")).isEqualTo("; did you mean 'model/wte.weight' or 'model/wpe.weight'?");
    }

    @Test
    void aNameWithoutItsPathIsFoundFirst() {
        assertThat(hint("fc.bias")).isEqualTo("; did you mean 'model/fc.bias'?");
        assertThat(hint("state/model/fc.bias")).startsWith("; did you mean 'model/fc.bias'");
        assertThat(hint("MODEL/FC.BIAS")).startsWith("; did you mean 'model/fc.bias'");
    }

    @Test
    void nothingIsAskedIfNoNameIsNear() {
        assertThat(hint("lm_head")).isEmpty();
    }
}
