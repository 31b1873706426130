package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.planning.Staging;
import io.undercroft.serializer.internal.writing.Save;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What is known before the first byte is written: that files are far larger than the state, than the disk, or than a
/// reader counts.
class SaveSizeTest {
    @TempDir
    Path folder;

    /// A file system with less space than it really has. Any file that is made fails the test.
    private record FullDisk(long free) implements Disk {
        @Override
        public DiskFile create(Path path) {
            throw new AssertionError(path + " is made");
        }

        @Override
        public DiskFile open(Path path) {
            throw new AssertionError(path + " is opened");
        }

        @Override
        public void rename(Path from, Path to) {
            throw new AssertionError(from + " is renamed");
        }

        @Override
        public void delete(Path path) {
            throw new AssertionError(path + " is deleted");
        }

        @Override
        public void forceDirectory(Path directory) {}

        @Override
        public OptionalLong usableSpace(Path directory) {
            return OptionalLong.of(free);
        }
    }

    private static Tensor repeated(long... sizes) {
        return Tensor.of(Storage.copyOf(new byte[4]), DType.FLOAT32, 0, Shape.of(sizes), new long[sizes.length]);
    }

    private static Object state(String name, Tensor tensor) {
        return name.endsWith(".npy") ? tensor : Map.of("a", Map.of("mask", tensor), "b", Map.of());
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.npy", "a.safetensors", "a.safetensors.index.json", "a.gguf"})
    void aTensorThatRepeatsAFewBytesWithoutEndIsRefusedByPathBeforeTheFirstByte(String name) {
        for (long size : new long[]{1L << 50, 1L << 61, Long.MAX_VALUE, 1L << 29}) {
            assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), state(name, repeated(size))))
                    .as("%d elements", size).isInstanceOf(IllegalArgumentException.class)
                    .message().contains(name.endsWith(".npy") ? "the state" : "a/mask")
                    .containsAnyOf("bytes of its storage",
                            "more than 2^63-1 bytes");
        }
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.npy", "a.safetensors", "a.gguf"})
    void aTensorThatRepeatsAFewBytesAFewTimesIsWrittenOut(String name) throws IOException {
        Path path = folder.resolve(name);
        Checkpoint.save(path, state(name, repeated(1 << 10, 1 << 8)));
        try (Checkpoint opened = Checkpoint.open(path)) {
            assertThat(opened.tensor(opened.names().getFirst()).numel()).isEqualTo(1 << 18);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.pt", "a.t7"})
    void aFormatThatKeepsStridesWritesTheStorage(String name) throws IOException {
        Path path = folder.resolve(name);
        Checkpoint.save(path, Map.of("mask", repeated(1L << 50)));
        try (Checkpoint opened = Checkpoint.open(path)) {
            assertThat(opened.tensor("mask").shape()).isEqualTo(Shape.of(1L << 50));
            assertThat(opened.tensor("mask").storage().nbytes()).isEqualTo(4);
        }
    }

    private static void saveToFullDisk(Path path, Object state, SaveOptions options) throws IOException {
        Save.prepare(FileTarget.of(path, new FullDisk(4000)), Formats.forWriting(path, null), state, options, null)
                .run();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.npy", "a.safetensors", "a.safetensors.index.json", "a.gguf", "a.pt", "a.t7"})
    void whatDoesNotFitOnTheDiskIsRefusedBeforeTheFirstByte(String name) {
        Path path = folder.resolve(name);
        assertThatThrownBy(() -> saveToFullDisk(path, state(name, Tensor.zeros(DType.FLOAT32, 1000)),
                SaveOptions.defaults())).isInstanceOf(FileSystemException.class)
                .hasMessageContaining(path.toString()).message().contains("4000 free", "No file was made");
        assertThat(folder.toFile().list()).allMatch(file -> file.endsWith(".lock"));
    }

    /// Preparing is what the caller of a background save waits for.
    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.npy", "a.safetensors", "a.safetensors.index.json", "a.gguf", "a.pt", "a.t7"})
    void whatDoesNotFitOnTheDiskIsRefusedWhenABackgroundSaveIsPrepared(String name) {
        Path path = folder.resolve(name);
        Object state = state(name, Tensor.zeros(DType.FLOAT32, 1000));
        try (Staging staging = new Staging()) {
            assertThatThrownBy(() -> Save.prepare(FileTarget.of(path, new FullDisk(4000)),
                    Formats.forWriting(path, null), state, SaveOptions.defaults(), staging))
                    .isInstanceOf(FileSystemException.class).message().contains("4000 free", "No file was made");
        }
    }

    /// How much they become is known when they are written.
    @Test
    void deflatedElementsAreNotRefusedForTheirSizeInMemory() {
        Path path = folder.resolve("a.npz");
        assertThatThrownBy(() -> saveToFullDisk(path, Map.of("w", Tensor.zeros(DType.FLOAT32, 1000)),
                SaveOptions.defaults().setting("npz.compression", "deflate")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("is made");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.npy", "a.safetensors", "a.gguf"})
    void sizesThatNoReaderCountsAreRefusedByPath(String name) {
        Tensor empty = Tensor.of(Storage.allocate(0), DType.FLOAT32, 0, Shape.of(0, 7, Long.MAX_VALUE), 1, 1, 1);
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), state(name, empty)))
                .isInstanceOf(IllegalArgumentException.class)
                .message().contains(name.endsWith(".npy") ? "the state" : "a/mask").contains("readers");
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.npz", "a.safetensors", "a.gguf", "a.pt", "a.t7"})
    void aNameThatNoReaderTakesIsRefused(String name) {
        String key = "k".repeat(5000);
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), Map.of(key, Tensor.of(1f))))
                .isInstanceOf(IllegalArgumentException.class).message().contains("kkk");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void torch7HasNoNumberForTheFarthestOffset() throws IOException {
        Path path = folder.resolve("a.t7");
        Tensor far = Tensor.of(Storage.allocate(4), DType.FLOAT32, Long.MAX_VALUE, Shape.of(0), 1);
        assertThatThrownBy(() -> Checkpoint.save(path, Map.of("far", far)))
                .isInstanceOf(IllegalArgumentException.class).message().startsWith("far: ")
                .contains("offset of 2^63-1");
        assertThat(folder).isEmptyDirectory();
        Checkpoint.save(path, Map.of("far", far.asStrided(Shape.of(0), new long[]{1}, Long.MAX_VALUE - 1)));
        try (Checkpoint opened = Checkpoint.open(path)) {
            assertThat(opened.tensor("far").storageOffset()).isEqualTo(Long.MAX_VALUE - 1);
        }
    }
}
