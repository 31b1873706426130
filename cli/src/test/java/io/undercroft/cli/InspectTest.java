package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InspectTest {
    @TempDir
    Path folder;

    @Test
    void everyTensorIsAsPyTorchWroteIt() throws IOException {
        JsonNode expected = new ObjectMapper().readTree(Invocation.FIXTURES.resolve("models/tiny-gpt2.json").toFile());
        JsonNode json = Invocation.of("inspect", "--json", "--hash", Invocation.FIXTURES.resolve("models/tiny-gpt2.pt"))
                .json();

        Map<String, JsonNode> tensors = new HashMap<>();
        json.get("tensors").forEach(tensor -> tensors.put(tensor.get("name").asText(), tensor));
        assertThat(tensors).hasSize(expected.size());
        expected.properties().forEach(entry -> {
            JsonNode tensor = tensors.get(entry.getKey());
            for (String field : List.of("dtype", "shape", "stride", "offset", "storage", "sha256")) {
                assertThat(tensor.get(field)).as(entry.getKey() + " " + field).isEqualTo(entry.getValue().get(field));
            }
            int storage = tensor.get("storage").asInt();
            assertThat(json.get("storages").get(storage).get("nbytes"))
                    .isEqualTo(entry.getValue().get("storage_nbytes"));
        });
    }

    @Test
    void aTrainingCheckpointShowsItsTiedWeightsAndItsState() throws IOException {
        JsonNode json = Invocation.of("inspect", "--json", TRAINING).json();

        assertThat(json.get("format").asText()).isEqualTo("torch-zip");
        assertThat(json.get("tensors")).hasSize(113);
        assertThat(json.get("storages")).hasSize(112);
        assertThat(tensor(json, Invocation.EMBEDDING).get("storage"))
                .isEqualTo(tensor(json, Invocation.HEAD).get("storage"));
        JsonNode state = json.get("state");
        assertThat(state.get("step").asInt()).isEqualTo(3);
        assertThat(state.get("loss").asDouble()).isEqualTo(6.234913349151611);
        assertThat(state.get("config").get("vocab_size").asInt()).isEqualTo(512);
        assertThat(state.at("/model/$type").asText()).isEqualTo("collections.OrderedDict");
        assertThat(state.at("/model/lm_head.weight/$tensor").asText()).isEqualTo(Invocation.HEAD);
        assertThat(state.at("/optimizer/state/$keys").asText()).isEqualTo("int");
        assertThat(state.at("/optimizer/state/0/exp_avg/$tensor").asText()).isEqualTo("optimizer/state/0/exp_avg");
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect", "verify"})
    void severalFilesAreOneJsonDocumentAndOneThatCannotBeOpenedIsAnElement(String command) throws IOException {
        Path tied = torch("tied.pt");
        Path none = folder.resolve("none.pt");
        Path notes = Files.writeString(folder.resolve("notes.txt"), "no tensors");

        Invocation several = Invocation.of(command, "--json", tied, none, TRAINING, notes);

        JsonNode document = document(several);
        assertThat(several.code()).isEqualTo(3);
        assertThat(document.properties()).extracting(Map.Entry::getKey).containsExactly("files");
        JsonNode files = document.get("files");
        assertThat(files).extracting(file -> file.get("file").asText()).containsExactly(tied.toString(),
                none.toString(), TRAINING.toString(), notes.toString());
        for (int i : new int[]{0, 2}) {
            ObjectNode element = files.get(i).deepCopy();
            ObjectNode single = document(Invocation.of(command, "--json", i == 0 ? tied : TRAINING)).deepCopy();
            single.remove("file");
            element.remove("file");
            assertThat(element).isEqualTo(single);
        }
        assertThat(files.get(1).toString()).isEqualTo(
                "{\"file\":\"%s\",\"error\":{\"exit_code\":3,\"code\":null,\"what\":\"%s\"}}"
                        .formatted(none, none + ": there is no such file; check the path"));
        assertThat(files.get(3).at("/error/code").asText()).isEqualTo("FORMAT-UNKNOWN");
        assertThat(several.err().lines()).hasSize(2)
                .allMatch(line -> files.findValuesAsText("what").stream().anyMatch(line::endsWith));
        assertThat(document(Invocation.of(command, "--json", none, notes)).get("files")).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({"inspect --hash, 40", "inspect, 60", "inspect, 80", "diff, 40", "diff --stats, 60", "diff, 80",
            "dedup, 40", "dedup, 60", "dedup, 80"})
    void tablesFitANarrowTerminal(String command, int width) throws IOException {
        Path a = folder.resolve("a.croft");
        Path b = folder.resolve("b.croft");
        String name = "base_model.model.transformer.h.10.self_attention.query_key_value.lora_A.weight";
        Checkpoint.save(a, Map.of(name, Tensor.arange(DType.FLOAT32, 1_234_567), "epoch_of_the_first_run", 123456789L));
        Checkpoint.save(b, Map.of(name, Tensor.zeros(DType.FLOAT32, 1_234_567), "epoch_of_the_first_run", 987654321L));
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        List<String> words = new ArrayList<>(List.of(command.split(" ")));
        words.add(a.toString());
        if (command.startsWith("diff")) {
            words.add(b.toString());
        }

        Croft.execute(new TextOutput(screen, width), new PrintWriter(Writer.nullWriter()),
                words.toArray(String[]::new));

        String shown = screen.toString(StandardCharsets.UTF_8);
        List<String> table = shown.lines().dropWhile(line -> !line.matches("(name|changed|file) .*"))
                .takeWhile(line -> !line.isEmpty()).toList();
        assertThat(table).hasSizeGreaterThan(1).allMatch(line -> line.length() <= width, shown);
        assertThat(shown).contains(command.startsWith("diff") ? "987654321" : "4.7 MiB");
        // The names of files fit if the directory of temporary files has a short path.
        boolean isCut = width < 80 || !command.equals("dedup") || a.toString().length() > 40;
        assertThat(shown.contains("…")).isEqualTo(isCut);
    }

    @Test
    void aValueThatHoldsItselfIsShownAndNotWrittenByName() throws IOException {
        Path file = folder.resolve("self.croft");
        Typed parameter = new Typed("torch.nn.parameter.Parameter", null);
        parameter.value(parameter);
        Checkpoint.save(file, Map.of("p", parameter));

        assertThat(Invocation.of("inspect", file).out()).contains("p: Parameter of itself");
        for (String suffix : List.of("safetensors", "npz", "gguf", "t7")) {
            Invocation converted = Invocation.of("convert", file, folder.resolve("out." + suffix));
            assertThat(converted.code()).isEqualTo(2);
            assertThat(converted.err()).contains(": p", "torch.nn.parameter.Parameter");
        }
    }

    @Test
    void aDamagedFileAmongSeveralHasItsFaultInTheJsonDocument() throws IOException {
        Path damaged = folder.resolve("damaged.croft");
        Checkpoint.save(damaged, Map.of("w", Tensor.arange(DType.FLOAT32, 20_000)));
        byte[] bytes = Files.readAllBytes(damaged);
        bytes[bytes.length / 2] ^= 1;
        Files.write(damaged, bytes);

        Invocation hashed = Invocation.of("inspect", "--json", "--hash", damaged, TRAINING);
        Invocation verified = Invocation.of("verify", "--json", damaged, TRAINING);

        assertThat(hashed.code()).isEqualTo(4);
        assertThat(document(hashed).at("/files/0/tensors/0/sha256").isNull()).isTrue();
        assertThat(document(hashed).at("/files/0/tensors/0/sha256_problem").asText()).contains("checksum");
        assertThat(document(hashed).at("/files/1/tensors")).hasSize(113);
        assertThat(verified.code()).isEqualTo(4);
        assertThat(document(verified).at("/files/0/damages")).hasSize(1);
        assertThat(document(verified).at("/files/1/damages")).isEmpty();
    }

    /// {@return the only document}
    private static JsonNode document(Invocation printed) throws IOException {
        return new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).readTree(printed.out());
    }

    @Test
    void valuesOfNestedContainersAreShown() {
        assertThat(Invocation.of("inspect", TRAINING).out()).contains("          step: 3\n",
                "          optimizer: map of 2\n          optimizer/param_groups/0/lr: 0.001\n",
                "          optimizer/param_groups/0/betas: list of 2: 0.9, 0.999\n",
                "          config: map of 3: n_embd 64, n_layer 2, vocab_size 512\n");
    }

    @Test
    void veryManyValuesAreShownInPart() throws IOException {
        Map<String, Object> wide = new LinkedHashMap<>();
        for (int i = 0; i < 50; i++) {
            wide.put("k" + i, i);
        }
        Map<String, Object> deep = new LinkedHashMap<>(wide);
        for (int i = 0; i < 20; i++) {
            deep = new LinkedHashMap<>(Map.of("a", deep, "b", new LinkedHashMap<>(wide)));
        }
        List<Object> itself = new ArrayList<>();
        itself.add(itself);
        itself.add("end");
        Path file = folder.resolve("a.croft");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("list", List.of(wide, wide, wide));
        state.put("itself", itself);
        state.put("deep", deep);
        state.put("last", 1);
        Checkpoint.save(file, state);

        String out = Invocation.of("inspect", file).out();
        assertThat(out).contains("          list/0/k11: 11\n", "          itself/1: \"end\"\n", "          last: 1\n")
                .doesNotContain("list/0/k12", "list/1/k").containsPattern("… and [0-9]+ more values; croft extract")
                .satisfies(text -> assertThat(text.lines().count()).isLessThan(75));
    }

    @Test
    void objectsOfPythonAreShownByTheirTextOrWhatTheyWereMadeOf() throws IOException {
        TypedMap path = new TypedMap("python:pathlib.PosixPath");
        path.attributes().put("arguments", Tuple.of("/", "a"));
        path.attributes().put("text", "/a");
        TypedMap color = new TypedMap("python:app.Color");
        color.attributes().put("arguments", Tuple.of(1L));
        TypedMap point = new TypedMap("python:app.Point");
        point.attributes().put("new_arguments", Tuple.of(1L, "b"));
        TypedMap options = new TypedMap("python:app.Options");
        options.put("lr", 0.1);
        Path file = folder.resolve("objects.croft");
        Checkpoint.save(file, Map.of("path", path, "color", color, "point", point, "options", options));
        assertThat(Invocation.of("inspect", file).out()).contains("path: PosixPath /a\n", "color: Color(1)\n",
                "point: Point(1, \"b\")\n", "options: Options of 1");
    }

    @Test
    void patternsChooseTensors() throws IOException {
        JsonNode json = Invocation.of("inspect", "--json", "--only", "model/**/mlp.*.bias", "--only", "**/lm_head.*",
                TRAINING).json();
        assertThat(names(json)).isEmpty();

        json = Invocation.of("inspect", "--json", "--only", "model/*.mlp.*.bias", "--only", Invocation.HEAD, TRAINING)
                .json();
        assertThat(names(json)).containsExactly("model/transformer.h.0.mlp.c_fc.bias",
                "model/transformer.h.0.mlp.c_proj.bias", "model/transformer.h.1.mlp.c_fc.bias",
                "model/transformer.h.1.mlp.c_proj.bias", Invocation.HEAD);
        assertThat(json.get("storages")).hasSize(5);
        Invocation none = Invocation.of("inspect", "--only", "no/such/*", TRAINING);
        assertThat(none.code()).isEqualTo(2);
        assertThat(none.err()).hasLineCount(1).contains("no/such/*");
    }

    @Test
    void tensorsAreSortedByNameSizeOrDtype() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("b", Tensor.zeros(DType.FLOAT64, 2));
        state.put("c", Tensor.zeros(DType.BFLOAT16, 3));
        state.put("a", Tensor.zeros(DType.FLOAT64, 1));
        state.put("endless", Tensor.zeros(DType.FLOAT64, 1).expand(1L << 61));
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);

        assertThat(names(Invocation.of("inspect --json", file).json())).containsExactly("b", "c", "a", "endless");
        assertThat(names(Invocation.of("inspect --json --sort name", file).json())).containsExactly("a", "b", "c",
                "endless");
        assertThat(names(Invocation.of("inspect --json --sort size", file).json())).containsExactly("endless", "b",
                "a", "c");
        assertThat(names(Invocation.of("inspect --json --sort dtype", file).json())).containsExactly("c", "b", "a",
                "endless");
        assertThat(Invocation.of("inspect --sort size", file).out()).contains("\nendless", "8.0 EiB");
        assertThat(Invocation.of("inspect --sort color", file).err())
                .contains("by name, size or dtype, not by 'color'");
    }

    @Test
    void bytesThatStoragesShareOnTheDiskAreCountedOnce() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a", Tensor.arange(DType.INT64, 1 << 18));
        state.put("same", Tensor.arange(DType.INT64, 1 << 18));
        state.put("zeros", Tensor.zeros(DType.INT64, 1 << 18));
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);

        JsonNode json = Invocation.of("inspect --json", file).json();
        assertThat(json.at("/nbytes/tensors").asLong()).isEqualTo(3L << 21);
        assertThat(json.at("/nbytes/storages").asLong()).isEqualTo(3L << 21);
        assertThat(json.at("/nbytes/disk").asLong()).isEqualTo(1L << 21);
        assertThat(json.at("/storages/1/disk_nbytes").asLong()).isEqualTo(1L << 21);
        assertThat(json.at("/storages/2/disk_nbytes").asLong()).isZero();
        Path thin = folder.resolve("thin.croft");
        Invocation.of("convert", file, thin, "--base", file);
        assertThat(Invocation.of("inspect --json", thin).json().at("/nbytes/disk").asLong()).isEqualTo(1L << 21);
    }

    @Test
    void compressedBytesCountAsStored() throws IOException {
        Path file = folder.resolve("coded.croft");
        Checkpoint.save(file, Map.of("w", Tensor.arange(DType.INT64, 1 << 18)),
                SaveOptions.defaults().compress(SaveOptions.Compression.ALONE));

        JsonNode json = Invocation.of("inspect --json", file).json();

        long disk = json.at("/nbytes/disk").asLong();
        assertThat(disk).isBetween(1L, 1L << 20);
        assertThat(json.at("/storages/0/disk_nbytes").asLong()).isEqualTo(disk);
        assertThat(json.at("/storages/0/nbytes").asLong()).isEqualTo(1L << 21);
        assertThat(Invocation.of("inspect", file).out())
                .contains("storages  1, 2.0 MiB, " + Text.bytes(disk) + " on disk\n");
    }

    @Test
    void sizesOnTheDiskAreLeftOutWhereTheyAreNotKnown() throws IOException {
        Path file = Invocation.FIXTURES.resolve("numpy/deflated.npz");
        assertThat(Invocation.of("inspect --json", file).json().at("/nbytes/disk").isNull()).isTrue();
        assertThat(Invocation.of("inspect", file).out()).doesNotContain("on disk");
    }

    private static List<String> names(JsonNode json) {
        List<String> names = new ArrayList<>();
        json.path("tensors").forEach(tensor -> names.add(tensor.get("name").asText()));
        return names;
    }

    @Test
    void storagesWithoutTensorsAreListed() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("bytes", Storage.copyOf(new byte[7]));
        state.put("w", Tensor.of(1f, 2f));
        Path file = folder.resolve("storages.croft");
        Checkpoint.save(file, state);
        List<Long> sizes = new ArrayList<>();
        Invocation.of("inspect", "--json", file).json().get("storages")
                .forEach(storage -> sizes.add(storage.get("nbytes").asLong()));
        assertThat(sizes).containsExactly(7L, 8L);
    }

    @Test
    void withoutHashNoDigestIsPrinted() {
        assertThat(Invocation.of("inspect", "--json", TRAINING).out()).doesNotContain("sha256");
    }

    @Test
    void theOrderOfFieldsIsThatOfTheContract() throws IOException {
        JsonNode json = Invocation.of("inspect", "--json", "--hash", torch("views.pt")).json();

        assertThat(json.fieldNames()).toIterable().containsExactly("format", "nbytes", "storages", "tensors",
                "state", "metadata");
        assertThat(json.get("storages").get(0).fieldNames()).toIterable().containsExactly("id", "nbytes",
                "disk_nbytes", "device", "sha256");
        assertThat(json.get("tensors").get(0).fieldNames()).toIterable().containsExactly("name", "dtype", "shape",
                "stride",
                "offset", "storage", "requires_grad", "sha256");
    }

    @Test
    void lazyNegationIsShownOnlyWhereItIs() throws IOException {
        JsonNode json = Invocation.of("inspect", "--json", torch("neg.pt")).json();

        List<Boolean> negated = new ArrayList<>();
        json.get("tensors").forEach(tensor -> negated.add(tensor.has("neg") && tensor.get("neg").asBoolean()));
        assertThat(negated).contains(true);
        assertThat(Invocation.of("inspect", "--json", torch("views.pt")).out()).doesNotContain("\"neg\"")
                .doesNotContain("\"conj\"");
    }

    @Test
    void aMetaStorageHasNoDigest() throws IOException {
        JsonNode json = Invocation.of("inspect", "--json", "--hash", "--map-location", "meta", torch("views.pt"))
                .json();

        assertThat(json.get("storages").get(0).get("device").asText()).isEqualTo("meta");
        assertThat(json.get("storages").get(0).get("sha256").isNull()).isTrue();
        assertThat(json.get("tensors").get(0).get("sha256").isNull()).isTrue();
    }

    @Test
    void aFileSavedOnAnotherDeviceOpensWhereItIsTold() throws IOException {
        Path file = torch("BAD_location_cuda.pt");

        for (String told : new String[]{"cpu", "meta"}) {
            JsonNode json = Invocation.of("inspect", "--json", "--map-location", told, file).json();
            assertThat(json.get("storages").get(0).get("device").asText()).isEqualTo(told);
            assertThat(json.has("saved_from")).isFalse();
        }
    }

    @Test
    void theReportForPeopleShowsWhatSharesAStorage() {
        Invocation shown = Invocation.of("inspect", TRAINING);

        assertThat(shown.code()).isZero();
        assertThat(shown.err()).isEmpty();
        assertThat(shown.out()).contains("format    torch-zip, 1.6 MiB", "tensors   113, 1.7 MiB\n",
                "storages  112, 1.6 MiB, 1.6 MiB on disk\n", "step: 3",
                "config: map of 3: n_embd 64, n_layer 2, vocab_size 512",
                "shares storage with", "        0       0  model/lm_head.weight\n",
                "1 storage is shared by several tensors:",
                """
                          storage 0: 128.0 KiB, 2 tensors of 256.0 KiB, 128.0 KiB on disk
                          ├─ model/transformer.wte.weight  float32  [512, 64]
                          └─ model/lm_head.weight          float32  [512, 64]
                        """);
        assertThat(shown.out().lines()).allSatisfy(line -> assertThat(line.length()).as(line).isLessThanOrEqualTo(110));
    }

    @Test
    void theReportForPeopleShowsStridesAndDigestsWhereAsked() {
        Invocation shown = Invocation.of("inspect", "--hash", torch("views.pt"));

        assertThat(shown.out()).contains("stride [1, 4]  base and 4 more", "5ad8a91ce86568a3…");
    }

    @Test
    void namesThatCommandTheTerminalAreEscaped() throws IOException {
        Path file = folder.resolve("evil.croft");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a\u001b[31m\nb", Tensor.zeros(DType.FLOAT32, 1));
        Checkpoint.save(file, state);

        assertThat(Invocation.of("inspect", file).out()).contains("a\\u{1b}[31m\\u{a}b").doesNotContain("\u001b");
        assertThat(Invocation.of("inspect", "--json", file).json().at("/tensors/0/name").asText())
                .isEqualTo("a\u001b[31m\nb");
    }

    @Test
    void aStateWithoutTensorsIsShownToo() throws IOException {
        Path file = folder.resolve("plain.croft");
        Checkpoint.save(file, Map.of("step", 3));

        assertThat(Invocation.of("inspect", file).out()).contains("tensors   0", "step: 3");
    }

    @Test
    void helpIsPrintedForThoseWhoAskAsOtherProgramsAreAsked() {
        assertThat(Invocation.of("help").out()).isEqualTo(Invocation.of("--help").out()).contains("convert", "inspect");
        assertThat(Invocation.of("help", "convert").out()).isEqualTo(Invocation.of("convert", "--help").out())
                .contains("--part=PATH", "--to-set=SETTING=VALUE");
    }

    private static JsonNode tensor(JsonNode json, String name) {
        for (JsonNode tensor : json.get("tensors")) {
            if (tensor.get("name").asText().equals(name)) {
                return tensor;
            }
        }
        throw new AssertionError("no tensor " + name);
    }

    @Test
    void arraysOfNumPyThatAreNoTensorsAreShown() throws IOException {
        Path file = folder.resolve("a.npz");
        Typed labels = new Typed("numpy.str_", List.of("cat", "dog", "bird", "fish", "ant", "bee"));
        labels.attributes().put("shape", Shape.of(3, 2));
        Typed dates = new Typed("numpy.datetime64", Tensor.of(1L, 2L));
        dates.attributes().put("unit", "ns");
        TypedMap records = new TypedMap("numpy.record");
        records.put("x", Tensor.of(1f, 2f));
        records.put("name", new Typed("numpy.str_", List.of("a", "b")));
        records.attributes().put("dtype", "[('x', '<f4'), ('name', '<U1')]");
        records.attributes().put("shape", Shape.of(2));
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("labels", labels);
        state.put("name", new Typed("numpy.bytes_", "csr"));
        state.put("dates", dates);
        state.put("records", records);
        Checkpoint.save(file, state);

        String text = Invocation.of("inspect", file).out();

        assertThat(text).contains("labels: str_ [3, 2] of \"cat\", \"dog\", \"bird\", \"fish\", …",
                "name: bytes_ of \"csr\"", "dates: datetime64[ns] of tensor int64 [2]",
                "records: record [2] of 2: x, name");
        JsonNode json = Invocation.of("inspect", "--json", file).json();
        assertThat(json.at("/state/labels/$value/4").asText()).isEqualTo("ant");
        assertThat(json.at("/state/labels/$attributes/shape/$shape/1").asInt()).isEqualTo(2);
        assertThat(json.at("/state/dates/$attributes/unit").asText()).isEqualTo("ns");
        assertThat(json.at("/state/records/x/$tensor").asText()).isEqualTo("records/x");
        assertThat(json.get("tensors")).hasSize(2);
    }

    @Test
    void theSumOfHugeSizesIsNotNegative() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 20; i++) {
            state.put("t" + i, Tensor.meta(DType.UINT8, 1L << 59));
        }
        Path file = folder.resolve("huge.pt");
        Checkpoint.save(file, state);

        assertThat(Invocation.of("inspect --json", file).json().at("/nbytes/storages").asLong())
                .isEqualTo(Long.MAX_VALUE);
        assertThat(Invocation.of("inspect", file).out()).contains("storages  20, 8.0 EiB");
    }
}
