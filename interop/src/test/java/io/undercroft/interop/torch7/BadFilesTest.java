package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// What real Torch7 answered to damaged files, and what we do. `docs/torch7-differences.md` says why we refuse what it
/// reads.
class BadFilesTest {
    /// Torch7 reads these, but as something else than what was written, or as something that crashes later.
    private static final Set<String> READ_BY_TORCH7_ONLY = Set.of("negative-table-count", "table-duplicate-key",
            "tensor-storage-wrong-type", "tensor-storage-is-number", "tensor-offset-zero", "ascii-int-overflow");

    private static OpenOptions mode(String mode) {
        OpenOptions options = OpenOptions.defaults().setting("torch7.encoding", mode.equals("ascii") ? mode : "binary");
        return options.setting("torch7.order", "little").setting("torch7.longs", mode.equals("b32") ? "4" : "8");
    }

    private static FormatException refusal(Path path, OpenOptions options) {
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Files7.open(path, options, contents -> {}));
        assertThat(refusal).as(path.toString()).isNotNull();
        assertThat(refusal.getMessage()).doesNotContain("\n");
        assertThat(refusal.remedy().toString()).isNotBlank();
        assertThat(refusal.offset()).isBetween(0L, path.toFile().length());
        return refusal;
    }

    @ParameterizedTest
    @CsvSource({
            "ascii-float-for-int, ascii, NUMBER",
            "ascii-int-overflow, ascii, NUMBER",
            "ascii-read-as-binary, binary, OBJECT",
            "big-endian-read-as-native, binary, OBJECT",
            "binary-read-as-ascii, ascii, NUMBER",
            "class-no-reader, binary, CLASS",
            "huge-storage-size, binary, STORAGE",
            "huge-string-length, binary, END",
            "long4-read-as-b64, b64, STORAGE",
            "long4-tensor-read-as-b64, b64, TENSOR",
            "negative-storage-size, binary, STORAGE",
            "negative-string-length, binary, STRING",
            "negative-table-count, binary, TABLE",
            "table-count-too-big, binary, END",
            "table-duplicate-key, binary, KEY",
            "table-nil-key, binary, KEY",
            "tensor-offset-zero, binary, TENSOR",
            "tensor-storage-is-number, binary, TENSOR",
            "tensor-storage-wrong-type, binary, TENSOR",
            "truncated-ascii, ascii, STORAGE",
            "truncated-class, binary, END",
            "truncated-data, binary, STORAGE",
            "truncated-size, binary, END",
            "unknown-type-9, binary, OBJECT",
            "unknown-type-big, binary, OBJECT",
            "unknown-type-negative, binary, OBJECT",
            "version-empty, binary, CLASS",
            "version-not-number, binary, CLASS"
    })
    void aDamagedFileIsRefused(String name, String mode, String code) {
        assertThat(refusal(Files7.BAD.resolve(name + ".t7"), mode(mode)).code()).isEqualTo("TORCH7-" + code);
    }

    @Test
    void whatIsReadAsByTorch7() throws IOException {
        read("ascii-extra-spaces", "ascii",
                state -> assertThat(((TypedStorage) state).toList()).containsExactly(1L, 2L, 3L));
        read("long8-read-as-b32", "b32",
                state -> assertThat(((TypedStorage) state).toList()).containsExactly(0L, 0L, 1L, -1L, 2147483647L));
        read("ref-wrong-tag", "binary", state -> {
            TypedStorage first = (TypedStorage) ((Map<?, ?>) state).get(1L);
            assertThat(first.dtype()).isEqualTo(DType.INT32);
            assertThat(first.toList()).containsExactly(9L);
            assertThat(((TypedStorage) ((Map<?, ?>) state).get(2L)).untyped()).isSameAs(first.untyped());
        });
    }

    private interface Check {
        void accept(Object state);
    }

    private static void read(String name, String mode, Check check) throws IOException {
        Files7.open(Files7.BAD.resolve(name + ".t7"), mode(mode), contents -> check.accept(contents.state()));
    }

    @Test
    void weRefuseWhatTorch7RefusesAndSomeMore() throws IOException {
        List<String> refused = new ArrayList<>();
        List<String> files = new ArrayList<>();
        for (JsonNode line : Files7.json(Files7.BAD.resolve("bad.json"))) {
            String name = line.get("file").asText().replaceAll("bad/|\\.t7", "");
            files.add(name + ".t7");
            try {
                read(name, line.get("mode").asText(), state -> {});
                assertThat(line.get("outcome").asText()).as(name).startsWith("OK");
            } catch (FormatException _) {
                refused.add(name);
                assertThat(line.get("outcome").asText().startsWith("OK")).as(name)
                        .isEqualTo(READ_BY_TORCH7_ONLY.contains(name));
            }
        }
        assertThat(refused).hasSize(28).containsAll(READ_BY_TORCH7_ONLY);
        try (var all = Files.list(Files7.BAD)) {
            assertThat(all.map(path -> path.getFileName().toString()).filter(name -> !name.endsWith(".json")))
                    .containsExactlyInAnyOrderElementsOf(files);
        }
    }

    @Test
    void whatWasWrittenInAnotherEncodingIsReadIfTheEncodingIsNotTold() throws IOException {
        for (String name : List.of("ascii-read-as-binary", "big-endian-read-as-native", "binary-read-as-ascii",
                "long4-read-as-b64", "long4-tensor-read-as-b64", "long8-read-as-b32")) {
            Files7.open(Files7.BAD.resolve(name + ".t7"), contents -> assertThat(contents.state()).isNotNull());
        }
    }

    @Test
    void aClassThatIsNotReadIsNamed() {
        assertThat(refusal(Files7.BAD.resolve("class-no-reader.t7"), OpenOptions.defaults()))
                .hasMessageContainingAll("'torch.DiskFile'", "save what they hold as a table");
    }
}
