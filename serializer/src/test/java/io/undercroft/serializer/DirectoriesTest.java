package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Directories that are opened for the model in them.
class DirectoriesTest {
    @TempDir
    private Path folder;

    private Path save(String name) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, Map.of("w", Tensor.of(1f)), SaveOptions.defaults().format("croft"));
        return file;
    }

    private void assertOpens(Path file) throws IOException {
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.path()).isEqualTo(file);
            assertThat(c.tensor("w").getFloat(0)).isEqualTo(1);
        }
    }

    @Test
    void theOnlyFileOfAKnownFormatIsOpened() throws IOException {
        Files.writeString(folder.resolve("config.json"), "{}");
        Files.createDirectory(folder.resolve("old.croft"));
        assertThatThrownBy(() -> Checkpoint.open(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("no file has the suffix of a known format");

        assertOpens(save("run.CROFT"));
    }

    @ParameterizedTest
    @CsvSource({"saved_model.pb, tf.saved_model.load", "_METADATA, orbax.checkpoint"})
    void aDirectoryOfAnotherProgramIsNamedWithWhatReadsIt(String name, String reader) throws IOException {
        Files.writeString(folder.resolve(name), "x");
        Files.writeString(folder.resolve("__0_0.distcp"), "x");
        assertThatThrownBy(() -> Checkpoint.open(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining(reader);
    }

    @Test
    void aModelInTheCacheOfAHubIsRefusedWithItsRevision() throws IOException {
        Path model = Files.createDirectory(folder.resolve("models--a--b"));
        Path snapshots = Files.createDirectories(model.resolve("snapshots"));
        Path revision = Files.createDirectory(snapshots.resolve("0f1e"));
        assertThatThrownBy(() -> Checkpoint.open(model)).isInstanceOf(FileSystemException.class)
                .hasMessageContainingAll("in the cache of the Hugging Face hub",
                        "revision: '0f1e' in '" + snapshots + "'");

        Files.createDirectory(snapshots.resolve("2d3c"));
        assertThatThrownBy(() -> Checkpoint.open(model)).hasMessageContaining("revision: '0f1e', '2d3c' in");
        Files.writeString(Files.createDirectory(model.resolve("refs")).resolve("main"), "2d3c\n");
        assertThatThrownBy(() -> Checkpoint.open(model)).hasMessageContaining("revision: '2d3c' in");

        assertThatThrownBy(() -> Checkpoint.open(folder)).hasMessageContaining("in snapshots of 'models--a--b'");
        Checkpoint.save(revision.resolve("model.croft"), Map.of("w", Tensor.of(1f)));
        Checkpoint.open(revision).close();
    }

    @Test
    void ofSeveralTheyAreNamed() throws IOException {
        for (String name : new String[]{"a.croft", "b.croft", "c.croft", "d.croft"}) {
            save(name);
        }

        assertThatThrownBy(() -> Checkpoint.open(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("4 files of tensors").hasMessageContaining("'a.croft'")
                .hasMessageContaining("'c.croft', …");
    }

    @ParameterizedTest
    @CsvSource({"adapter_model.bin, config.bin", "diffusion_pytorch_model.fp16.bin, a.croft",
            "pytorch_model.fp16.bin, a.croft", "model.fp16.safetensors, adapter_model.safetensors",
            "diffusion_pytorch_model.bin, z.croft", "model.safetensors, model.fp16.safetensors",
            "adapter_model.safetensors, adapter_model.bin"})
    void aFileWithAUsualNameIsOpenedAlsoIfItIsOfAVariant(String name, String other) throws IOException {
        save(other);
        assertOpens(save(name));
    }

    @Test
    void variantsAreNamedIfThereAreSeveral() throws IOException {
        save("model.fp16.safetensors");
        save("model.bf16.safetensors");
        save("z.croft");
        assertThatThrownBy(() -> Checkpoint.open(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("2 files of tensors")
                .hasMessageContaining("'model.bf16.safetensors', 'model.fp16.safetensors'");
    }

    @Test
    void aLinkToAMissingFileIsNamedWithItsTarget() throws IOException {
        Files.createSymbolicLink(folder.resolve("model.safetensors"), Path.of("../../blobs/6f2a"));
        assertThatThrownBy(() -> Checkpoint.open(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("model.safetensors").hasMessageContaining("is a link to '../../blobs/6f2a'");

        assertOpens(save("pytorch_model.bin"));
    }

    @Test
    void theUsualNameOfAModelGoesBeforeOthers() throws IOException {
        save("a.croft");
        save("pytorch_model.bin");
        Path model = save("model.safetensors");

        assertOpens(model);
    }
}
