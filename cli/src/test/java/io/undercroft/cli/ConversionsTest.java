package io.undercroft.cli;

import static io.undercroft.cli.Invocation.FIXTURES;
import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static io.undercroft.cli.internal.PickledModules.module;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// From one format into another: what is taken, what is told to either, and what is said of what was lost.
class ConversionsTest {
    private static final Path MODEL = FIXTURES.resolve("models/tiny-gpt2.pt");
    private static final Path TIED = FIXTURES.resolve("safetensors/tied.safetensors");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"croft", "pt", "safetensors", "npz", "gguf"})
    void numbersAreConvertedToADtype(String suffix) throws IOException {
        Path gguf = FIXTURES.resolve("gguf/quantized.gguf");
        Path out = folder.resolve("numbers." + suffix);
        assertThat(Invocation.of("convert --dtype float16", gguf, out).code()).isZero();
        try (Checkpoint source = Checkpoint.open(gguf); Checkpoint saved = Checkpoint.open(out)) {
            assertThat(saved.names()).hasSize(26);
            for (String name : saved.names()) {
                assertThat(saved.tensor(name).contentEquals(source.tensor(name).to(DType.FLOAT16))).as(name).isTrue();
            }
        }
        assertThat(Invocation.of("convert --dtype bfloat16", MODEL, out).code())
                .isEqualTo(suffix.equals("npz") ? 2 : 0);
        Invocation refused = Invocation.of("convert --dtype int8", MODEL, out);
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).contains("int8");
        assertThat(Invocation.of("convert --dtype flaot32", MODEL, out).err()).contains("there is no type");
    }

    @Test
    void aGgufFileThatLlamaDoesNotLoadIsReported() {
        assertThat(Invocation.of("convert", FIXTURES.resolve("gguf/all.gguf"), folder.resolve("a.gguf")).err())
                .doesNotContain("general.architecture");
        assertThat(Invocation.of("convert", MODEL, folder.resolve("b.gguf")).err())
                .contains("llama.cpp do not load it, as it has no metadata general.architecture");
    }

    // ---- what is left out

    @Test
    void bytesThatNoTensorReachesAreToldWithTheOptionThatKeepsThem() throws IOException {
        Path source = folder.resolve("large.pt");
        Checkpoint.save(source, Map.of("w", Tensor.zeros(DType.FLOAT32, 1 << 20).narrow(0, 0, 10)));
        Path small = folder.resolve("small.croft");
        long leftOut = (4 << 20) - (1 << 20);

        assertThat(Invocation.of("convert", source, small).out())
                .contains("; left out 3.0 MiB (" + leftOut
                        + " bytes) that no tensor reaches, which --whole-storages keeps");
        assertThat(Invocation.of("append", small, source).out()).contains("that no tensor reaches");
        assertThat(Invocation.of("convert", source, "-").err()).contains("that no tensor reaches");
        assertThat(Invocation.of("convert", source, folder.resolve("a.npz")).err())
                .contains("4.0 MiB of storages that no tensor reaches");
        assertThat(Invocation.of("convert", source, small, "--whole-storages").out()).doesNotContain("left out");
        assertThat(Invocation.of("convert", source, folder.resolve("a.pt")).err()).isEmpty();
    }

    @Test
    void aFileThatTorchLoadRefusesAsWeightsIsTold() throws IOException {
        Path source = folder.resolve("a.croft");
        Checkpoint.save(source, Map.of("t", Tuple.of(new Typed("builtins.frozenset", Set.of(1L)))));

        assertThat(Invocation.of("convert", source, folder.resolve("a.pt")).err())
                .contains("torch.load refuses it with weights_only=True, as it holds builtins.frozenset");
    }

    @Test
    void theNamesThatLoadFileReturnsAreCountedAtAllPlacesOfAMap() throws IOException {
        Path source = folder.resolve("twice.croft");
        Map<String, Tensor> model = Map.of("weight", Tensor.of(1f, 2f));
        Checkpoint.save(source, Map.of("model", model, "ema", model));

        assertThat(Invocation.of("convert", source, folder.resolve("twice.safetensors")).err())
                .contains("load_file returns 1 of 2 names");
        assertThat(Invocation.of("convert", source, folder.resolve("twice.npz")).err())
                .contains("2 tensors that share storages were each written for themselves");
    }

    @Test
    void listsThatBecomeTablesOfLuaAreTold() throws IOException {
        Path source = folder.resolve("lists.croft");
        Checkpoint.save(source, Map.of("layers", List.of(Tensor.of(1f), Tensor.of(2f))));

        assertThat(Invocation.of("convert", source, folder.resolve("lists.t7")).err())
                .contains("1 list was written as tables of Lua, whose keys count from 1", "the first is layers");
        Checkpoint.save(source, List.of(Tensor.of(1f)));
        assertThat(Invocation.of("convert", source, folder.resolve("lists.t7")).err())
                .contains("1 list was written as tables").doesNotContain("the first is");
    }

    // ---- a part of the state

    @Test
    void theModelOfATrainingCheckpointBecomesSafetensorsWithItsTies() throws IOException {
        Path model = folder.resolve("model.safetensors");

        Invocation converted = Invocation.of("convert", TRAINING, model, "--part", "model");

        assertThat(converted.err()).hasLineCount(1).contains("safetensors.torch.load_file returns ",
                "as only the metadata has lm_head.weight; --to-set safetensors.sharing=copy writes every name");
        Invocation copies = Invocation.of("convert", TRAINING, folder.resolve("copies.safetensors"), "--part", "model",
                "--to-set", "safetensors.sharing=copy");
        assertThat(copies.err()).contains("written for themselves").doesNotContain("load_file");
        assertThat(converted.out()).contains(" -> " + model);
        try (Checkpoint source = Checkpoint.open(TRAINING); Checkpoint part = Checkpoint.open(model)) {
            assertThat(part.names()).hasSameSizeAs(
                    source.names().stream().filter(name -> name.startsWith("model/")).toList());
            assertThat(part.tensor("lm_head.weight").storage())
                    .isSameAs(part.tensor("transformer.wte.weight").storage());
            assertThat(part.tensor("lm_head.weight").toFloatArray())
                    .isEqualTo(source.tensor(Invocation.HEAD).toFloatArray());
            assertThat(converted.out()).contains(
                    part.names().size() + " tensors on " + part.storages().size() + " storages");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"croft", "pt", "npz", "gguf", "t7"})
    void everyFormatTakesAPart(String suffix) throws IOException {
        Path model = folder.resolve("model." + suffix);

        assertThat(Invocation.of("convert", TRAINING, model, "--part", "model").code()).isZero();

        assertThat(tensors(model)).isNotEmpty().allMatch(name -> !name.contains("/"))
                .contains("transformer.wte.weight");
    }

    @Test
    void aPartMayBeATensor() throws IOException {
        Path array = folder.resolve("head.npy");

        assertThat(Invocation.of("convert", TRAINING, array, "--part", Invocation.HEAD).err()).isEmpty();

        assertThat(json(array).at("/tensors/0/shape")).isEqualTo(tensor(TRAINING, Invocation.HEAD).get("shape"));
    }

    @Test
    void aPartMayStandInAList() throws IOException {
        Path group = folder.resolve("group.croft");

        assertThat(Invocation.of("convert", TRAINING, group, "--part", "optimizer/param_groups/0").code()).isZero();

        assertThat(json(group).at("/state/lr").isNumber()).isTrue();
    }

    @Test
    void ofAPartThatIsNotThereTheNearestAreNamed() {
        Path out = folder.resolve("o.safetensors");

        assertOneLine(Invocation.of("convert", TRAINING, out, "--part", "modle"), "'modle'", "the state has 'model'");
        assertOneLine(Invocation.of("convert", TRAINING, out, "--part", "model/lm_head.wieght"),
                "'model' has 'lm_head.weight', ", " more");
        assertOneLine(Invocation.of("convert", TRAINING, out, "--part", Invocation.HEAD + "/0"), "has no parts");
        assertThat(out).doesNotExist();
    }

    @Test
    void aStateThatAFormatCannotHoldLeadsToItsParts() {
        Path out = folder.resolve("o.safetensors");

        assertOneLine(Invocation.of("convert", TRAINING, out), "safetensors",
                "Take a part of the state with --part, for instance --part model");

        assertThat(out).doesNotExist();
    }

    /// A file of `torch.save(net)`.
    private Path saved(String name, Object state) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, state, SaveOptions.defaults().setting("torch.objects", "write"));
        return file;
    }

    @Test
    void aModuleIsWrittenAsItsStateDict() throws IOException {
        Tensor weight = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        Path source = saved("net.pt", module(Map.of(), Map.of("fc1", module(Map.of("weight", weight), Map.of()))));
        for (String name : List.of("net.safetensors", "net.npz", "net.gguf")) {
            Path out = folder.resolve(name);
            Invocation converted = Invocation.of("convert", source, out);
            assertThat(converted.code()).as(converted.err()).isZero();
            assertThat(converted.err()).contains("keeps no objects", "2 objects of the class app.Net");
            try (Checkpoint c = Checkpoint.open(out)) {
                assertThat(c.names()).containsExactly("fc1.weight");
            }
        }
        Path torch = folder.resolve("weights.pt");
        assertOneLine(Invocation.of("convert", source, torch), "an object of the class 'app.Net'",
                "torch.objects=write");
        assertThat(Invocation.of("convert", source, torch, "--part", "state_dict").err()).isEmpty();
        assertThat(json(torch).at("/state/$type").asText()).isEqualTo("collections.OrderedDict");
        assertThat(json(torch).at("/tensors/0/name").asText()).isEqualTo("fc1.weight");
    }

    @Test
    void aRefusalNamesThePartToTake() throws IOException {
        Map<String, Tensor> model = Map.of("w", Tensor.of(1f));
        TypedMap options = new TypedMap("python:argparse.Namespace");
        options.put("lr", 0.1);
        TypedMap net = module(model, Map.of());
        assertHint("model/state_dict", Map.of("epoch", 3L, "model", Map.of("state_dict", model, "name", "a")), "npz");
        assertHint("state_dict/0", Map.of("epoch", 3L, "state_dict", List.of(model)), "gguf");
        assertHint("state_dict", Map.of("hyper_parameters", options, "state_dict", model, "epoch", 3L), "safetensors");
        assertHint("state_dict", Map.of("hyper_parameters", options, "state_dict", model, "epoch", 3L), "pt");
        assertHint("model", Map.of("model", net, "epoch", 3L), "safetensors");
        assertHint("model/state_dict", Map.of("model", net, "epoch", 3L), "pt");
        assertHint("'my model'", Map.of("my model", model, "epoch", 3L), "npz");
    }

    @Test
    void aPartWithTheValueThatWasRefusedIsNotNamed() throws IOException {
        Tensor weight = Tensor.of(1f).to(DType.BFLOAT16);
        Path source = saved("hint.pt", Map.of("model", Map.of("w", weight), "stages", List.of("a")));
        Invocation refused = Invocation.of("convert", source, folder.resolve("hint-out.t7"));
        assertOneLine(refused, "model/w: a file of Torch7 cannot hold elements of bfloat16");
        assertThat(refused.err()).doesNotContain("--part");
    }

    private void assertHint(String part, Map<String, Object> state, String suffix) throws IOException {
        Path source = saved("hint.pt", state);
        Path out = folder.resolve("hint-out." + suffix);
        Invocation refused = Invocation.of("convert", source, out);
        assertOneLine(refused, "for instance --part " + part + "\n");
        assertThat(refused.err()).doesNotContain("class Long", "ArrayList", "java.");
        assertThat(Invocation.of("convert", source, out, "--part", part.replace("'", "")).code()).isZero();
        Files.delete(out);
    }

    // ---- tensors that cannot be read

    /// Two tensors of float32, and one of a dtype that nobody knows.
    private Path withUnknownDtype() throws IOException {
        String header = """
                {"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},\
                "bad":{"dtype":"F33","shape":[1],"data_offsets":[4,8]},\
                "z":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}""";
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length() + 12).order(ByteOrder.LITTLE_ENDIAN)
                .putLong(header.length()).put(header.getBytes(StandardCharsets.UTF_8));
        return Files.write(folder.resolve("unknown.safetensors"), bytes.array());
    }

    @Test
    void theOtherTensorsAreConvertedAndTheExitCodeSaysThatOneWasNot() throws IOException {
        Path source = withUnknownDtype();
        for (String name : List.of("o.croft", "o.npz", "o.safetensors", "o.pt")) {
            Path out = folder.resolve(name);
            Invocation converted = Invocation.of("convert", source, out);
            assertLeftOut(converted, 3, out + ": left out the tensor 'bad', which cannot be read", "F33",
                    "[SAFETENSORS-DTYPE]");
            assertThat(converted.out()).contains(": 2 tensors");
            try (Checkpoint c = Checkpoint.open(out)) {
                assertThat(c.names()).containsExactly("a", "z");
            }
        }
        assertThat(Invocation.of("append", folder.resolve("o.croft"), source).err()).contains("left out the tensor");
        assertThat(Invocation.of("convert", source, folder.resolve("part.npy"), "--part", "z").code()).isZero();
    }

    @Test
    void inspectAndVerifySayWhatCannotBeRead() throws IOException {
        Path source = withUnknownDtype();
        Invocation inspected = Invocation.of("inspect", "--json", source);
        assertThat(inspected.code()).isEqualTo(3);
        assertThat(inspected.json().at("/tensors/1/unreadable/code").asText()).isEqualTo("SAFETENSORS-DTYPE");
        assertThat(inspected.json().at("/tensors/1/unreadable/what").asText()).contains("F33");
        assertThat(inspected.json().at("/tensors/0").has("unreadable")).isFalse();
        Invocation verified = Invocation.of("verify", source);
        assertThat(verified.code()).isEqualTo(3);
        assertThat(verified.err()).contains("tensor 'bad' cannot be read", "no damage was found, but 1 part cannot");
    }

    @Test
    void aDamagedRecordIsLeftOutAndTheExitCodeSaysSo() throws IOException {
        Path source = folder.resolve("damaged.npz");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(source))) {
            zip.putNextEntry(new ZipEntry("good.npy"));
            zip.write(Files.readAllBytes(FIXTURES.resolve("numpy/version2.npy")));
            zip.putNextEntry(new ZipEntry("short.npy"));
            zip.write(Files.readAllBytes(FIXTURES.resolve("numpy/version2.npy")), 0, 80);
        }
        Path out = folder.resolve("damaged.croft");

        assertLeftOut(Invocation.of("convert", source, out), 4, "left out the tensor 'short'", "[NPY-");

        try (Checkpoint c = Checkpoint.open(out)) {
            assertThat(c.names()).containsExactly("good");
        }
    }

    @Test
    void whatFollowsAnArrayIsNoted() throws IOException {
        Path source = Files.copy(FIXTURES.resolve("numpy/version2.npy"), folder.resolve("longer.npy"));
        Files.write(source, new byte[]{1, 2}, StandardOpenOption.APPEND);

        Invocation verified = Invocation.of("verify", source);
        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.err()).contains("what follows the array, 2 B", "2 B belong to nothing that the format has");
        Invocation converted = Invocation.of("convert", source, folder.resolve("longer.croft"));
        assertThat(converted.code()).isZero();
        assertThat(converted.err()).contains("not in the state: what follows the array");
    }

    // ---- what is told to formats

    @Test
    void whatIsToldOfOneFileIsNotToldOfTheOther() throws IOException {
        Path text = folder.resolve("text.t7");
        Path binary = folder.resolve("binary.t7");
        Invocation.of("convert", torch("tied.pt"), text, "--to-set", "torch7.encoding=ascii");
        assertThat(Files.readString(text)).startsWith("3\n");

        Invocation converted = Invocation.of("convert", text, binary, "--set", "torch7.encoding=ascii", "--to-set",
                "torch7.encoding=binary");

        assertThat(converted.err()).isEmpty();
        assertThat(Files.readAllBytes(binary)).startsWith(3, 0, 0, 0);
        assertThat(hashes(binary)).isEqualTo(hashes(text));
    }

    @Test
    void aSettingThatIsForTheOtherFileLeadsToItsOption() {
        Path out = folder.resolve("out.npz");
        for (Invocation refused : List.of(Invocation.of("inspect", TIED, "--set", "npz.compression=deflate"),
                Invocation.of("convert", TIED, out, "--set", "npz.compression=deflate"))) {
            assertOneLine(refused, "'npz.compression' is for files that are written", "--to-set");
        }
        assertOneLine(Invocation.of("convert", TIED, out, "--to-set", "torch7.object=1"),
                "'torch7.object' is for files that are opened; give it with --set");
    }

    @Test
    void aCroftFileHasNoSettings() {
        assertOneLine(
                Invocation.of("convert", TIED, folder.resolve("out.croft"), "--to-set", "npz.compression=deflate"),
                "--to-set is not for .croft files");
    }

    // ---- what was lost

    @Test
    void sharingThatIsLostIsTold() {
        Path out = folder.resolve("out.npz");

        Invocation converted = Invocation.of("convert", MODEL, out);

        assertThat(converted.code()).isZero();
        assertThat(converted.err()).hasLineCount(1).startsWith("croft: " + out)
                .contains("npz keeps no sharing: 2 tensors that share storages were each written for themselves");
        assertThat(converted.out()).endsWith(" tensors\n").doesNotContain("storages");
    }

    @Test
    void nothingIsSaidOfWhatAFileKeeps() throws IOException {
        Path records = folder.resolve("records.npz");
        TypedMap points = new TypedMap("numpy.record");
        Storage bytes = Storage.copyOf(new byte[32]);
        points.put("x", Tensor.of(bytes, DType.INT64, 0, Shape.of(2), 2));
        points.put("y", Tensor.of(bytes, DType.FLOAT64, 1, Shape.of(2), 2));
        points.attributes().put("dtype", "[('x', '<i8'), ('y', '<f8')]");
        points.attributes().put("shape", Shape.of(2));
        Typed texts = new Typed("numpy.str_", List.of("a", "b"));
        texts.attributes().put("shape", Shape.of(2));
        Typed dates = new Typed("numpy.datetime64", Tensor.zeros(DType.INT64, 2));
        dates.attributes().put("unit", "ns");
        Checkpoint.save(records, Map.of("points", points, "texts", texts, "dates", dates));

        Path gguf = FIXTURES.resolve("gguf/all.gguf");
        for (Path source : List.of(records, gguf)) {
            String suffix = source.equals(gguf) ? ".gguf" : ".npz";
            Path through = folder.resolve("through.croft");
            assertThat(Invocation.of("convert", source, folder.resolve("again" + suffix)).err()).isEmpty();
            assertThat(Invocation.of("convert", source, through).err()).isEmpty();
            assertThat(Invocation.of("convert", through, folder.resolve("last" + suffix)).err()).isEmpty();
        }
        Path parameter = folder.resolve("parameter.croft");
        Typed tagged = new Typed("torch.nn.parameter.Parameter", Tensor.zeros(DType.FLOAT32, 2));
        tagged.attributes().put("tag", "first");
        Checkpoint.save(parameter, Map.of("w", tagged));
        assertThat(Invocation.of("convert", parameter, folder.resolve("out.npz")).err())
                .contains("left out 1 attribute, which npz does not keep: w/tag");
    }

    @Test
    void metadataThatIsLostIsTold() throws IOException {
        Path source = folder.resolve("in.croft");
        Checkpoint.save(source, Map.of("a", Tensor.zeros(DType.FLOAT32, 2)),
                SaveOptions.defaults().metadata(Map.of("author", "me")));

        assertThat(Invocation.of("convert", source, folder.resolve("out.npz")).err()).hasLineCount(1)
                .contains("npz keeps no metadata: left out was author");
        assertThat(Invocation.of("convert", source, folder.resolve("out.safetensors")).err()).isEmpty();
        assertThat(Invocation.of("convert", torch("tied.pt"), folder.resolve("out.pt")).err()).isEmpty();
    }

    // ---- what OUT must not be

    @Test
    void aBaseOfTheSourceIsNotReplaced() throws IOException {
        Path base = Files.copy(torch("tied.pt"), folder.resolve("base.pt"));
        Path thin = Files.createDirectory(folder.resolve("sub")).resolve("thin.croft");
        byte[] before = Files.readAllBytes(base);
        Invocation.of("convert", base, thin, "--base", base, "--root", folder);

        assertOneLine(Invocation.of("convert", thin, base, "--root", folder), base + ": ", "are stored in it");
        assertOneLine(Invocation.of("convert", thin, base, "--to", "croft", "--root", folder), base + ": ",
                "are stored in it");

        assertThat(base).hasBinaryContent(before);
        assertThat(Invocation.of("convert", thin, folder.resolve("other.pt"), "--root", folder).code()).isZero();
        assertOneLine(Invocation.of("convert", thin, thin, "--root", folder), thin + ": ", "--in-place");
        assertThat(Invocation.of("convert", thin, thin, "--root", folder, "--in-place").code()).isZero();
    }

    @Test
    void norIsABaseThatIsACroftFile() throws IOException {
        Path base = folder.resolve("base.croft");
        Path file = folder.resolve("file.croft");
        Path last = folder.resolve("last.croft");
        Invocation.of("convert", MODEL, base);
        Invocation.of("convert", TRAINING, file, "--base", base);
        Invocation.of("convert", TRAINING, last, "--base", file);
        byte[] before = Files.readAllBytes(base);

        for (String command : new String[]{"convert", "convert --self-contained", "convert --keep-bases"}) {
            assertOneLine(Invocation.of(command, file, base), base + ": ", "are stored in it");
        }
        assertOneLine(Invocation.of("convert", last, file), file + ": ", "are stored in it");
        assertOneLine(Invocation.of("convert", last, base), base + ": ", "are stored in it");

        assertThat(base).hasBinaryContent(before);
        assertThat(Invocation.of("verify", last).code()).isZero();
    }

    @Test
    void aBaseIsKnownWithoutARootAndInEarlierSnapshots() throws IOException {
        Path base = Files.createDirectory(folder.resolve("x")).resolve("base.croft");
        Path thin = Files.createDirectory(folder.resolve("y")).resolve("thin.croft");
        Path other = folder.resolve("other.croft");
        Invocation.of("convert", MODEL, base);
        Invocation.of("convert", MODEL, other);
        Invocation.of("convert", TRAINING, thin, "--base", base, "--root", folder);
        Invocation.of("append", thin, other);
        byte[] before = Files.readAllBytes(base);

        assertOneLine(Invocation.of("convert", "--keep-bases", thin, base), base + ": ", "are stored in it");
        assertOneLine(Invocation.of("convert", thin, base, "--base", thin, "--root", folder), "are stored in it");
        for (String command : new String[]{"convert --self-contained", "salvage"}) {
            assertOneLine(Invocation.of(command, thin, base, "--root", folder), base + ": ", "are stored in it");
        }
        assertOneLine(Invocation.of("convert", other, base, "--base", thin, "--root", folder), "are stored in it");

        assertThat(base).hasBinaryContent(before);
    }

    @Test
    void aFileOfTheNameOfAShardIsNotReplaced() throws IOException {
        Path shard = folder.resolve("model-00001-of-00001.safetensors");
        Invocation.of("convert", MODEL, shard);
        byte[] before = Files.readAllBytes(shard);

        assertOneLine(Invocation.of("convert", shard, folder.resolve("model.safetensors.index.json")),
                "model-00001-of-00001.safetensors");

        assertThat(shard).hasBinaryContent(before);
    }

    @Test
    void aCroftFileInPlaceOfASetReportsItsShardsOrDeletesThem() throws IOException {
        for (boolean isDeleting : List.of(false, true)) {
            Path index = Files.createDirectory(folder.resolve("set" + isDeleting))
                    .resolve("model.safetensors.index.json");
            Path shard = index.resolveSibling("model-00001-of-00001.safetensors");
            Checkpoint.save(index, Map.of("w", Tensor.of(1L, 2L)));

            Invocation converted = Invocation.of("convert --to croft --in-place"
                    + (isDeleting ? " --delete-old-shards" : ""), index, index);

            assertThat(converted.code()).as(converted.err()).isZero();
            assertThat(isDeleting ? converted.out() : converted.err()).contains(isDeleting
                    ? "deleted 1 file of the set that it replaced"
                    : "1 file of the set that it replaced is left behind: model-00001-of-00001.safetensors");
            assertThat(Files.exists(shard)).isNotEqualTo(isDeleting);
            assertThat(Invocation.of("verify", index).code()).isZero();
        }
    }

    @Test
    void shardsOfAFormerSetAreNamedAndDeletedOnDemand() throws IOException {
        Path index = Files.createDirectory(folder.resolve("set")).resolve("model.safetensors.index.json");
        Invocation.of("convert", MODEL, index);

        Invocation second = Invocation.of("convert", MODEL, index, "--to-set", "safetensors.shard=100KB");

        assertThat(second.code()).isZero();
        assertThat(second.err()).contains("1 file of the set that it replaced is left behind",
                "model-00001-of-00001.safetensors");
        Files.delete(index.resolveSibling("model-00001-of-00001.safetensors"));
        Invocation third = Invocation.of("convert", index, index, "--in-place", "--delete-old-shards");
        assertThat(third.err()).hasLineCount(1).contains("load_file returns");
        assertThat(third.out()).contains("of the set that it replaced");
        try (Stream<Path> files = Files.list(index.getParent())) {
            assertThat(files).hasSize(2);
        }
        assertThat(Invocation.of("verify", index).code()).isZero();
    }

    @Test
    void aSettingThatDoesNotApplyIsRefused() {
        assertOneLine(Invocation.of("convert", MODEL, folder.resolve("out.safetensors"), "--to-set",
                "safetensors.shard=1GB"), "'safetensors.shard' does not apply");
    }

    @Test
    void aShardOfTheSourceIsNotReplaced() throws IOException {
        Path index = Files.createDirectory(folder.resolve("set")).resolve("model.safetensors.index.json");
        Invocation.of("convert", MODEL, index, "--to-set", "safetensors.shard=100KB");
        Path shard;
        try (Stream<Path> files = Files.list(index.getParent())) {
            shard = files.filter(file -> file.toString().contains("-00001-of-")).findFirst().orElseThrow();
        }
        byte[] before = Files.readAllBytes(shard);

        assertOneLine(Invocation.of("convert", index, shard), shard + ": ", "are stored in it");

        assertThat(shard).hasBinaryContent(before);
        assertThat(Invocation.of("verify", index).code()).isZero();
    }

    // ---- devices

    @Test
    void aFileThatWasSavedOnAGpuIsShownAndConvertedWithoutOne() throws IOException {
        Path saved = torch("BAD_location_cuda.pt");
        Path out = folder.resolve("out.npy");

        Invocation inspected = Invocation.of("inspect", saved);
        Invocation converted = Invocation.of("convert", saved, out);

        assertThat(inspected.err()).isEmpty();
        assertThat(inspected.out()).contains("devices   saved from cuda:0");
        assertThat(Invocation.of("inspect", "--json", saved).json().get("saved_from")).hasSize(1).first()
                .hasToString("\"cuda:0\"");
        assertThat(Invocation.of("inspect", "--json", torch("tied.pt")).json().has("saved_from")).isFalse();
        assertThat(converted.code()).isZero();
        assertThat(converted.err()).hasLineCount(1)
                .contains("it was saved from cuda:0, which is not here; its bytes were taken to the CPU");
        assertThat(Invocation.of("convert", saved, out, "--map-location", "cpu").err()).isEmpty();
        assertThat(hashes(out)).isEqualTo(hashes(saved));
    }

    // ---- verifying

    @Test
    void verifyingDoesNotPraiseWhatHasNoChecksums() throws IOException {
        Path damaged = folder.resolve("damaged.safetensors");
        byte[] bytes = Files.readAllBytes(TIED);
        bytes[bytes.length - 1] ^= 1;
        Files.write(damaged, bytes);

        assertThat(Invocation.of("verify", damaged).out())
                .startsWith(damaged + ": its structure is valid (safetensors, ")
                .endsWith(" that have no checksums\n")
                .doesNotContain("no damage found", "--root");
        assertThat(Invocation.of("verify", MODEL).out()).contains("no damage found");
    }

    @Test
    void aFileWithoutChecksumsIsNeverCalledWellHoweverSmall() throws IOException {
        Path empty = folder.resolve("empty.safetensors");
        Files.write(empty, new byte[]{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'});

        Invocation verified = Invocation.of("verify", empty);

        assertThat(verified.code()).isZero();
        assertThat(verified.out()).contains("its structure is valid", "not checked: 10 B that have no checksums")
                .doesNotContain("no damage found");
    }

    @Test
    void aRootThatSaysNothingIsTold() {
        assertThat(Invocation.of("inspect", MODEL, "--root", folder).err()).hasLineCount(1)
                .contains("--root has no effect");
        assertThat(Invocation.of("convert", MODEL, folder.resolve("out.pt"), "--root", folder).err()).hasLineCount(1)
                .contains("--root has no effect");
    }

    // ---- names

    @Test
    void namesOfFilesNeitherBreakTheLineNorCommandTheTerminal() throws IOException {
        Path odd = Files.copy(torch("tied.pt"), folder.resolve("a\n\u001b[31mb.pt"));

        Invocation converted = Invocation.of("convert", odd, folder.resolve("out.croft"));

        assertThat(converted.out()).hasLineCount(1).contains("a\\u{a}\\u{1b}[31mb.pt").doesNotContain("\u001b");
        assertThat(Invocation.of("verify", odd).out()).hasLineCount(1).doesNotContain("\u001b");
    }

    private static void assertOneLine(Invocation refused, String... words) {
        assertThat(refused.code()).as(refused.out()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").hasLineCount(1).contains(words);
    }

    private static void assertLeftOut(Invocation converted, int code, String... words) {
        assertThat(converted.code()).as(converted.err()).isEqualTo(code);
        assertThat(converted.err()).startsWith("croft: ").hasLineCount(1).contains(words);
    }

    private static JsonNode json(Path file) throws IOException {
        return Invocation.of("inspect", "--json", file).json();
    }

    private static JsonNode hashes(Path file) throws IOException {
        return Invocation.of("inspect", "--json", "--hash", file).json().get("tensors");
    }

    private static JsonNode tensor(Path file, String name) throws IOException {
        for (JsonNode tensor : json(file).get("tensors")) {
            if (tensor.get("name").asText().equals(name)) {
                return tensor;
            }
        }
        throw new AssertionError("there is no tensor " + name);
    }

    private static List<String> tensors(Path file) throws IOException {
        return json(file).get("tensors").findValuesAsText("name");
    }
}
