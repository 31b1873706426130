package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// A file that is deleted, replaced or cut while a checkpoint of it is open, whatever is read of it then.
class VanishingFileTest {
    private static final int ROWS = 1 << 16;
    private static final int COLUMNS = 8;
    private static final long LAST = 60_001 * COLUMNS - 1;

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("model.croft");
        Checkpoint.save(file, state(Tensor.arange(DType.INT32, ROWS * COLUMNS).view(ROWS, COLUMNS)));
    }

    private static Map<String, Object> state(Tensor weight) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("first", Tensor.arange(DType.INT64, 10));
        state.put("weight", weight);
        return state;
    }

    /// Before a save replaces a file, it looks whether an open file references it.
    @Test
    void aSaveSucceedsWhileOpenFilesVanish() throws Exception {
        Path other = folder.resolve("other.croft");
        AtomicBoolean isDone = new AtomicBoolean();
        Thread vanishing = Thread.ofPlatform().start(() -> {
            while (!isDone.get()) {
                try {
                    Checkpoint.save(other, 1L);
                    try (Checkpoint _ = Checkpoint.open(other)) {
                        for (int i = 0; i < 20; i++) {
                            Files.delete(other);
                            Files.createFile(other);
                        }
                        Files.delete(other);
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });
        try {
            for (int i = 0; i < 300; i++) {
                Checkpoint.save(file, (long) i);
            }
        } finally {
            isDone.set(true);
            vanishing.join();
        }
    }

    /// The ways to the elements of a tensor.
    enum Access {
        ELEMENT, COPY, ROWS, INTO, SAVED
    }

    /// Reads the last element of row 60 000.
    private static long read(Access access, Checkpoint c) {
        return switch (access) {
            case ELEMENT -> c.tensor("weight").getLong(60_000, COLUMNS - 1);
            case COPY -> c.tensor("weight").copy().getLong(60_000, COLUMNS - 1);
            case ROWS -> c.rows("weight", 60_000, 60_001).getLong(0, COLUMNS - 1);
            case INTO -> {
                Tensor weight = Tensor.zeros(DType.INT32, ROWS, COLUMNS);
                c.loadInto(state(weight));
                yield weight.getLong(60_000, COLUMNS - 1);
            }
            case SAVED -> readOfCopy(c);
        };
    }

    private static long readOfCopy(Checkpoint c) {
        Path copy = c.path().resolveSibling("copy.croft");
        try {
            Checkpoint.save(copy, c.state());
            try (Checkpoint saved = Checkpoint.open(copy)) {
                return saved.tensor("weight").getLong(60_000, COLUMNS - 1);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisabledOnOs(OS.WINDOWS)
    void ofADeletedFileEverythingCanStillBeRead(Access access) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Files.delete(file);
            assertThat(read(access, c)).isEqualTo(LAST);
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisabledOnOs(OS.WINDOWS)
    void ofAReplacedFileTheOldOneIsRead(Access access) throws IOException {
        Path other = folder.resolve("other.croft");
        Checkpoint.save(other, state(Tensor.zeros(DType.INT32, ROWS, COLUMNS)));
        try (Checkpoint c = Checkpoint.open(file)) {
            Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
            assertThat(read(access, c)).isEqualTo(LAST);
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisabledOnOs(OS.WINDOWS)
    void aFileThatWasCutBeforeItWasTouchedIsToldByName(Access access) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            cut();
            assertIsTold(catchThrowable(() -> read(access, c)));
            assertIsTold(catchThrowable(() -> read(access, c)));
        }
        assertThat(folder.resolve("copy.croft")).doesNotExist();
    }

    @ParameterizedTest
    @EnumSource
    @DisabledOnOs(OS.WINDOWS)
    void aFileThatIsCutAfterItWasMappedIsToldByName(Access access) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("first").getLong(9)).isEqualTo(9);
            assertThat(c.tensor("weight").getLong(0, 1)).isEqualTo(1);
            cut();
            assertIsTold(catchThrowable(() -> read(access, c)));
        }
        assertThat(folder.resolve("copy.croft")).doesNotExist();
    }

    /// A method that saves the state of an open checkpoint.
    private enum Saving {
        SAVE, SAVE_ASYNC, COMMIT, CHANNEL, PUBLISH, OTHER_FORMAT
    }

    private static void save(Saving saving, Map<String, Object> state, Path folder) throws IOException {
        Path copy = folder.resolve("copy.croft");
        switch (saving) {
            case SAVE -> Checkpoint.save(copy, state);
            case SAVE_ASYNC -> {
                try (PendingSave save = Checkpoint.saveAsync(copy, state)) {
                    save.join();
                }
            }
            case COMMIT -> {
                try (CroftFile file = CroftFile.open(copy)) {
                    file.commit(state, "copy");
                }
            }
            case CHANNEL -> Checkpoint.save(Channels.newChannel(OutputStream.nullOutputStream()), state,
                    SaveOptions.defaults());
            case PUBLISH -> PublishedCheckpoint
                    .publish("croft-test-" + UUID.randomUUID().toString().substring(0, 12), state).close();
            case OTHER_FORMAT -> {
                Tensor bytes = ((Tensor) state.get("weight")).view(DType.UINT8);
                Checkpoint.save(folder.resolve("copy.raw"), bytes, SaveOptions.defaults().format("raw"));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisabledOnOs(OS.WINDOWS)
    void aSaveFromAFileThatWasCutThrowsAnIoException(Saving saving) throws IOException {
        for (boolean isTouched : List.of(false, true)) {
            save();
            try (Checkpoint c = Checkpoint.open(file)) {
                if (isTouched) {
                    assertThat(c.tensor("weight").getLong(0, 1)).isEqualTo(1);
                }
                Map<String, Object> state = c.stateMap();
                cut();
                assertThatIOException().isThrownBy(() -> save(saving, state, folder))
                        .withMessageContaining(file.toString());
            }
            assertThat(folder.resolve("copy.croft")).doesNotExist();
            assertThat(folder.resolve("copy.raw")).doesNotExist();
        }
    }

    private void assertIsTold(Throwable told) {
        assertThat(told).isInstanceOfAny(TruncatedMappingException.class, MappingException.class,
                UncheckedIOException.class).hasMessageContaining(file.toString()).hasMessageNotContaining("\n");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aFileThatIsDeletedWhileItIsLoadedIsLoaded() throws IOException {
        OpenOptions deleting = OpenOptions.defaults().inMemory().devices(device -> {
            assertThat(file.toFile().delete() || !Files.exists(file)).isTrue();
            return device;
        });
        try (Checkpoint c = Checkpoint.open(file, deleting)) {
            assertThat(read(Access.ELEMENT, c)).isEqualTo(LAST);
        }
        assertThat(file).doesNotExist();
    }

    @Test
    void aFileThatIsCutWhileItIsLoadedIsToldByName() {
        OpenOptions cutting = OpenOptions.defaults().inMemory().devices(device -> {
            cut();
            return device;
        });
        assertThatExceptionOfType(EOFException.class).isThrownBy(() -> Checkpoint.open(file, cutting))
                .withMessageContaining(file.toString());
    }

    @ParameterizedTest
    @EnumSource
    void whatWasLoadedDoesNotHangOnTheFile(Access access) throws IOException {
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
            cut();
            assertThat(read(access, c)).isEqualTo(LAST);
        }
    }

    /// The bytes are equal to those that the target has, and are compared with them.
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void anAppendOfEqualBytesOfAFileThatWasCutNamesThatFile() throws IOException {
        Path target = Files.copy(file, folder.resolve("target.croft"));
        byte[] before = Files.readAllBytes(target);
        try (Checkpoint c = Checkpoint.open(file); CroftFile into = CroftFile.open(target)) {
            assertThat(c.tensor("weight").getLong(0, 0)).isZero();
            cut();
            assertThatThrownBy(() -> into.commit(c.state(), "again")).hasMessageContaining(file.toString())
                    .hasMessageContaining("cut to");
        }
        assertThat(target).hasBinaryContent(before);
    }

    private void cut() {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(1 << 17);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
