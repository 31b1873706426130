package io.undercroft.cli;

import static io.undercroft.cli.Invocation.HEAD;
import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExtractTest {
    @TempDir
    Path folder;

    @Test
    void aTensorIsPrintedAsPyTorchPrintsIt() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(TRAINING)) {
            Tensor head = checkpoint.tensor(HEAD);
            assertThat(Invocation.of("extract", TRAINING, HEAD).out()).isEqualTo(head + "\n").contains("...");
            assertThat(Invocation.of("extract", TRAINING, HEAD, "--rows", "510:").out())
                    .isEqualTo(head.narrow(0, 510, 2) + "\n");
            assertThat(Invocation.of("extract", TRAINING, HEAD, "--rows", "-2:-1", "--dtype", "float64").out())
                    .isEqualTo(head.narrow(0, 510, 1).to(DType.FLOAT64) + "\n");
        }
    }

    @Test
    void ofCompressedChunksOnlyThoseWithTheRowsAreDecoded() throws IOException {
        Path compressed = folder.resolve("compressed.croft");
        Invocation.of("convert", TRAINING, compressed, "--compress", "alone", "--chunk", "64K");
        Extent last;
        try (Checkpoint checkpoint = Checkpoint.open(compressed)) {
            last = checkpoint.extents(checkpoint.tensor(HEAD).storage()).getLast();
        }
        assertThat(last.isCompressed()).isTrue();
        byte[] damaged = Files.readAllBytes(compressed);
        damaged[(int) (last.offset() + last.stored() / 2)] ^= 1;
        Files.write(compressed, damaged);

        assertThat(Invocation.of("extract", compressed, HEAD, "--rows", ":2").out())
                .isEqualTo(Invocation.of("extract", TRAINING, HEAD, "--rows", ":2").out());
        assertThat(Invocation.of("extract", compressed, HEAD, "--rows", "510:").code()).isNotZero();
    }

    @Test
    void aTensorAndItsRowsAreWrittenAsNpy() throws IOException {
        Path out = folder.resolve("out.npy");
        Path rows = folder.resolve("rows.NPY");
        Invocation written = Invocation.of("extract", TRAINING, HEAD, "-o", out);
        assertThat(written.out()).isEqualTo("%s: %s, float32 [512, 64] -> %s (128.1 KiB)\n".formatted(TRAINING, HEAD,
                out));
        assertThat(Invocation.of("extract", TRAINING, HEAD, "--rows", "3:5", "-o", rows).code()).isZero();

        try (Checkpoint checkpoint = Checkpoint.open(TRAINING);
                Checkpoint all = Checkpoint.open(out);
                Checkpoint part = Checkpoint.open(rows)) {
            Tensor head = checkpoint.tensor(HEAD);
            assertThat(all.tensor("").contentEquals(head)).isTrue();
            assertThat(part.tensor("").contentEquals(head.narrow(0, 3, 2))).isTrue();
        }
        assertThat(Invocation.of("extract", out, "", "--rows", ":1").code()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"all-types.onnx, float", "all-types.onnx, float_raw", "external.onnx, a"})
    void anInitializerOfOnnxAndItsRowsAreExtractedWhereverItsBytesAre(String name, String initializer)
            throws IOException {
        Path model = Invocation.FIXTURES.resolve("onnx").resolve(name);
        Tensor expected = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        assertThat(Invocation.of("extract", model, initializer).out()).isEqualTo(expected + "\n");
        assertThat(Invocation.of("extract", model, initializer, "--rows", "1:").out())
                .isEqualTo(expected.narrow(0, 1, 1) + "\n");
        Path out = folder.resolve("out.npy");
        assertThat(Invocation.of("extract", model, initializer, "--rows", ":1", "-o", out).code()).isZero();
        try (Checkpoint npy = Checkpoint.open(out)) {
            assertThat(npy.tensor("").contentEquals(expected.narrow(0, 0, 1))).isTrue();
        }
    }

    @Test
    void viewsAreWrittenInTheirOwnOrder() throws IOException {
        for (String name : new String[]{"T", "col2", "step2", "slice_off"}) {
            Path out = folder.resolve(name + ".npy");
            assertThat(Invocation.of("extract", torch("views.pt"), name, "-o", out).code()).isZero();
            try (Checkpoint checkpoint = Checkpoint.open(torch("views.pt")); Checkpoint npy = Checkpoint.open(out)) {
                assertThat(npy.tensor("").equal(checkpoint.tensor(name))).as(name).isTrue();
            }
        }
    }

    @Test
    void typesThatNumPyDoesNotHaveAreConvertedOnRequest() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, -2.5f).to(DType.BFLOAT16)));
        Path out = folder.resolve("w.npy");

        Invocation refused = Invocation.of("extract", file, "w", "-o", out);
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("NumPy has no elements of type bfloat16", "float32");
        assertThat(folder).isDirectoryNotContaining("glob:**.npy");
        assertThat(Invocation.of("extract", file, "w", "-o", out, "--dtype", "float32").code()).isZero();
        try (Checkpoint npy = Checkpoint.open(out)) {
            assertThat(npy.tensor("").toFloatArray()).containsExactly(1f, -2.5f);
        }
    }

    @Test
    void elementsAreJson() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("f", Tensor.of(1.5f, Float.NaN, Float.NEGATIVE_INFINITY));
        state.put("u", Tensor.of(-1L, 7L).view(DType.UINT64));
        state.put("b", Tensor.of(true, false));
        state.put("c", Tensor.of(new Complex(1, -2)).conj());
        state.put("m", Tensor.of(new long[]{1, 2, 3, 4, 5, 6}, 3, 2).t());
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);

        assertThat(values(file, "f")).isEqualTo("[1.5,{\"$float\":\"nan\"},{\"$float\":\"-inf\"}]");
        assertThat(values(file, "u")).isEqualTo("[18446744073709551615,7]");
        assertThat(values(file, "b")).isEqualTo("[true,false]");
        assertThat(values(file, "c")).isEqualTo("[{\"$complex\":[1.0,2.0]}]");
        JsonNode json = Invocation.of("extract --json", file, "m", "--rows", "1:").json();
        assertThat(json.fieldNames()).toIterable().containsExactly("name", "dtype", "shape", "first_row", "values");
        assertThat(json).hasToString(
                "{\"name\":\"m\",\"dtype\":\"int64\",\"shape\":[1,3],\"first_row\":1,\"values\":[2,4,6]}");
    }

    private static String values(Path file, String name) throws IOException {
        return Invocation.of("extract --json", file, name).json().get("values").toString();
    }

    @Test
    void jsonOfTooManyElementsIsRefused() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("endless", Tensor.zeros(DType.FLOAT32, 1).expand(1L << 50), "bits",
                Tensor.zeros(DType.BITS8, 3)));

        Invocation json = Invocation.of("extract --json", file, "endless");
        assertThat(json.code()).isEqualTo(2);
        assertThat(json.err()).hasLineCount(1).contains("at most 1,048,576 elements", "--rows");
        assertThat(Invocation.of("extract --json", file, "bits").err()).contains("have no numbers");
        assertThat(Invocation.of("extract", file, "endless").out()).contains("[0., 0., 0.,  ..., 0., 0., 0.]");
    }

    @ParameterizedTest
    @CsvSource({"5:4, its rows are 0:512", "0:513, its rows are 0:512", "-513:, its rows are 0:512", "7, is no range",
            "a:b, is no range", "99999999999999999999:, is no range"})
    void rangesThatTheTensorDoesNotHaveAreRefused(String rows, String why) {
        Invocation refused = Invocation.of("extract", TRAINING, HEAD, "--rows", rows);

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).startsWith("croft: " + TRAINING + ": --rows").contains(why);
    }

    @Test
    void damagedElementsAreNotPrinted() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("w", Tensor.arange(DType.FLOAT32, 1000)));
        byte[] bytes = Files.readAllBytes(file);
        bytes[1024 + 40] ^= 1;
        Files.write(file, bytes);
        for (Invocation refused : new Invocation[]{Invocation.of("extract", file, "w"),
                Invocation.of("extract --json", file, "w", "--rows", "5:6"),
                Invocation.of("extract", file, "w", "-o", folder.resolve("w.npy"))}) {
            assertThat(refused.code()).isEqualTo(4);
            assertThat(refused.out()).isEmpty();
            assertThat(refused.err()).hasLineCount(1).contains("V14");
        }
        assertThat(folder.resolve("w.npy")).doesNotExist();
    }

    @Test
    void tensorsWithoutBytesAreRefusedAndThoseOfOtherDevicesArePrinted() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("m", Tensor.meta(DType.FLOAT32, 2)));
        Invocation refused = Invocation.of("extract", file, "m");
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("on the device meta");
        assertThat(Invocation.of("extract", file, "m", "-o", folder.resolve("m.npy")).code()).isEqualTo(2);
        Path cuda = torch("BAD_location_cuda.pt");
        try (Checkpoint checkpoint = Checkpoint.open(cuda, OpenOptions.defaults().device(Device.CPU))) {
            String name = checkpoint.names().getFirst();
            assertThat(Invocation.of("extract", cuda, name).out()).isEqualTo(checkpoint.tensor(name) + "\n");
        }
    }

    @Test
    void valuesThatAreNoTensorsArePrinted() throws IOException {
        assertThat(Invocation.of("extract", TRAINING, "step").out()).isEqualTo("3\n");
        assertThat(Invocation.of("extract", TRAINING, "optimizer/param_groups/0/lr").out()).isEqualTo("0.001\n");
        assertThat(Invocation.of("extract", TRAINING, "optimizer/param_groups/0/foreach").out()).isEqualTo("none\n");
        assertThat(Invocation.of("extract", TRAINING, "config").out())
                .isEqualTo("{\"n_embd\":64,\"n_layer\":2,\"vocab_size\":512}\n");
        assertThat(Invocation.of("extract --json", TRAINING, "optimizer/param_groups/0/betas").json())
                .hasToString("{\"name\":\"optimizer/param_groups/0/betas\",\"value\":{\"$tuple\":[0.9,0.999]}}");
        Path gguf = Invocation.FIXTURES.resolve("gguf/all.gguf");
        assertThat(Invocation.of("extract", gguf, "general.architecture").out()).isEqualTo("test\n");
        assertThat(
                Invocation.of("extract", Invocation.FIXTURES.resolve("safetensors/tied.safetensors"), "format").out())
                .isEqualTo("pt\n");
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("text", "one\ntwo\u001b[31m", "bytes", new byte[]{1}, "empty", "", "deep",
                Map.of("w", Tensor.of(1f))));
        assertThat(Invocation.of("extract", file, "text").out()).isEqualTo("one\ntwo\\u{1b}[31m\n");
        assertThat(Invocation.of("extract", file, "empty").out()).isEqualTo("\n");
        assertThat(Invocation.of("extract", file, "bytes").out()).isEqualTo("{\"$bytes\":\"AQ==\"}\n");
        assertThat(Invocation.of("extract", file, "deep").out()).isEqualTo("{\"w\":{\"$tensor\":\"deep/w\"}}\n");
    }

    @Test
    void blocksOfNumbersArePrintedAndWrittenAsNumbers() throws IOException {
        Path gguf = Invocation.FIXTURES.resolve("gguf/quantized.gguf");
        try (Checkpoint checkpoint = Checkpoint.open(gguf)) {
            Tensor numbers = checkpoint.tensor("Q5_K").to(DType.FLOAT32);
            assertThat(Invocation.of("extract", gguf, "Q5_K").out()).isEqualTo(numbers + "\n");
            assertThat(Invocation.of("extract --rows 1:2", gguf, "Q5_K").out())
                    .isEqualTo(numbers.narrow(0, 1, 1) + "\n");
            JsonNode json = Invocation.of("extract --json --rows 3:", gguf, "Q5_K").json();
            assertThat(json.get("dtype").asText()).isEqualTo("float32");
            assertThat(json.get("shape").toString()).isEqualTo("[1,512]");
            assertThat(json.get("values")).hasSize(512);
            Path out = folder.resolve("q.npy");
            assertThat(Invocation.of("extract --dtype float16 --rows 0:2", gguf, "Q5_K", "-o", out).out())
                    .contains("Q5_K, float16 [2, 512]");
            try (Checkpoint written = Checkpoint.open(out)) {
                assertThat(written.tensor("").contentEquals(numbers.narrow(0, 0, 2).to(DType.FLOAT16))).isTrue();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"--rows,1:2", "--dtype,float32"})
    void whatIsForTensorsIsRefusedForOtherValues(String option, String value) {
        Invocation refused = Invocation.of("extract", TRAINING, "step", option, folder.resolve(value));
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains(option + " is for tensors, and 'step' is none: 3");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aValueIsWrittenToAFile() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("text", "one\ntwo\u001bé", "step", 3, "betas", List.of(0.9, 0.99)));
        Path out = folder.resolve("out.txt");

        Invocation text = Invocation.of("extract", file, "text", "-o", out);
        assertThat(text.out()).isEqualTo("%s: text -> %s (10 B)\n".formatted(file, out));
        assertThat(out).usingCharset(StandardCharsets.UTF_8).hasContent("one\ntwo\u001bé");
        assertThat(Invocation.of("extract", file, "step", "-o", out).code()).isZero();
        assertThat(out).hasContent("3\n");
        assertThat(Invocation.of("extract", file, "betas", "-o", out).code()).isZero();
        assertThat(out).hasContent("[0.9,0.99]\n");
        JsonNode json = Invocation.of("extract --json", file, "text", "-o", out).json();
        assertThat(out).hasContent("\"one\\ntwo\\u001B\\u00E9\"\n");
        assertThat(json.get("target").asText()).isEqualTo(out.toString());
        assertThat(json.get("nbytes").asLong()).isEqualTo(Files.size(out));
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.croft", "thin.croft", "link", "other.pt", "value.npy", "nowhere/value.txt"})
    void aValueReplacesNoFileOfTensors(String name) throws IOException {
        Path file = folder.resolve("model.croft");
        Path thin = folder.resolve("thin.croft");
        Checkpoint.save(file, Map.of("step", 3, "w", Tensor.arange(DType.INT32, 100_000)));
        Files.createSymbolicLink(folder.resolve("link"), file);
        Files.copy(TRAINING, folder.resolve("other.pt"));
        assertThat(Invocation.of("convert", file, thin, "--base", file).code()).isZero();
        byte[] before = Files.readAllBytes(file);

        Invocation refused = Invocation.of("extract", thin, "step", "-o", folder.resolve(name), "--root", folder);

        assertThat(refused.code()).as(refused.err()).isEqualTo(name.startsWith("nowhere") ? 1 : 2);
        assertThat(refused.err()).hasLineCount(1);
        assertThat(file).hasBinaryContent(before);
        assertThat(folder.resolve("other.pt")).hasSameBinaryContentAs(TRAINING);
    }

    @Test
    void aPartOfANameGetsTheNamesThatContainIt() {
        for (String command : List.of("inspect --only wte FILE", "diff --only wte FILE FILE",
                "convert --part wte FILE OUT")) {
            assertThat(Invocation.of(Arrays.stream(command.split(" ")).map(word -> switch (word) {
                case "FILE" -> TRAINING;
                case "OUT" -> folder.resolve("out.npz");
                default -> word;
            }).toArray()).err()).as(command).contains("contain", "'model/transformer.wte.weight'");
        }
        assertThat(Invocation.of("extract", TRAINING, "wte").err()).hasLineCount(1)
                .contains("no tensor or value 'wte'; one name contains it: 'model/transformer.wte.weight'");
    }

    @Test
    void aMisspeltNameGetsTheNearestOne() {
        Invocation refused = Invocation.of("extract", TRAINING, "model/lm_haed.weight");
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).contains("did you mean 'model/lm_head.weight'?");
    }

    @Test
    void theFileThatIsReadIsNotReplacedByAPartOfIt() throws IOException {
        Path file = folder.resolve("a.npy");
        Checkpoint.save(file, Tensor.arange(DType.INT32, 10));
        byte[] before = Files.readAllBytes(file);

        Invocation refused = Invocation.of("extract", file, "", "--rows", "0:1", "-o", file);

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("source and target are the same file");
        assertThat(file).hasBinaryContent(before);
    }

    @Test
    void theWrittenFileIsReportedAsJson() throws IOException {
        Path target = folder.resolve("w.npy");

        JsonNode json = Invocation.of("extract --json", TRAINING, HEAD, "--rows", "3:5", "--dtype", "float64", "-o",
                target).json();

        assertThat(json.fieldNames()).toIterable().containsExactly("source", "format", "name", "dtype", "shape",
                "first_row", "target", "nbytes");
        assertThat(json.get("dtype").asText()).isEqualTo("float64");
        assertThat(json.get("shape")).hasToString("[2,64]");
        assertThat(json.get("first_row").asInt()).isEqualTo(3);
        assertThat(json.get("target").asText()).isEqualTo(target.toString());
        assertThat(json.get("nbytes").asLong()).isEqualTo(Files.size(target));
    }

    @Test
    void onlyTheElementsThatArePrintedAreConverted() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("endless", Tensor.of(1.5f, 2.5f, 3.5f).expand(1L << 50, 3)));

        Invocation printed = Invocation.of("extract", file, "endless", "--dtype", "float64");
        Invocation json = Invocation.of("extract --json", file, "endless", "--dtype", "float64");

        assertThat(printed.err()).isEmpty();
        assertThat(printed.out()).contains("[1.5000, 2.5000, 3.5000],\n        ...,", "dtype=torch.float64");
        assertThat(json.code()).isEqualTo(2);
        assertThat(json.err()).hasLineCount(1).contains("at most 1,048,576 elements");
    }

    @Test
    void aTensorThatRepeatsElementsWithoutEndIsNotWritten() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("endless", Tensor.of(1.5f).expand(1L << 50)));
        Path target = folder.resolve("w.npy");

        for (Invocation refused : new Invocation[]{Invocation.of("extract", file, "endless", "-o", target),
                Invocation.of("extract", file, "endless", "--dtype", "float64", "-o", target)}) {
            assertThat(refused.code()).isEqualTo(2);
            assertThat(refused.err()).hasLineCount(1)
                    .contains("has 4.0 PiB, which is out of proportion to what the file stores", "--rows");
        }
        assertThat(Invocation.of("extract", file, "endless", "--rows", ":5", "-o", target).code()).isZero();
    }

    @Test
    void aConversionThatIsNotPossibleIsRefused() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("bits", Tensor.zeros(DType.BITS8, 3)));

        for (Object[] how : new Object[][]{{}, {"--json"}, {"-o", folder.resolve("w.npy")}}) {
            Invocation refused = Invocation.of(Stream.concat(Stream.of("extract", file, "bits", "--dtype", "int8"),
                    Stream.of(how)).toArray());
            assertThat(refused.code()).isEqualTo(2);
            assertThat(refused.err()).hasLineCount(1).contains("--dtype: bits8 cannot be converted to int8");
        }
    }
}
