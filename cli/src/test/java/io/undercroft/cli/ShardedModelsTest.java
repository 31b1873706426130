package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Models in several files with an index.
class ShardedModelsTest {
    private static final Path MODEL = Invocation.FIXTURES.resolve("models/tiny-gpt2.pt");

    @TempDir
    Path folder;
    private Path index;

    @BeforeEach
    void nameTheIndex() throws IOException {
        index = Files.createDirectory(folder.resolve("out")).resolve("model.safetensors.index.json");
    }

    private Invocation convert() {
        return Invocation.of("convert", MODEL, index, "--to-set", "safetensors.shard=100KB");
    }

    private static JsonNode hashes(Path file, Object... more) throws IOException {
        return Invocation.of(Stream.concat(Stream.of("inspect", "--json", "--hash", file), Stream.of(more)).toArray())
                .json().get("tensors");
    }

    private static long count(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.count();
        }
    }

    @Test
    void aModelIsConvertedIntoSeveralFilesAndBack() throws IOException {
        Invocation converted = convert();

        assertThat(converted.err()).hasLineCount(1).contains("28 of 29 names");
        assertThat(converted.out()).containsPattern("-> " + index + " \\([0-9.]+ KiB\\): ");
        String files = " in " + count(index.getParent()) + " files";
        assertThat(Invocation.of("inspect", index).out()).contains("safetensors-index, ", files);
        assertThat(Invocation.of("verify", index).out()).contains("its structure is valid (safetensors-index, ", files);
        Path back = folder.resolve("back.croft");
        assertThat(Invocation.of("convert", index, back).out()).contains(files + ") -> " + back);
        assertThat(hashes(back)).isEqualTo(hashes(index));
        assertThat(hashes(back)).hasSize(hashes(MODEL).size());
    }

    @Test
    void aSetThatIsThereIsNotReplaced() {
        convert();

        Invocation again = convert();

        assertThat(again.code()).isEqualTo(1);
        assertThat(again.err()).startsWith("croft: " + index).hasLineCount(1).contains("write to another directory");
    }

    @Test
    void aSetIsAdopted() throws IOException {
        convert();
        Path thin = folder.resolve("thin.croft");

        Invocation adopted = Invocation.of("convert", index, thin, "--base", index);

        assertThat(adopted.err()).isEmpty();
        assertThat(adopted.out())
                .contains("are read from the files that " + index + " names, each of which has to stay")
                .doesNotContain("were written");
        assertThat(hashes(thin, "--root", folder)).isEqualTo(hashes(index));
    }

    @Test
    void formatsTellOfSettings() {
        assertThat(Invocation.of("formats").out())
                .containsPattern("npz.compression +written +stored, deflate\n")
                .containsPattern("torch7.longs +opened +8, 4\n").containsPattern("torch7.longs +written +8, 4\n");
    }

    @Test
    void formatsTellOfSets() {
        assertThat(Invocation.of("formats").out())
                .containsPattern("safetensors-index +.safetensors.index.json +can be written, .*index of several files")
                .containsPattern("torch-index +.bin.index.json +keeps sharing, metadata, index of several files");
    }
}
