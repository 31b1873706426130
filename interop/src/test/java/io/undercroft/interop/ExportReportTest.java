package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Device;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ExportOptions;
import io.undercroft.serializer.ExportReport;
import io.undercroft.serializer.ExportReport.Kind;
import io.undercroft.serializer.ExportReport.Loss;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExportReportTest {
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

        ExportReport report = Checkpoint.export(file, tied());

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

        ExportReport report = Checkpoint.export(index, tied(),
                ExportOptions.defaults().setting("safetensors.shard", "32"));

        assertThat(report.files()).containsExactly(index, folder.resolve("model-00001-of-00002.safetensors"),
                folder.resolve("model-00002-of-00002.safetensors"));
        long nbytes = 0;
        for (Path file : report.files()) {
            nbytes += Files.size(file);
        }
        assertThat(report.nbytes()).isEqualTo(nbytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.gguf"})
    void sharingThatAFormatDoesNotKeepIsReported(String name) throws IOException {
        ExportReport report = Checkpoint.export(folder.resolve(name), tied());

        assertThat(report.loss(Kind.SHARING)).contains(new Loss(Kind.SHARING, 2, List.of("embed", "head")));
    }

    @Test
    void sharingThatASettingGivesUpIsReported() throws IOException {
        ExportReport report = Checkpoint.export(folder.resolve("model.safetensors"), tied(),
                ExportOptions.defaults().setting("safetensors.sharing", "copy"));

        assertThat(report.loss(Kind.SHARING)).contains(new Loss(Kind.SHARING, 2, List.of("embed", "head")));
    }

    /// No byte is in two of them, so that no view can say it.
    @Test
    void partsOfOneStorageThatASafetensorsFileKeepsApartAreReported() throws IOException {
        Tensor flat = Tensor.zeros(DType.FLOAT32, 8);

        ExportReport report = Checkpoint.export(folder.resolve("model.safetensors"),
                Map.of("a", flat.narrow(0, 0, 4), "b", flat.narrow(0, 4, 4)));

        assertThat(report.loss(Kind.SHARING)).hasValueSatisfying(
                loss -> assertThat(loss.names()).containsExactlyInAnyOrder("a", "b"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.pt", "model.t7"})
    void metadataThatAFormatDoesNotKeepIsReported(String name) throws IOException {
        ExportReport report = Checkpoint.export(folder.resolve(name), tied(),
                ExportOptions.defaults().metadata(Map.of("author", "me")));

        assertThat(report.loss(Kind.METADATA)).contains(new Loss(Kind.METADATA, 1, List.of("author")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.safetensors", "model.gguf"})
    void gradientsAndAttributesThatAFormatDoesNotKeepAreReported(String name) throws IOException {
        Typed parameter = new Typed("torch.nn.parameter.Parameter",
                Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        parameter.attributes().put("tag", "first");

        ExportReport report = Checkpoint.export(folder.resolve(name), Map.of("weight", parameter));

        assertThat(report.losses()).containsExactlyInAnyOrder(new Loss(Kind.REQUIRES_GRAD, 1, List.of("weight")),
                new Loss(Kind.ATTRIBUTES, 1, List.of("weight/tag")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.npz", "model.safetensors", "model.gguf", "model.t7"})
    void whatTheStateDictOfAModelSaysOfItselfIsReportedWhereItIsNotKept(String name) throws IOException {
        TypedMap state = new TypedMap("collections.OrderedDict");
        state.put("weight", Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        state.attributes().put("_metadata", Map.of("version", 1L));

        ExportReport report = Checkpoint.export(folder.resolve(name), state);

        assertThat(report.losses()).containsExactlyInAnyOrder(new Loss(Kind.REQUIRES_GRAD, 1, List.of("weight")),
                new Loss(Kind.ATTRIBUTES, 1, List.of("_metadata")));
    }

    @Test
    void whatAFormatKeepsIsNoLoss() throws IOException {
        TypedMap state = new TypedMap("collections.OrderedDict");
        state.put("weight", Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
        state.attributes().put("_metadata", Map.of("version", 1L));

        assertThat(Checkpoint.export(folder.resolve("model.pt"), state).losses()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.npz", "a.gguf"})
    void bytesThatNoTensorReachesAreCountedWhereElementsAreWritten(String name) throws IOException {
        Storage storage = Storage.copyOf(new byte[1000]);
        Map<String, Object> state = Map.of("part", Tensor.of(storage, DType.FLOAT32, 10, Shape.of(20), 1), "all",
                Tensor.of(1f));
        ExportReport report = Checkpoint.export(folder.resolve(name), state);
        assertThat(report.loss(Kind.UNREACHED)).contains(new Loss(Kind.UNREACHED, 920, List.of("part")));
        assertThat(Checkpoint.export(folder.resolve("a.pt"), state).losses()).isEmpty();
    }

    @Test
    void aFileThatTorchLoadsOnlyWhenItIsTrustedIsReported() throws IOException {
        Typed frozen = new Typed("builtins.frozenset", Set.of(1L));
        Path path = folder.resolve("a.pt");
        ExportReport report = Checkpoint.export(path, Map.of("in a tuple", Tuple.of(frozen, Tensor.of(1f))));
        assertThat(report.loss(Kind.WEIGHTS_ONLY)).contains(Loss.of(Kind.WEIGHTS_ONLY, List.of("builtins.frozenset")));
        TypedMap dict = new TypedMap("collections.OrderedDict");
        dict.put("w", Tensor.of(1f));
        assertThat(Checkpoint.export(path, Map.of("usual", List.of(dict, Set.of(2L), new byte[]{1}, Shape.of(3),
                DType.FLOAT8_E5M2, new Typed("builtins.bytearray", new byte[]{2}), Device.CPU))).losses()).isEmpty();
    }
}
