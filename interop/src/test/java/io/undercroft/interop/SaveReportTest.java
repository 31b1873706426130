package io.undercroft.interop;

import static io.undercroft.testsupport.TestData.map;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SaveReportTest {
    @TempDir
    Path folder;

    private static Map<String, Tensor> tied() {
        Tensor embed = Tensor.zeros(DType.FLOAT32, 4, 2);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("embed", embed);
        state.put("head", embed.view(8));
        state.put("bias", Tensor.zeros(DType.FLOAT32, 4));
        return state;
    }

    @Test
    void aReportSaysWhatWasWritten() throws IOException {
        Path file = folder.resolve("model.safetensors");

        SaveReport report = Checkpoint.save(file, tied());

        assertThat(report.format()).isEqualTo("safetensors");
        assertThat(report.files()).containsExactly(file);
        assertThat(report.nbytes()).isEqualTo(Files.size(file));
        assertThat(report.tensors()).isEqualTo(3);
        assertThat(report.storages()).isEqualTo(2);
        assertThat(report.losses()).isEmpty();
    }

    @Test
    void theFilesOfASetAreThoseOfItsReport() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");

        SaveReport report = Checkpoint.save(index, tied(),
                SaveOptions.defaults().setting("safetensors.shard", "32"));

        assertThat(report.files()).containsExactly(index, folder.resolve("model-00001-of-00002.safetensors"),
                folder.resolve("model-00002-of-00002.safetensors"));
        long nbytes = 0;
        for (Path file : report.files()) {
            nbytes += Files.size(file);
        }
        assertThat(report.nbytes()).isEqualTo(nbytes);
    }

    @Test
    void aStateOfNoFormatReplacesTheFileThatItWasOpenedFrom() throws IOException {
        Set<String> formats = new TreeSet<>();
        try (Stream<Path> fixtures = Files.walk(Path.of("..", "test-support", "fixtures"))) {
            for (Path fixture : fixtures.filter(Files::isRegularFile).toList()) {
                Path file = Files.copy(fixture, folder.resolve(fixture.getFileName()),
                        StandardCopyOption.REPLACE_EXISTING);
                try (Checkpoint c = Checkpoint.open(file)) {
                    Object state = c.tree();
                    if (c.storages().stream().anyMatch(storage -> !storage.isMeta())) {
                        formats.add(c.format());
                        assertThatExceptionOfType(SourceFileException.class).as(file.toString())
                                .isThrownBy(() -> Checkpoint.save(file, state,
                                        SaveOptions.defaults().format("croft").leavingOutUnreadable()))
                                .withMessageContaining(file.toString());
                    }
                } catch (FormatException _) {
                    // It is damaged, or none of these files.
                }
                assertThat(file).hasSameBinaryContentAs(fixture);
            }
        }
        assertThat(formats).contains("torch-zip", "torch-legacy", "torch-tar", "pickle", "safetensors", "npy", "npz",
                "gguf", "torch7");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.safetensors", "model.pt", "model.npz", "model.gguf", "model.t7", "model.croft"})
    void aStateReplacesTheFileThatItWasOpenedFromWhenThatIsAllowed(String name) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, Map.of("weight", Tensor.of(1f, 2f, 3f)));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(SourceFileException.class).isThrownBy(() -> Checkpoint.save(file, c.tree()));
            assertThatExceptionOfType(SourceFileException.class)
                    .isThrownBy(() -> Checkpoint.saveAsync(file, c.tree()).join());
            Checkpoint.save(file, c.tree(), SaveOptions.defaults().replacingSource());
            Checkpoint.saveAsync(file, c.tree(), SaveOptions.defaults().replacingSource()).join();
            assertThat(c.tensor("weight").toFloatArray()).containsExactly(1, 2, 3);
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("weight").toFloatArray()).containsExactly(1, 2, 3);
        }
    }

    @Test
    void noFileOfASetIsReplacedByItsState() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        SaveReport set = Checkpoint.save(index, tied(), SaveOptions.defaults().setting("safetensors.shard", "32"));
        try (Checkpoint c = Checkpoint.open(index)) {
            for (Path file : set.files()) {
                for (String format : List.of(file.equals(index) ? "safetensors-index" : "safetensors", "croft")) {
                    assertThatThrownBy(() -> Checkpoint.save(file, c.tree(), SaveOptions.defaults().format(format)))
                            .isInstanceOfAny(SourceFileException.class, ReferencedFileException.class);
                }
            }
            try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).containsExactlyInAnyOrderElementsOf(set.files());
            }
            SaveReport replaced = Checkpoint.save(index, c.tree(), SaveOptions.defaults().replacingSource());
            assertThat(replaced.leftBehind()).containsExactlyElementsOf(set.files().subList(1, 3));
            assertThat(c.tensor("embed").getFloat(3, 1)).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.gguf", "model.safetensors"})
    void sharingThatIsNotKeptIsReported(String name) throws IOException {
        SaveOptions options = SaveOptions.defaults();
        SaveReport report = Checkpoint.save(folder.resolve(name), tied(),
                name.endsWith("s") ? options.setting("safetensors.sharing", "copy") : options);

        assertThat(report.loss(Kind.SHARING)).contains(new Loss(Kind.SHARING, 2, List.of("embed", "head")));
    }

    /// No byte is in two of them, so that no view can say it.
    @Test
    void partsOfOneStorageThatASafetensorsFileKeepsApartAreReported() throws IOException {
        Tensor flat = Tensor.zeros(DType.FLOAT32, 8);

        SaveReport report = Checkpoint.save(folder.resolve("model.safetensors"),
                Map.of("a", flat.narrow(0, 0, 4), "b", flat.narrow(0, 4, 4)));

        assertThat(report.loss(Kind.SHARING)).hasValueSatisfying(
                loss -> assertThat(loss.names()).containsExactlyInAnyOrder("a", "b"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.pt", "model.t7"})
    void metadataThatAFormatDoesNotKeepIsReported(String name) throws IOException {
        SaveReport report = Checkpoint.save(folder.resolve(name), tied(),
                SaveOptions.defaults().metadata(Map.of("author", "me")));

        assertThat(report.loss(Kind.METADATA)).contains(new Loss(Kind.METADATA, 1, List.of("author")));
    }

    /// These states have no metadata for llama.cpp.
    private static List<Loss> losses(SaveReport report) {
        return report.losses().stream().filter(loss -> loss.kind() != Kind.REQUIRED_METADATA).toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.safetensors", "model.gguf"})
    void gradientsAndAttributesThatAFormatDoesNotKeepAreReported(String name) throws IOException {
        Typed parameter = new Typed("torch.nn.parameter.Parameter",
                Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        parameter.attributes().put("tag", "first");

        SaveReport report = Checkpoint.save(folder.resolve(name), Map.of("weight", parameter));

        assertThat(losses(report)).containsExactlyInAnyOrder(new Loss(Kind.REQUIRES_GRAD, 1, List.of("weight")),
                new Loss(Kind.ATTRIBUTES, 1, List.of("weight/tag")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.safetensors", "model.gguf", "model.t7"})
    void whatTheStateDictOfAModelSaysOfItselfIsReportedWhereItIsNotKept(String name) throws IOException {
        TypedMap state = new TypedMap("collections.OrderedDict");
        state.put("weight", Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        state.attributes().put("_metadata", Map.of("version", 1L));

        SaveReport report = Checkpoint.save(folder.resolve(name), state);

        assertThat(losses(report)).containsExactlyInAnyOrder(new Loss(Kind.REQUIRES_GRAD, 1, List.of("weight")),
                new Loss(Kind.ATTRIBUTES, 1, List.of("_metadata")));
    }

    @Test
    void whatAFormatKeepsIsNoLoss() throws IOException {
        TypedMap state = new TypedMap("collections.OrderedDict");
        state.put("weight", Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        state.attributes().put("_metadata", Map.of("version", 1L));

        assertThat(Checkpoint.save(folder.resolve("model.pt"), state).losses()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.npz", "a.gguf"})
    void bytesThatNoTensorReachesAreCountedWhereElementsAreWritten(String name) throws IOException {
        Storage storage = Storage.copyOf(new byte[1000]);
        Map<String, Object> state = Map.of("part", Tensor.of(storage, DType.FLOAT32, 10, Shape.of(20), 1), "all",
                Tensor.of(1f));
        SaveReport report = Checkpoint.save(folder.resolve(name), state);
        assertThat(report.loss(Kind.UNREACHED)).contains(new Loss(Kind.UNREACHED, 920, List.of("part")));
        assertThat(Checkpoint.save(folder.resolve("a.pt"), state).losses()).isEmpty();
    }

    @Test
    void aFileThatTorchLoadsOnlyWhenItIsTrustedIsReported() throws IOException {
        Typed frozen = new Typed("builtins.frozenset", Set.of(1L));
        Path path = folder.resolve("a.pt");
        SaveReport report = Checkpoint.save(path, Map.of("in a tuple", Tuple.of(frozen, Tensor.of(1f))));
        assertThat(report.loss(Kind.WEIGHTS_ONLY)).contains(Loss.of(Kind.WEIGHTS_ONLY, List.of("builtins.frozenset")));
        TypedMap dict = new TypedMap("collections.OrderedDict");
        dict.put("w", Tensor.of(1f));
        assertThat(Checkpoint.save(path, Map.of("usual", List.of(dict, Set.of(2L), new byte[]{1}, Shape.of(3),
                DType.FLOAT8_E5M2, new Typed("builtins.bytearray", new byte[]{2}), Device.CPU))).losses()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"croft", "safetensors", "torch-zip"})
    void aFileInPlaceOfASetReportsItsShardsAndDeletesThemWhenThatIsWanted(String format) throws IOException {
        SaveOptions options = SaveOptions.defaults().format(format).replacingSource();
        for (String name : List.of("model.safetensors.index.json", "all.croftset")) {
            for (boolean isDeleting : List.of(false, true)) {
                Path set = Files.createDirectory(folder.resolve(name + isDeleting)).resolve(name);
                List<Path> shards = set(set);
                try (Checkpoint c = Checkpoint.open(set)) {
                    SaveReport report = Checkpoint.save(set, c.tree(),
                            isDeleting ? options.deletingFormerFiles() : options);
                    assertThat(isDeleting ? report.deleted() : report.leftBehind())
                            .containsExactlyInAnyOrderElementsOf(shards);
                    assertThat(isDeleting ? report.leftBehind() : report.deleted()).isEmpty();
                    assertThat(shards).allMatch(shard -> Files.exists(shard) != isDeleting);
                }
                try (Checkpoint c = Checkpoint.open(set)) {
                    assertThat(c.tensor("b").toLongArray()).containsExactly(3, 4);
                }
            }
        }
    }

    /// Saves a set of two tensors, and returns its shards.
    private static List<Path> set(Path index) throws IOException {
        Map<String, Object> tensors = map("a", Tensor.of(1L, 2L), "b", Tensor.of(3L, 4L));
        if (index.toString().endsWith(".json")) {
            Checkpoint.save(index, tensors, SaveOptions.defaults().setting("safetensors.shard", "16"));
        } else {
            for (Map.Entry<String, Object> tensor : tensors.entrySet()) {
                Checkpoint.save(index.resolveSibling(tensor.getKey() + ".croft"),
                        Map.of(tensor.getKey(), tensor.getValue()));
            }
            ShardSet.create(index, List.of(index.resolveSibling("a.croft"), index.resolveSibling("b.croft")));
        }
        try (Stream<Path> files = Files.list(index.getParent())) {
            return files.filter(file -> !file.equals(index)).toList();
        }
    }

    @Test
    void aBaseOfTheNewFileIsNotAFileOfTheFormerSet() throws IOException {
        Path set = folder.resolve("all.croftset");
        List<Path> shards = set(set);
        try (Checkpoint c = Checkpoint.open(set)) {
            SaveReport report = Checkpoint.save(set, c.tree(), SaveOptions.defaults().format("croft").replacingSource()
                    .deletingFormerFiles().base(shards.getFirst()));
            assertThat(report.deleted()).isEmpty();
            assertThat(report.leftBehind()).isEmpty();
            assertThat(shards).allMatch(Files::exists);
        }
    }

    @Test
    void shardsOfTheFormerSetAreReportedAndDeletedWhenThatIsWanted() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        Path one = folder.resolve("model-00001-of-00001.safetensors");
        SaveOptions two = SaveOptions.defaults().setting("safetensors.shard", "32");
        Checkpoint.save(index, tied());

        // The state is backed by the shards that are not needed any more.
        try (Checkpoint c = Checkpoint.open(index)) {
            SaveReport report = Checkpoint.save(index, c.tree(), two.replacingSource());
            assertThat(report.leftBehind()).containsExactly(one);
            assertThat(one).exists();
        }
        for (Path file : List.of(one, folder.resolve("model-00003-of-00003.safetensors"))) {
            Files.deleteIfExists(file);
        }
        try (Checkpoint c = Checkpoint.open(index)) {
            SaveReport report = Checkpoint.save(index, c.tree(),
                    SaveOptions.defaults().replacingSource().deletingFormerFiles());
            assertThat(report.leftBehind()).isEmpty();
            assertThat(report.deleted()).hasSize(2).allSatisfy(file -> assertThat(file).doesNotExist());
            assertThat(c.tensor("embed").contentEquals(tied().get("embed"))).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor("embed").storage()).isSameAs(c.tensor("head").storage());
        }
    }

    @Test
    void aShardOfASetIsNotReplaced() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        Path shard = folder.resolve("model-00001-of-00001.safetensors");
        Checkpoint.save(index, tied());

        try (Checkpoint c = Checkpoint.open(index)) {
            assertThatThrownBy(() -> Checkpoint.save(shard, c.tree())).isInstanceOf(ReferencedFileException.class)
                    .hasMessageContaining("model.safetensors.index.json");
            assertThatThrownBy(() -> Checkpoint.save(shard, tied())).isInstanceOf(ReferencedFileException.class);
        }
        Checkpoint.save(shard, tied());
    }

    @Test
    void noFileOfAClosedSetIsReplacedByTheStateThatIsBackedByIt() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        SaveReport set = Checkpoint.save(index, Map.of("w", Tensor.of(1L)));
        Tensor tensor;
        try (Checkpoint c = Checkpoint.open(index)) {
            tensor = c.tensor("w");
            tensor.storage().retain();
        }
        for (Path file : set.files()) {
            assertThatExceptionOfType(SourceFileException.class).as(file.toString()).isThrownBy(
                    () -> Checkpoint.save(file, Map.of("w", tensor), SaveOptions.defaults().format("croft")));
        }
        tensor.storage().release();
    }

    @Test
    void anAdoptedFileIsNotReplaced() throws IOException {
        Path source = folder.resolve("src.safetensors");
        Path thin = folder.resolve("thin.croft");
        Map<String, Tensor> state = Map.of("w", Tensor.zeros(DType.FLOAT32, 100_000).fill(3f));
        Checkpoint.save(source, state);
        try (Checkpoint c = Checkpoint.open(source)) {
            Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(source).wholeStorages());
        }

        try (Checkpoint c = Checkpoint.open(thin, OpenOptions.defaults().root(folder))) {
            assertThatThrownBy(() -> Checkpoint.save(source, tied())).isInstanceOfSatisfying(
                    ReferencedFileException.class, e -> assertThat(e.referrer()).isEqualTo(thin.toString()));
            assertThat(c.tensor("w").contentEquals(state.get("w"))).isTrue();
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aFileWithANameThatPosixAllowsIsAdopted() throws IOException {
        Path source = folder.resolve("a:b\\c\n.safetensors");
        Path thin = folder.resolve("thin.croft");
        Map<String, Tensor> state = Map.of("w", Tensor.zeros(DType.FLOAT32, 100_000).fill(3f));
        Checkpoint.save(source, state);

        try (Checkpoint c = Checkpoint.open(source)) {
            DedupReport report = Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(source).wholeStorages())
                    .dedup().orElseThrow();
            assertThat(report.written()).isZero();
        }

        try (Checkpoint c = Checkpoint.open(thin, OpenOptions.defaults().root(folder))) {
            assertThat(c.tensor("w").contentEquals(state.get("w"))).isTrue();
        }
    }

    @Test
    void aMapAtTwoPlacesGivesEachTensorTwoNames() throws IOException {
        Map<String, Tensor> model = Map.of("weight", Tensor.of(1f, 2f));
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("model", model);
        state.put("ema", model);

        for (String name : List.of("twice.npz", "twice.gguf")) {
            SaveReport report = Checkpoint.save(folder.resolve(name), state);
            assertThat(report.names()).as(name).isEqualTo(2);
            assertThat(losses(report)).as(name)
                    .containsExactly(Loss.of(Kind.SHARING, List.of("model/weight", "ema/weight")));
        }
        SaveReport report = Checkpoint.save(folder.resolve("twice.safetensors"), state);
        assertThat(report.names()).isEqualTo(2);
        assertThat(report.loss(Kind.METADATA_ONLY).orElseThrow().names()).containsExactly("ema/weight");
        assertThat(Checkpoint.save(folder.resolve("twice.pt"), state).losses()).isEmpty();
    }

    @Test
    void listsThatBecomeTablesOfLuaAreReported() throws IOException {
        Path file = folder.resolve("lists.t7");
        List<Tensor> layers = List.of(Tensor.of(1f), Tensor.of(2f));

        SaveReport report = Checkpoint.save(file, Map.of("model", Map.of("layers", layers, "same", layers)));

        Loss lists = report.loss(Kind.LISTS).orElseThrow();
        assertThat(lists.count()).isEqualTo(1);
        assertThat(lists.names()).hasSize(1).first().asString().startsWith("model/");
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).hasSize(2).allMatch(name -> name.matches("model/(layers|same)/[12]"));
            assertThat(Checkpoint.save(folder.resolve("again.t7"), c.tree()).losses()).isEmpty();
        }
        assertThat(Checkpoint.save(file, Map.of("a", Tensor.of(1f))).losses()).isEmpty();
    }

    @Test
    void textsThatAFileHasAsMetadataAreNotReportedAsLeftOut() throws IOException {
        Path source = folder.resolve("llama.gguf");
        TypedMap state = new TypedMap("gguf");
        state.put("weight", Tensor.of(1f));
        state.attributes().put("general.architecture", "llama");
        state.attributes().put("llama.block_count", 1L);
        Checkpoint.save(source, state);

        try (Checkpoint c = Checkpoint.open(source)) {
            SaveReport report = Checkpoint.save(folder.resolve("llama.safetensors"), c.tree(),
                    SaveOptions.defaults().metadata(c.metadata()));
            assertThat(report.losses()).containsExactly(Loss.of(Kind.ATTRIBUTES, List.of("llama.block_count")));
            SaveReport without = Checkpoint.save(folder.resolve("none.safetensors"), c.tree());
            assertThat(without.loss(Kind.ATTRIBUTES).orElseThrow().names()).contains("general.architecture");
        }
        try (Checkpoint c = Checkpoint.open(folder.resolve("llama.safetensors"))) {
            assertThat(c.value("general.architecture")).isEqualTo("llama");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model-00001-of-00001.safetensors", "model.safetensors.index.json"})
    @DisabledOnOs(OS.WINDOWS)
    @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeIsNoFileOfASet(String name) throws Exception {
        Path index = folder.resolve("model.safetensors.index.json");
        Checkpoint.save(index, tied());
        Path pipe = folder.resolve(name);
        Files.delete(pipe);
        Commands.makePipe(pipe);

        assertThatThrownBy(() -> Checkpoint.open(index)).isInstanceOfAny(FormatException.class,
                FileSystemException.class);
        assertThatThrownBy(() -> Checkpoint.save(index, Map.of("w", Tensor.of(1f)),
                SaveOptions.defaults().deletingFormerFiles())).isInstanceOf(FileSystemException.class);
        assertThat(pipe).exists();
    }
}
