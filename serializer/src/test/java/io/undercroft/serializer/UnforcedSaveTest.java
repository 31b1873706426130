package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnforcedSaveTest {
    private static final Map<String, Object> STATE = Map.of("w",
            Tensor.of(Storage.copyOf((byte) 1, (byte) 2), DType.UINT8, 0, Shape.of(2)));

    @TempDir
    private Path directory;

    /// Writes down what is done.
    private static final class WatchedDisk extends ForwardingDisk {
        private final List<Operation> done = new ArrayList<>();

        @Override
        void before(Operation operation) {
            done.add(operation);
        }
    }

    private List<ForwardingDisk.Operation> save(Path file, SaveOptions options) throws IOException {
        WatchedDisk disk = new WatchedDisk();
        ForwardingDisk.save(disk, file, STATE, options);
        return disk.done;
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.croft", "a.rawset"})
    void aSaveForcesNothingIfAskedAndIsOtherwiseTheSame(String name) throws IOException {
        Path forced = Files.createDirectory(directory.resolve("forced"));
        Path unforced = Files.createDirectory(directory.resolve("unforced"));

        assertThat(save(forced.resolve(name), SaveOptions.defaults()))
                .contains(ForwardingDisk.Operation.FORCE, ForwardingDisk.Operation.FORCE_DIRECTORY);
        assertThat(save(unforced.resolve(name), SaveOptions.defaults().unforced()))
                .contains(ForwardingDisk.Operation.RENAME)
                .doesNotContain(ForwardingDisk.Operation.FORCE, ForwardingDisk.Operation.FORCE_DIRECTORY);
        assertThat(files(unforced)).usingRecursiveComparison().isEqualTo(files(forced));
    }

    private static List<byte[]> files(Path directory) throws IOException {
        List<byte[]> files = new ArrayList<>();
        try (var paths = Files.list(directory)) {
            for (Path path : paths.sorted().toList()) {
                files.add(Files.readAllBytes(path));
            }
        }
        return files;
    }

    @Test
    void aCommitIsDurableRegardless() throws IOException {
        Path file = directory.resolve("a.croft");
        WatchedDisk disk = new WatchedDisk();
        ForwardingDisk.commit(disk, file, STATE, SaveOptions.defaults().unforced());
        assertThat(disk.done).contains(ForwardingDisk.Operation.FORCE, ForwardingDisk.Operation.FORCE_DIRECTORY);
    }

    @Test
    void aWriterForcesTheDirectoryInItsFirstCommitToAFileOnly() throws IOException {
        Path file = directory.resolve("a.croft");
        Checkpoint.save(file, STATE);
        WatchedDisk disk = new WatchedDisk();
        try (CroftFile writer = CroftFile.open(disk, file, SaveOptions.defaults(), OpenOptions.defaults())) {
            writer.commit(STATE, "first");
            writer.commit(STATE, "second");
            assertThat(disk.done).containsOnlyOnce(ForwardingDisk.Operation.FORCE_DIRECTORY);

            disk.done.clear();
            Files.delete(file);
            Checkpoint.save(file, STATE);
            // The writer sees that it is another file, and continues from there.
            writer.newest().orElseThrow().close();
            writer.commit(STATE, "third");
            assertThat(disk.done).containsOnlyOnce(ForwardingDisk.Operation.FORCE_DIRECTORY);
        }
    }

    @Test
    void aFileInAStoreCannotBeUnforced() {
        assertThatIllegalArgumentException().isThrownBy(() -> SaveOptions.defaults().unforced().requireForStore("s3:a"))
                .withMessageContaining("SaveOptions.unforced");
    }
}
