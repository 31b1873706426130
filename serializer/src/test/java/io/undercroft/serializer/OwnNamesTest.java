package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// No `.croft` file gets a name by which everybody takes it for one of another format.
class OwnNamesTest {
    @TempDir
    Path folder;

    private final Map<String, Tensor> state = Map.of("w", Tensor.of(1f, 2f));

    private static void assertRefused(ThrowingCallable save) {
        assertThatThrownBy(save).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a file of raw cannot be").hasMessageContaining("only a .croft file can");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.raw", "MODEL.RAW"})
    void whatOnlyACroftFileCanDoIsRefusedForTheNameOfAnotherFormat(String name) {
        Path path = folder.resolve(name);

        try (CroftFile file = CroftFile.open(path)) {
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

        assertRefused(() -> CroftFile.open(croft).copyWithBases(raw));
        assertRefused(() -> CroftFile.open(croft).copy(raw));

        assertThat(raw).doesNotExist();
    }

    @Test
    void aFileThatHasSuchANameIsOpenedAndGrows() throws IOException {
        Path croft = folder.resolve("model.croft");
        Checkpoint.save(croft, state);
        Path raw = Files.move(croft, folder.resolve("model.raw"));

        CroftFile.open(raw).commit(state, SaveOptions.defaults());
        try (CroftFile file = CroftFile.open(raw)) {
            file.commit(state, "third");
        }

        try (Checkpoint c = Checkpoint.open(raw)) {
            assertThat(c.snapshots()).hasSize(3);
        }
    }

    static List<Arguments> optionsOfOthers() {
        return List.of(Arguments.of(SaveOptions.defaults().format("raw"), "a file of raw cannot be"),
                Arguments.of(SaveOptions.defaults().format("npz"), "npz"),
                Arguments.of(SaveOptions.defaults().setting("raw.padded", "yes"), "does not apply to files of croft"),
                Arguments.of(SaveOptions.defaults().setting("nobody.knows", "1"), "there is no setting"));
    }

    @ParameterizedTest
    @MethodSource("optionsOfOthers")
    void optionsOfAnotherFormatAreRefusedWhateverTheyAreGivenTo(SaveOptions options, String why) throws IOException {
        Path path = folder.resolve("model.croft");
        Checkpoint.save(path, state);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        String name = "undercroft-own-names-" + ProcessHandle.current().pid();

        try (CroftFile file = CroftFile.open(path)) {
            Stream.<ThrowingCallable>of(() -> file.commit(state, options), () -> file.commitAsync(state, options),
                    () -> Checkpoint.save(Channels.newChannel(out), state, options),
                    () -> PublishedCheckpoint.publish(name, state, options))
                    .forEach(save -> assertThatThrownBy(save).isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining(why));
        }
        assertThat(out.size()).isZero();
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.snapshots()).hasSize(1);
        }
    }

    @Test
    void theFormatOfTheOptionsGoesBeforeTheName() throws IOException {
        Path raw = folder.resolve("model.raw");

        Checkpoint.save(raw, state, SaveOptions.defaults().format("croft"));
        Checkpoint.saveAsync(raw, state, SaveOptions.defaults().format("croft")).join();

        try (Checkpoint c = Checkpoint.open(raw)) {
            assertThat(c.format()).isEqualTo("croft");
        }
    }

    /// The module interop is not on the class path here.
    @Test
    void aFormatThatIsNotThereIsRefused() {
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a"), state, SaveOptions.defaults().format("npz")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("npz")
                .hasMessageContaining("croft");
    }

    static List<Arguments> optionsOfCroft() {
        SaveOptions defaults = SaveOptions.defaults();
        return List.of(Arguments.of("message", defaults.message("epoch 2")),
                Arguments.of("time", defaults.time(Instant.EPOCH)),
                Arguments.of("uuid", defaults.uuid(new UUID(1, 2))),
                Arguments.of("sharing", defaults.sharing(SaveOptions.Sharing.IDENTITY)),
                Arguments.of("base", defaults.base(Path.of("base.croft"))),
                Arguments.of("root", defaults.root(Path.of(""))),
                Arguments.of("wholeStorages", defaults.wholeStorages()),
                Arguments.of("writableInPlace", defaults.writableInPlace()),
                Arguments.of("chunkSize", defaults.chunkSize(1 << 16)),
                Arguments.of("classes", defaults.classes(StateClasses.of(Thread.State.class))));
    }

    @ParameterizedTest
    @MethodSource("optionsOfCroft")
    void anOptionThatOnlyACroftFileCanFollowIsRefusedForAnotherFormat(String name, SaveOptions options) {
        Path raw = folder.resolve("model.raw");

        assertThatThrownBy(() -> Checkpoint.save(raw, Tensor.of((byte) 1), options))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("SaveOptions." + name + ";");
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.raw.croft", "model.CROFT", "model", "model.bin", "raw"})
    void otherNamesAreFree(String name) throws IOException {
        Checkpoint.save(folder.resolve(name), state);

        assertThat(folder.resolve(name)).isNotEmptyFile();
    }
}
