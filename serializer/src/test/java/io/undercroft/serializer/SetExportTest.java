package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Files that are written with others next to them.
class SetExportTest {
    @TempDir
    Path folder;

    private Path index;

    @BeforeEach
    void nameTheIndex() {
        index = folder.resolve("some.rawset");
    }

    private static Tensor bytes(int... values) {
        Tensor tensor = Tensor.zeros(DType.UINT8, values.length);
        for (int i = 0; i < values.length; i++) {
            tensor.setLong(i, values[i]);
        }
        return tensor;
    }

    private static Map<String, Tensor> state(String... names) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (String name : names) {
            state.put(name, bytes(1, 2, 3));
        }
        return state;
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aSetIsItsFilesAndTheIndex() throws IOException {
        Checkpoint.save(index, state("a.raw", "b.raw"));

        assertThat(files()).containsExactly("a.raw", "b.raw", "some.rawset");
        assertThat(index).hasContent("RAWSET\na.raw\nb.raw");
        try (Checkpoint c = Checkpoint.open(folder.resolve("b.raw"))) {
            assertThat(c.tensor("bytes").contentEquals(bytes(1, 2, 3))).isTrue();
            assertThat(c.files()).containsExactly(folder.resolve("b.raw"));
        }
    }

    @Test
    void progressIsOfAllFiles() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("a.raw", Tensor.arange(DType.INT32, 2_000_000).view(DType.UINT8));
        state.put("b.raw", bytes(1));
        List<Long> told = new ArrayList<>();

        Checkpoint.save(index, state, SaveOptions.defaults().progress((done, total) -> {
            told.add(done);
            assertThat(total).isEqualTo(8_000_000 + 8 + 9 + 18);
        }));

        assertThat(told).isSorted().startsWith(0L).endsWith(8_000_035L).doesNotHaveDuplicates().hasSizeGreaterThan(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "../a.raw", "/tmp/a.raw", "sub/a.raw", "a\\b.raw", "..", ".", "", " ", ".hidden", "C:a", "a\0b",
            "some.rawset",
            "SOME.RAWSET"
    })
    void aNameThatLeadsElsewhereIsRefused(String name) throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(index, state("a.raw", name)))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("no plain name");

        assertThat(files()).isEmpty();
    }

    @Test
    void aSetThatIsThereIsNotMixedWithANewOne() throws IOException {
        Checkpoint.save(index, state("a.raw", "b.raw"));
        byte[] before = Files.readAllBytes(folder.resolve("b.raw"));

        assertThatThrownBy(() -> Checkpoint.save(index, Map.of("b.raw", bytes(9))))
                .isInstanceOf(FileAlreadyExistsException.class)
                .hasMessageContainingAll("b.raw", "write to another directory");

        assertThat(folder.resolve("b.raw")).hasBinaryContent(before);
        assertThat(files()).containsExactly("a.raw", "b.raw", "some.rawset");
    }

    @Test
    void aSetOfOtherNamesTakesTheIndexOver() throws IOException {
        Checkpoint.save(index, state("a.raw"));
        Checkpoint.save(index, state("b.raw"));

        assertThat(index).hasContent("RAWSET\nb.raw");
    }

    @Test
    void aFileThatNoIndexNamesIsNotReplacedEither() throws IOException {
        Path source = Files.writeString(folder.resolve("b.raw"), "what the state was read from, perhaps");

        assertThatThrownBy(() -> Checkpoint.save(index, state("a.raw", "b.raw")))
                .isInstanceOf(FileAlreadyExistsException.class).hasMessageContaining("or delete it first");

        assertThat(source).hasContent("what the state was read from, perhaps");
        assertThat(files()).containsExactly("b.raw");
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void noLinkIsFollowed() throws IOException {
        Path elsewhere = Files.writeString(folder.resolve("precious"), "mine");
        Files.createSymbolicLink(folder.resolve("a.raw"), elsewhere);

        assertThatThrownBy(() -> Checkpoint.save(index, state("a.raw")))
                .isInstanceOf(FileAlreadyExistsException.class);

        assertThat(elsewhere).hasContent("mine");
    }

    @Test
    void whoeverWritesTheSameSetIsTold() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(index, state("a.raw"), SaveOptions.defaults().progress((_, _) -> {
            assertThatThrownBy(() -> Checkpoint.save(index, state("b.raw"))).isInstanceOf(LockedException.class);
            throw new IllegalStateException("seen");
        }))).hasMessage("seen");

        assertThat(files()).isEmpty();
    }

    @Test
    void aDirectoryThatIsMissingIsNamed() {
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("none/some.rawset"), state("a.raw")))
                .isInstanceOf(NoSuchFileException.class).hasMessageContaining("make it first");
    }

    @Test
    void aListenerThatThrowsLateLeavesNothing() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(index, state("a.raw", "b.raw"),
                SaveOptions.defaults().progress((done, total) -> {
                    if (done == total) {
                        throw new IllegalStateException("enough");
                    }
                }))).hasMessage("enough");

        assertThat(files()).isEmpty();
    }

    /// Of a disk that fails once, whatever it was doing then. (Only the deletion of what is left over may fail for
    /// good.)
    @ParameterizedTest
    @EnumSource(names = {"CREATE", "WRITE", "FORCE", "RENAME", "FORCE_DIRECTORY", "IS_AT"})
    void aFailureLeavesASetThatIsWholeOrNothing(ForwardingDisk.Operation operation) throws IOException {
        boolean failed = true;
        for (int failing = 1; failed; failing++) {
            FailingOnce disk = new FailingOnce(operation, failing);
            try {
                ForwardingDisk.save(disk, index, state("a.raw", "b.raw"), SaveOptions.defaults());
                failed = false;
            } catch (IOException _) {
                assertThat(files()).isIn(List.of(), List.of("a.raw", "b.raw", "some.rawset"));
                assertThat(Files.exists(index)).as("with a name that is only not durable")
                        .isEqualTo(operation == ForwardingDisk.Operation.FORCE_DIRECTORY && failing == 4);
            }
            for (String file : files()) {
                Files.delete(folder.resolve(file));
            }
        }
    }

    private static final class FailingOnce extends ForwardingDisk {
        private final Operation operation;
        private int left;

        FailingOnce(Operation operation, int left) {
            this.operation = operation;
            this.left = left;
        }

        @Override
        void before(Operation next) throws IOException {
            if (next == operation && --left == 0) {
                throw new IOException("no space left");
            }
        }
    }

    // ---- the files of the set that is replaced

    private static final SaveOptions DELETING = SaveOptions.defaults().deletingFormerFiles();

    @Test
    void filesOfTheFormerSetAreLeftBehindAndReported() throws IOException {
        assertThat(Checkpoint.save(index, state("a.raw", "b.raw")).leftBehind()).isEmpty();

        SaveReport report = Checkpoint.save(index, state("c.raw"));

        assertThat(report.leftBehind()).containsExactly(folder.resolve("a.raw"), folder.resolve("b.raw"));
        assertThat(report.deleted()).isEmpty();
        assertThat(files()).containsExactly("a.raw", "b.raw", "c.raw", "some.rawset");
    }

    @Test
    void filesOfTheFormerSetAreDeletedWhenThatIsWanted() throws IOException {
        Checkpoint.save(index, state("a.raw", "b.raw"));

        SaveReport report = Checkpoint.save(index, state("c.raw"), DELETING);

        assertThat(report.deleted()).containsExactly(folder.resolve("a.raw"), folder.resolve("b.raw"));
        assertThat(report.leftBehind()).isEmpty();
        assertThat(files()).containsExactly("c.raw", "some.rawset");
    }

    @Test
    void aFileOfTheFormerSetThatAnOpenFileReferencesStays() throws IOException {
        Map<String, Tensor> large = Map.of("a.raw", Tensor.zeros(DType.UINT8, 300_000).fill(7));
        Checkpoint.save(index, large);
        Path adopting = folder.resolve("thin.croft");
        Path shard = folder.resolve("a.raw");
        try (Checkpoint c = Checkpoint.open(shard)) {
            Checkpoint.save(adopting, c.tree(), SaveOptions.defaults().base(shard).wholeStorages());
        }

        try (Checkpoint _ = Checkpoint.open(adopting)) {
            SaveReport report = Checkpoint.save(index, state("c.raw"), DELETING);

            assertThat(report.leftBehind()).containsExactly(shard);
            assertThat(shard).exists();
        }
    }

    /// An index may come from anybody.
    @Test
    void nothingButPlainFilesBesideTheIndexIsDeleted() throws IOException {
        Path inner = Files.createDirectory(folder.resolve("inner"));
        Path set = inner.resolve("some.rawset");
        Path outside = Files.writeString(folder.resolve("outside.raw"), "precious");
        Path linked = Files.createSymbolicLink(inner.resolve("linked.raw"), outside);
        Path directory = Files.createDirectory(inner.resolve("directory.raw"));
        Files.writeString(set, String.join("\n", "RAWSET", "../outside.raw", outside.toString(), "linked.raw",
                "directory.raw", "..", ".", "", "some.rawset", "gone.raw"));

        SaveReport report = Checkpoint.save(set, state("c.raw"), DELETING);

        assertThat(report.deleted()).isEmpty();
        assertThat(outside).hasContent("precious");
        assertThat(linked).exists();
        assertThat(directory).exists();
        assertThat(set).exists();
    }

    @Test
    void filesOfTheFormerSetStayIfTheExportFails() throws IOException {
        Checkpoint.save(index, state("a.raw", "b.raw"));

        assertThatThrownBy(() -> Checkpoint.save(index, state("c.raw"), DELETING.progress((_, _) -> {
            throw new IllegalStateException("no more");
        }))).isInstanceOf(IllegalStateException.class);

        assertThat(files()).containsExactly("a.raw", "b.raw", "some.rawset");
    }
}
