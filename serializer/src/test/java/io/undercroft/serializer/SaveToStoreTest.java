package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SaveToStoreTest {
    @TempDir
    Path folder;

    private final Tensor weight = Tensor.arange(DType.INT32, 1_000_000);

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private URI uri(String name) {
        return FolderStore.uri(folder.resolve(name));
    }

    @Test
    void aCroftFileInAStoreIsSealed() throws IOException {
        SaveReport report = Checkpoint.save(uri("a.croft"), Map.of("weight", weight));

        assertThat(files()).containsExactly("a.croft");
        assertThat(report.locations()).containsExactly(uri("a.croft").toString());
        assertThat(report.nbytes()).isEqualTo(Files.size(folder.resolve("a.croft")));
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(report::files)
                .withMessageContaining("locations");
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            assertThat(opened.verify().isIntact()).isTrue();
        }
        assertThatThrownBy(() -> CheckpointFile.open(folder.resolve("a.croft")).commit(Map.of(),
                SaveOptions.defaults())).isInstanceOf(FormatException.class).hasMessageContaining("sealed");
    }

    @Test
    void tensorsThatShareDoSoAgainAndEqualStoragesAreStoredOnce() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("weight", weight);
        state.put("tied", weight.view(DType.UINT8));
        state.put("equal", weight.copy());

        SaveReport report = Checkpoint.save(uri("a.croft"), state);

        assertThat(report.dedup().orElseThrow().written()).isEqualTo(4_000_000);
        assertThat(report.dedup().orElseThrow().sharedStorages()).isEqualTo(4_000_000);
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("tied").storage()).isSameAs(opened.tensor("weight").storage());
            assertThat(opened.tensor("equal").storage()).isNotSameAs(opened.tensor("weight").storage());
            assertThat(opened.tensor("equal").contentEquals(weight)).isTrue();
        }
    }

    @Test
    void aFileUriIsAPath() throws IOException {
        SaveReport report = Checkpoint.save(folder.resolve("a.croft").toUri(), Map.of("weight", weight));

        assertThat(report.files()).containsExactly(folder.resolve("a.croft"));
        assertThat(report.locations()).containsExactly(folder.resolve("a.croft").toString());
    }

    @Test
    void aStoreThatNobodyKnowsIsRefusedWithWhatToAdd() {
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(URI.create("s3a://bucket/a.croft"), Map.of()))
                .withMessageContaining("undercroft-hadoop")
                .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.UNSUPPORTED));
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(URI.create("nowhere://a/a.croft"), Map.of()))
                .withMessageContaining("the known schemes are file, folder");
        assertThatThrownBy(() -> Checkpoint.save(URI.create("a.croft"), Map.of()))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("no scheme");
    }

    @Test
    void optionsThatNeedAFileOfThisHostAreRefused() throws IOException {
        Checkpoint.save(folder.resolve("base.croft"), Map.of("weight", weight));

        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of(),
                SaveOptions.defaults().base(folder.resolve("base.croft")).root(folder)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a file in a store cannot follow SaveOptions.base, root");
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.croft"), Map.of(),
                SaveOptions.defaults().setting("folder.fails", "yes")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("it is for those of a store");
        assertThat(files()).containsExactly("base.croft");
    }

    @Test
    void nothingIsLeftOfASaveThatFails() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                SaveOptions.defaults().setting("folder.fails", "yes"))).isInstanceOf(RemoteFileException.class);

        assertThat(files()).isEmpty();
    }

    @Test
    void aSetIsWrittenWithItsIndexLastAndReplacesNoFile() throws IOException {
        Map<String, Tensor> state = Map.of("a.raw", weight.view(DType.UINT8));
        SaveReport report = Checkpoint.save(uri("some.rawset"), state);

        assertThat(report.locations()).containsExactly(uri("some.rawset").toString(), uri("a.raw").toString());
        assertThat(folder.resolve("some.rawset")).hasContent("RAWSET\na.raw");
        byte[] before = Files.readAllBytes(folder.resolve("a.raw"));
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(uri("some.rawset"), Map.of("a.raw", Tensor.zeros(DType.UINT8, 3))))
                .withMessageContaining("a.raw").satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.CONFLICT));
        assertThat(folder.resolve("a.raw")).hasBinaryContent(before);
    }

    @Test
    void theFilesOfASetAreDeletedIfItsIndexIsRefusedAndStayIfThatIsUnknown() throws IOException {
        Map<String, Tensor> state = Map.of("a.raw", weight.view(DType.UINT8));

        assertThatThrownBy(() -> Checkpoint.save(uri("some.rawset"), state,
                SaveOptions.defaults().setting("folder.fails", "yes"))).isInstanceOf(RemoteFileException.class);
        assertThat(files()).isEmpty();

        assertThatThrownBy(() -> Checkpoint.save(uri("some.rawset"), state,
                SaveOptions.defaults().setting("folder.fails", "unknown"))).isInstanceOf(RemoteFileException.class);
        assertThat(files()).containsExactly("a.raw");
    }
}
