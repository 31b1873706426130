package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Archives of `torch.export`: their tensors are read, and their programs are not run.
class ExportArchiveTest {
    private static final Path FIXTURES = Fixtures.PYTORCH.resolve("export");
    private static final String PROGRAM = """
            {"graph_module": {"graph": {"nodes": []}, "signature": {
                "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                    {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                    {"user_input": {"arg": {"as_int": 3}}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}},
             "opset_version": {"aten": 10}, "schema_version": {"major": 8, "minor": 20}}""";
    private static final String WEIGHTS = """
            {"config": {
                "w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": %s},
                "row": {"path_name": "weight_0", "is_param": false, "use_pickle": false, "tensor_meta":
                    {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu",
                     "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 1}, "layout": 7}}}}""";
    private static final String META = """
            {"dtype": 7, "sizes": [{"as_int": 3}], "requires_grad": true, "device": {"type": "cpu", "index": null},
             "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}""";

    @TempDir
    private Path folder;

    // ---- what PyTorch saved ----

    @ParameterizedTest
    @ValueSource(strings = {"program", "pickled", "old"})
    void fixturesAreWhatPyTorchLoads(String name) throws IOException {
        assertIsWhatPyTorchLoads(FIXTURES, name);
    }

    @TestFactory
    Stream<DynamicTest> whatTorchExportSavesIsRead() throws IOException {
        RealPython python = RealPython.with("torch");
        String script;
        try (InputStream source = Objects.requireNonNull(ExportArchiveTest.class.getResourceAsStream("export.py"))) {
            script = new String(source.readAllBytes(), UTF_8);
        }
        List<String> names = python.run(script, folder).lines()
                .filter(line -> Files.exists(folder.resolve(line + ".pt2"))).toList();
        assertThat(names).hasSize(5);
        return names.stream().map(name -> python.test(name, _ -> assertIsWhatPyTorchLoads(folder, name)));
    }

    private static void assertIsWhatPyTorchLoads(Path directory, String name) throws IOException {
        try (Checkpoint c = Checkpoint.open(directory.resolve(name + ".pt2"));
                Checkpoint expected = Checkpoint.open(directory.resolve(name + ".pt"))) {
            assertThat(c.format()).isEqualTo("torch-zip");
            List<?> programs = (List<?>) expected.state();
            List<TypedMap> found = programs.size() == 1
                    ? List.of((TypedMap) c.state())
                    : ((Map<?, ?>) c.state()).values().stream().map(TypedMap.class::cast).toList();
            Sameness.check(programs, found.stream().map(each -> {
                Map<String, Object> both = new LinkedHashMap<>();
                both.put("state", new LinkedHashMap<>(each));
                both.put("constants", each.attributes().getOrDefault("constants", Map.of()));
                return both;
            }).toList());
            assertThat(c.verify().damages()).isEmpty();
            assertThat(c.verify().unverifiedBytes()).isZero();
            assertThat(c.foreignClasses()).isEmpty();
            assertThat(c.unread()).hasSize(2);
            assertThat(c.unread().getFirst().what()).contains("of torch.export", "not run");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"program", "pickled", "old"})
    void aChoiceOfTensorsReadsTheirRecordsOnly(String name) throws IOException {
        Path file = FIXTURES.resolve(name + ".pt2");
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("constants/scale", "row"))) {
            assertThat(c.names()).containsExactly("row", "constants/scale");
            assertThat(c.tensor("constants/scale").toFloatArray()).containsExactly(0.5f, 0.25f, 2);
            assertThat(c.tensor("row").toFloatArray()).containsExactly(4, 5, 6, 7);
            assertThat(((Tensor) ((Map<?, ?>) c.state()).get("steps")).storage().isMeta()).isTrue();
        }
    }

    @Test
    void weightsAreConvertedUnderTheirNames() throws IOException {
        Path out = folder.resolve("out.safetensors");
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("program.pt2"))) {
            assertThat(c.metadata()).containsEntry("torch.export.inputs", "x")
                    .containsEntry("torch.export.schema_version.major", "8");
            Checkpoint.save(out, c.tree(), SaveOptions.defaults().setting("safetensors.sharing", "copy"));
        }
        try (Checkpoint c = Checkpoint.open(out)) {
            assertThat(c.names()).containsExactlyInAnyOrder("fixed", "emb.weight", "head.weight", "head.bias", "steps",
                    "row", "column");
        }
    }

    // ---- what archives may have ----

    private static byte[] floats(ByteOrder order, float... values) {
        ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(order);
        buffer.asFloatBuffer().put(values);
        return buffer.array();
    }

    /// A parameter and a view of it.
    private static Map<String, byte[]> records() {
        Map<String, byte[]> records = new LinkedHashMap<>();
        records.put("data/weights/weight_0", floats(ByteOrder.LITTLE_ENDIAN, 1, 2, 3));
        records.put("data/weights/model_weights_config.json", WEIGHTS.formatted(META).getBytes(UTF_8));
        records.put("data/constants/model_constants_config.json", "{\"config\": {}}".getBytes(UTF_8));
        records.put("models/model.json", PROGRAM.getBytes(UTF_8));
        records.put("archive_format", "pt2".getBytes(UTF_8));
        records.put("archive_version", "0".getBytes(UTF_8));
        records.put("byteorder", "little".getBytes(UTF_8));
        return records;
    }

    private static Map<String, byte[]> with(String name, String text) {
        Map<String, byte[]> records = records();
        records.put(name, text.getBytes(UTF_8));
        return records;
    }

    private Path archive(Map<String, byte[]> records) throws IOException {
        Path path = folder.resolve("made.pt2");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
            for (Map.Entry<String, byte[]> record : records.entrySet()) {
                TorchZips.store(zip, "made/" + record.getKey(), record.getValue());
            }
        }
        return path;
    }

    @Test
    void tensorsOfOnePayloadShareIt() throws IOException {
        try (Checkpoint c = Checkpoint.open(archive(records()))) {
            assertThat(c.tensor("w").toFloatArray()).containsExactly(1, 2, 3);
            assertThat(c.tensor("w").is(Tensor.Flag.REQUIRES_GRAD)).isTrue();
            assertThat(c.tensor("row").toFloatArray()).containsExactly(2, 3);
            assertThat(c.tensor("row").storage()).isSameAs(c.tensor("w").storage());
            assertThat(c.metadata()).containsEntry("torch.export.inputs", "x").containsEntry("torch.export.outputs",
                    "y");
            assertThat(c.unread()).extracting(UnreadPart::what).containsExactly(
                    "a program of torch.export, which is not run: 'made/models/model.json'");
        }
    }

    @Test
    void bytesOfTheOtherOrderAreSwapped() throws IOException {
        Map<String, byte[]> records = with("byteorder", "big");
        records.put("data/weights/weight_0", floats(ByteOrder.BIG_ENDIAN, 1, 2, 3));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.tensor("w").toFloatArray()).containsExactly(1, 2, 3);
            assertThat(c.tensor("row").toFloatArray()).containsExactly(2, 3);
        }
    }

    @Test
    void payloadsThatWereCompressedAreInflatedAndPicklesAreRefused() throws IOException {
        Path path = folder.resolve("deflated.pt2");
        for (boolean isPickled : new boolean[]{false, true}) {
            Map<String, byte[]> records = records();
            if (isPickled) {
                records.put("data/weights/model.pt", Files.readAllBytes(FIXTURES.resolve("program.pt")));
            }
            try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
                for (Map.Entry<String, byte[]> record : records.entrySet()) {
                    zip.putNextEntry(new ZipEntry("made/" + record.getKey()));
                    zip.write(record.getValue());
                }
            }
            if (isPickled) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(path).close())
                        .withMessageContainingAll("model.pt", "compressed", "zip -0");
            } else {
                try (Checkpoint c = Checkpoint.open(path)) {
                    assertThat(c.tensor("w").toFloatArray()).containsExactly(1, 2, 3);
                }
            }
        }
    }

    @Test
    void fakeTensorsHaveNoBytes() throws IOException {
        Map<String, byte[]> records = records();
        records.put("data/weights/weight_0", new byte[0]);
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.tensor("w").storage().isMeta()).isTrue();
            assertThat(c.tensor("w").shape().toArray()).containsExactly(3);
            assertThat(c.tensor("w").dtype()).isEqualTo(DType.FLOAT32);
        }
        String most = "{\"as_int\": 9223372036854775807}";
        records.put("data/weights/model_weights_config.json", WEIGHTS.formatted(META.replace("{\"as_int\": 3}",
                most + ", " + most).replace("{\"as_int\": 1}", "{\"as_int\": 1}, {\"as_int\": 1}")).getBytes(UTF_8));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("w"));
        }
    }

    @Test
    void objectsOfCustomClassesAreListedAndNotBuilt() throws IOException {
        Map<String, byte[]> records = with("data/constants/model_constants_config.json", """
                {"config": {"obj": {"path_name": "custom_obj_0", "is_param": false, "use_pickle": true,
                 "tensor_meta": null}}}""");
        records.put("data/constants/custom_obj_0", "cos\nsystem\n(S'x'\ntR.".getBytes(UTF_8));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.names()).containsExactly("w", "row");
            assertThat(c.unread()).extracting(UnreadPart::what).last()
                    .isEqualTo("1 object of a custom class that the state does not refer to: 'obj'");
        }
    }

    // ---- what is wrong with archives ----

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            "as_int": 3 | "as_int": 4 | does not fit its storage
            "as_int": 3 | "as_int": 9223372036854775807 | does not fit its storage
            "as_int": 0 | "as_int": 1 | does not fit its storage
            "dtype": 7 | "dtype": 99 | the type 99
            "layout": 7 | "layout": 1 | the layout 1
            "as_int": 3 | "as_expr": {"expr_str": "s0"} | a size that is not known
            [{"as_int": 1}] | [] | does not fit its storage
            """)
    void aTensorThatDoesNotFitIsAPlaceholder(String part, String other, String what) throws IOException {
        try (Checkpoint c = Checkpoint.open(archive(with("data/weights/model_weights_config.json",
                WEIGHTS.formatted(META.replace(part, other)))))) {
            assertThat(c.names()).containsExactly("w", "row");
            assertThat(c.tensor("row").toFloatArray()).containsExactly(2, 3);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("w"))
                    .withMessageContaining(what);
        }
    }

    private FormatException refusal(Map<String, byte[]> records) throws IOException {
        Path path = archive(records);
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(path).close());
        assertThat(refusal).isNotNull();
        return refusal;
    }

    @Test
    void recordsThatAreMissingAreNamed() throws IOException {
        for (String name : List.of("data/weights/weight_0", "data/weights/model_weights_config.json",
                "data/constants/model_constants_config.json")) {
            Map<String, byte[]> records = records();
            records.remove(name);
            assertThat(refusal(records)).hasMessageContainingAll("TORCH-EXPORT", name, "is missing");
        }
        Map<String, byte[]> records = records();
        records.remove("models/model.json");
        records.put("data/aotinductor/model/code.so", new byte[4]);
        assertThat(refusal(records)).hasMessageContainingAll("compiled code", "torch.export.save");
    }

    @Test
    void payloadsOutsideTheirDirectoryAreRefused() throws IOException {
        for (String path : List.of("../weight_0", "/etc/passwd", "../weights/weight_0", "")) {
            assertThat(refusal(with("data/weights/model_weights_config.json",
                    WEIGHTS.formatted(META).replace("weight_0", path))).code()).isEqualTo("TORCH-EXPORT");
        }
        Map<String, byte[]> records = with("data/weights/model_weights_config.json",
                WEIGHTS.formatted(META).replace("weight_0", "../weight_0"));
        records.put("data/weights/../weight_0", new byte[12]);
        assertThat(refusal(records).code()).isEqualTo("TORCH-STORAGE");
    }

    @Test
    void jsonThatIsMalformedOrHostileIsRefused() throws IOException {
        List<Map<String, byte[]>> archives = new ArrayList<>();
        archives.add(with("models/model.json", "{\"graph_module\": " + "[".repeat(500_000)));
        archives.add(with("models/model.json", "{\"opset_version\": {\"aten\": }}"));
        archives.add(with("data/weights/model_weights_config.json", "{\"config\": []}"));
        archives.add(with("data/weights/model_weights_config.json", "{\"config\": {\"w\": " + "{".repeat(500_000)));
        archives.add(with("data/weights/model_weights_config.json",
                WEIGHTS.formatted(META.replace("\"as_int\": 3", "\"as_int\": -3"))));
        for (Map<String, byte[]> records : archives) {
            assertThat(refusal(records).code()).isEqualTo("JSON");
        }
        assertThat(refusal(with("data/weights/model_weights_config.json",
                WEIGHTS.formatted(META).replace("\"row\"", "\"w\"")))).hasMessageContaining("described twice");
        assertThat(refusal(with("data/weights/model.pt", "no archive")).code()).isEqualTo("ZIP-END");
        // A JSON that is fine, and whose tensors take far more than it has bytes.
        String unknown = ":{\"path_name\":\"weight_0\",\"tensor_meta\":" + META.replace("\"dtype\": 7", "\"dtype\": 99")
                + "}";
        StringBuilder many = new StringBuilder("{\"config\": {\"a\"" + unknown);
        for (int i = 0; i < 5_000; i++) {
            many.append(",\"").append(i).append('"').append(unknown);
        }
        assertThat(refusal(with("data/weights/model_weights_config.json", many + "}}")).code())
                .isEqualTo("COST-MEMORY");
    }
}
