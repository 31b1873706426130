package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// No `.croft` file gets a name by which everybody takes it for one of another format.
class OwnNamesTest {
    @TempDir
    Path folder;

    private final Map<String, Tensor> state = Map.of("w", Tensor.of(1f, 2f));

    private static void assertRefused(ThrowingCallable save) {
        assertThatThrownBy(save).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is that of a file of raw").hasMessageContaining("Checkpoint.export");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.raw", "MODEL.RAW"})
    void noWayOfSavingMakesAFileWithTheNameOfAnotherFormat(String name) {
        Path path = folder.resolve(name);

        assertRefused(() -> Checkpoint.save(path, state));
        assertRefused(() -> Checkpoint.saveAsync(path, state));
        assertRefused(() -> Checkpoint.registering().save(path, state));
        try (CheckpointFile file = CheckpointFile.open(path)) {
            assertRefused(() -> file.commit(state, "first"));
            assertRefused(() -> file.commitAsync(state, "first"));
        }
        assertThat(folder).isEmptyDirectory();
    }

    /// The module interop is not on the class path here.
    @ParameterizedTest
    @ValueSource(strings = {"q.pt", "q.PTH", "q.safetensors", "q.safetensors.index.json", "q.npz", "q.gguf", "q.t7",
            "pytorch_model.bin"})
    void norWithThatOfAFormatThatIsMissing(String name) {
        Path path = folder.resolve(name);

        assertThatThrownBy(() -> Checkpoint.save(path, state)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(name).hasMessageContaining("undercroft-interop");
        assertThatThrownBy(() -> Checkpoint.saveAsync(path, state)).isInstanceOf(IllegalArgumentException.class);
        assertThat(path).doesNotExist();
    }

    @Test
    void snapshotsAreNotCopiedToSuchANameEither() throws IOException {
        Path croft = folder.resolve("model.croft");
        Path raw = folder.resolve("model.raw");
        Checkpoint.save(croft, state);

        assertRefused(() -> CroftFile.flatten(croft, raw, OpenOptions.defaults()));
        assertRefused(() -> CroftFile.export(croft, raw, OpenOptions.defaults()));

        assertThat(raw).doesNotExist();
    }

    @Test
    void aFileThatHasSuchANameIsOpenedAndGrows() throws IOException {
        Path croft = folder.resolve("model.croft");
        Checkpoint.save(croft, state);
        Path raw = Files.move(croft, folder.resolve("model.raw"));

        CroftFile.append(raw, state, SaveOptions.defaults());
        try (CheckpointFile file = CheckpointFile.open(raw)) {
            file.commit(state, "third");
        }

        try (Checkpoint c = Checkpoint.open(raw)) {
            assertThat(c.snapshots()).hasSize(3);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.raw.croft", "model.CROFT", "model", "model.bin", "raw"})
    void otherNamesAreFree(String name) throws IOException {
        Checkpoint.save(folder.resolve(name), state);

        assertThat(folder.resolve(name)).isNotEmptyFile();
    }
}
