package io.undercroft.spark.internal.files;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class FormatNamesTest {
    @Test
    void namesOfCheckpointsAreKnown() {
        assertThat(List.of("a.pt", "a.PT", "a.pth", "a.ckpt", "a.safetensors", "a.croft", "a.npz", "a.gguf", "a.t7",
                "pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "model.safetensors.index.json"))
                .allMatch(FormatNames::isKnown);
        assertThat(List.of("config.json", "tokenizer.bin", "README.md", "pt", "run-00001-of-00002.txt"))
                .noneMatch(FormatNames::isKnown);
    }

    @Test
    void filesOfASetBelongToAnIndex() {
        assertThat(FormatNames.indexOf("model-00001-of-00002.safetensors")).hasValue("model.safetensors.index.json");
        assertThat(FormatNames.indexOf("model.safetensors")).isEmpty();
        assertThat(FormatNames.isIndex("model.safetensors.index.json")).isTrue();
        assertThat(FormatNames.isIndex("model.safetensors")).isFalse();
    }

    @Test
    void aStemIsTheNameWithoutItsSuffix() {
        assertThat(FormatNames.stem("a.b.pt")).isEqualTo("a.b");
        assertThat(FormatNames.stem("model.safetensors.index.json")).isEqualTo("model");
        assertThat(FormatNames.stem("pytorch_model.bin")).isEqualTo("pytorch_model");
        assertThat(FormatNames.stem("noSuffix")).isEqualTo("noSuffix");
    }
}
