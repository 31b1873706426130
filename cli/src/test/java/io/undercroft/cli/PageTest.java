package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.cli.internal.PickledModules;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageTest {
    private static final String START = "<script type=\"application/json\" id=\"data\">";
    private static final String END = "</script>";
    private static final String HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"'&"
            + "\u202e\u0001";

    @TempDir
    Path folder;

    private String page(Path file, Object... options) throws IOException {
        Path page = folder.resolve("page.html");
        Invocation made = Invocation.of(Stream.concat(Stream.of("inspect", "--html", page, file),
                Arrays.stream(options)).toArray());
        assertThat(made.err()).isEmpty();
        assertThat(made.code()).isZero();
        assertThat(made.out()).contains(page + ": a page of ").hasLineCount(1);
        return Files.readString(page);
    }

    private static String text(String page) {
        int from = page.indexOf(START) + START.length();
        return page.substring(from, page.indexOf(END, from));
    }

    private static JsonNode data(String page) throws IOException {
        return new ObjectMapper().readTree(text(page));
    }

    @ParameterizedTest
    @ValueSource(strings = {"models/tiny-gpt2-training.pt", "pytorch/views.pt", "pytorch/neg.pt", "numpy/stored.npz",
            "gguf/all.gguf"})
    void tensorsAndStoragesAreThoseOfInspectJson(String name) throws IOException {
        Path file = Invocation.FIXTURES.resolve(name);
        JsonNode json = Invocation.of("inspect", "--json", "--hash", file).json();
        JsonNode data = data(page(file, "--hash"));

        assertThat(data.get("format")).isEqualTo(json.get("format"));
        assertThat(data.get("tensors")).isEqualTo(json.get("tensors"));
        assertThat(data.get("storages")).hasSameSizeAs(json.get("storages"));
        for (int i = 0; i < json.get("storages").size(); i++) {
            JsonNode storage = data.get("storages").get(i);
            json.get("storages").get(i).properties()
                    .forEach(field -> assertThat(storage.get(field.getKey())).isEqualTo(field.getValue()));
        }
        assertThat(data.at("/file/name").asText()).isEqualTo(file.getFileName().toString());
        assertThat(data.at("/file/nbytes").asLong()).isEqualTo(Files.size(file));
        assertThat(data.at("/left_out/tensors").asInt()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"tiny.croft", "tiny.pt", "tiny.safetensors", "tiny.npz"})
    void theBytesOfEachStorageAreWhereThePageSaysTheyAre(String name) throws Exception {
        Path file = folder.resolve(name);
        assertThat(Invocation.of("convert", "--part", "model", TRAINING, file).code()).isZero();
        byte[] bytes = Files.readAllBytes(file);

        for (JsonNode storage : data(page(file, "--hash")).get("storages")) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            long end = 0;
            for (JsonNode extent : storage.get("extents")) {
                assertThat(extent.get(0).asLong()).isEqualTo(end);
                int nbytes = extent.get(1).asInt();
                end += nbytes;
                if (extent.get(2).asInt() == 2) {
                    digest.update(new byte[nbytes]);
                } else {
                    digest.update(bytes, extent.get(3).asInt(), nbytes);
                }
            }
            assertThat(HexFormat.of().formatHex(digest.digest())).isEqualTo(storage.get("sha256").asText());
        }
    }

    @Test
    void theFilesOfAModelFollowOneAnother() throws Exception {
        Path index = shards(folder);
        List<Path> files = List.of(index, folder.resolve("model-00001-of-00002.safetensors"),
                folder.resolve("model-00002-of-00002.safetensors"));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Path file : files) {
            all.write(Files.readAllBytes(file));
        }

        JsonNode data = data(page(folder, "--hash"));

        assertThat(data.at("/file/nbytes").asLong()).isEqualTo(all.size());
        assertThat(data.at("/file/files").findValuesAsText("name"))
                .isEqualTo(files.stream().map(file -> file.getFileName().toString()).toList());
        assertThat(data.get("storages")).hasSize(4);
        for (JsonNode storage : data.get("storages")) {
            JsonNode extent = storage.at("/extents/0");
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(all.toByteArray(), extent.get(3).asInt(), extent.get(1).asInt());
            assertThat(HexFormat.of().formatHex(digest.digest())).isEqualTo(storage.get("sha256").asText());
        }
    }

    @Test
    void theMapOfASetHasAllItsFilesOneAfterTheOther() throws Exception {
        Path a = folder.resolve("a.croft");
        Path b = folder.resolve("b.croft");
        Path set = folder.resolve("all.croftset");
        Tensor tied = Tensor.arange(DType.INT64, 100_000);
        Checkpoint.save(a, Map.of("w", Tensor.arange(DType.FLOAT32, 50_000), "zeros", Tensor.zeros(DType.INT8, 9999)));
        Map<String, Object> second = new LinkedHashMap<>();
        second.put("x", tied);
        second.put("y", tied);
        Checkpoint.save(b, second);
        assertThat(Invocation.of("set create", set, a, b).code()).isZero();

        JsonNode data = data(page(set, "--hash"));

        assertThat(data.at("/file/files").findValuesAsText("name")).containsExactly("all.croftset", "a.croft",
                "b.croft");
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Path file : List.of(set, a, b)) {
            all.write(Files.readAllBytes(file));
        }
        assertThat(data.at("/file/nbytes").asLong()).isEqualTo(all.size());
        assertThat(data.get("storages")).hasSize(3);
        for (JsonNode storage : data.get("storages")) {
            ByteBuffer bytes = ByteBuffer.allocate(storage.get("nbytes").asInt());
            for (JsonNode extent : storage.get("extents")) {
                if (extent.get(2).asInt() == 0) {
                    bytes.put(extent.get(0).asInt(), all.toByteArray(), extent.get(3).asInt(), extent.get(1).asInt());
                }
            }
            assertThat(storage.get("extents")).isNotEmpty();
            assertThat(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array())))
                    .isEqualTo(storage.get("sha256").asText());
        }
    }

    /// Writes a model of two files.
    static Path shards(Path folder) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 4; i++) {
            float[] elements = new float[256_000];
            for (int j = 0; j < elements.length; j++) {
                elements[j] = (i + 1) * j;
            }
            state.put("layer." + i, Tensor.of(elements));
        }
        Path index = folder.resolve("model.safetensors.index.json");
        Checkpoint.save(index, state, SaveOptions.defaults().setting("safetensors.shard", "2MiB"));
        return index;
    }

    @Test
    void valuesThatAreNoTensorsAreInThePage() throws IOException {
        JsonNode values = data(page(TRAINING)).get("values");
        assertThat(values.findValuesAsText("path")).contains("step", "optimizer/param_groups/0/lr");
        assertThat(values.findValuesAsText("value")).contains("3", "0.001", "list of 2: 0.9, 0.999");
    }

    @Test
    void chunksInARowAreOneRun() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("w", Tensor.arange(DType.INT64, 100_000)),
                SaveOptions.defaults().chunkSize(1 << 16));

        JsonNode extents = data(page(file)).at("/storages/0/extents");

        assertThat(extents).hasSize(1);
        assertThat(extents.get(0).get(1).asLong()).isEqualTo(800_000);
    }

    /// A file whose first storage is compressed, and the bytes that this one takes.
    static Path compressed(Path folder) throws IOException {
        Path file = folder.resolve("coded.croft");
        Tensor weights = Tensor.arange(DType.INT64, 100_000);
        Checkpoint.save(file, Map.of("w", weights),
                SaveOptions.defaults().chunkSize(1 << 16).compress(Compression.ALONE));
        CroftFile.open(file).commit(new TreeMap<>(Map.of("plain", Tensor.of(1f, 2f), "w", weights)), "both");
        return file;
    }

    @Test
    void compressedChunksInARowAreOneRunWithTheBytesThatTheyTake() throws IOException {
        Path file = compressed(folder);

        JsonNode data = data(page(file));

        JsonNode storage = StreamSupport.stream(data.get("storages").spliterator(), false)
                .filter(each -> each.get("nbytes").asLong() == 800_000).findFirst().orElseThrow();
        long stored = storage.get("disk_nbytes").asLong();
        assertThat(stored).isBetween(1L, 400_000L);
        assertThat(storage.get("extents")).hasSize(1);
        assertThat(storage.at("/extents/0/1").asLong()).isEqualTo(800_000);
        assertThat(storage.at("/extents/0/4").asLong()).isBetween(stored, stored + 63 * 12);
        assertThat(data.get("disk_nbytes").asLong()).isEqualTo(stored + 8);
        assertThat(data.get("storages").findValues("extents")).anyMatch(extents -> extents.get(0).size() == 4);
    }

    @Test
    void theMapOfACroftFileHasTheIndexesOfAllSnapshots() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2f)));
        CroftFile.open(file).commit(Map.of("w", Tensor.of(3f, 4f)), "second");

        JsonNode data = data(page(file));

        assertThat(data.get("regions").findValuesAsText("kind")).containsExactlyInAnyOrder("header", "commit_record",
                "index", "commit_slots", "commit_record", "index");
        assertThat(data.get("snapshot").asText()).startsWith("2, ");
    }

    @Test
    void noContentOfAFileIsMarkup() throws IOException {
        Path file = folder.resolve("a.croft");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put(HOSTILE, Tensor.of(Storage.allocate(8), DType.opaque(HOSTILE, 8), 0, Shape.of(2), new long[]{1}));
        Checkpoint.save(file, state,
                SaveOptions.defaults().message(HOSTILE).metadata(Map.of(HOSTILE, HOSTILE)));

        String page = page(file);

        assertThat(text(page)).doesNotContain("<").matches("\\p{ASCII}*");
        assertThat(data(page).at("/tensors/0/name").asText()).isEqualTo(HOSTILE.replace("/", "~1"));
        assertThat(data(page).at("/tensors/0/dtype").asText()).isEqualTo(HOSTILE);
        assertThat(data(page).at("/metadata/0/value").asText()).isEqualTo(HOSTILE);
        String rest = page.replace(text(page), "");
        assertThat(rest).isEqualTo(page(TRAINING).replace(text(page(TRAINING)), ""));
    }

    @Test
    void thePolicyAllowsTheScriptAndTheStyleOfThePageAndNothingElse() throws Exception {
        String page = page(TRAINING);

        assertThat(page).startsWith("<!doctype html>").doesNotContain("{{", "src=", "href=\"http", "url(")
                .contains("content=\"default-src 'none'; script-src 'sha256-");
        for (String kind : List.of("script", "style")) {
            Matcher element = Pattern.compile("<" + kind + ">(.*?)</" + kind + ">", Pattern.DOTALL).matcher(page);
            assertThat(element.find()).isTrue();
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(element.group(1).getBytes(StandardCharsets.UTF_8));
            assertThat(page).contains(kind + "-src 'sha256-" + Base64.getEncoder().encodeToString(digest) + "'");
            assertThat(element.find()).as("another " + kind).isFalse();
        }
    }

    @Test
    void aPageListsTheFirstTensorsAndReportsTheOthers() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor shared = Tensor.arange(DType.FLOAT32, 100_100);
        for (int i = 0; i < 100_100; i++) {
            state.put("t" + i, shared.narrow(0, i, 1));
        }
        state.put("own", Tensor.of(1f, 2f));
        Path file = folder.resolve("many.croft");
        Checkpoint.save(file, state);
        Path page = folder.resolve("page.html");

        Invocation made = Invocation.of("inspect", "--html", page, file);

        assertThat(made.code()).isZero();
        assertThat(made.err()).hasLineCount(1).contains("the page leaves out 101 tensors and 1 storage, so");
        JsonNode data = data(Files.readString(page));
        assertThat(data.get("tensors")).hasSize(100_000);
        assertThat(data.get("storages")).hasSize(1);
        assertThat(data.at("/storages/0/tensors").asInt()).isEqualTo(100_100);
        assertThat(data.at("/left_out/tensors").asInt()).isEqualTo(101);
        assertThat(data.at("/left_out/storages").asInt()).isEqualTo(1);
        assertThat(data.get("left_out_ranges")).hasSize(1);
    }

    @Test
    void longNamesAreShortenedAndEndThePageWhenTheyAreMany() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        String name = "é".repeat(2_000);
        for (int i = 0; i < 10_000; i++) {
            state.put(i + name, Tensor.zeros(DType.UINT8, 1));
        }
        Path file = folder.resolve("long.safetensors");
        Checkpoint.save(file, state);
        Path page = folder.resolve("page.html");

        assertThat(Invocation.of("inspect", "--html", page, file).code()).isZero();

        assertThat(Files.size(page)).isLessThan(64 << 20);
        JsonNode data = data(Files.readString(page));
        assertThat(data.at("/tensors/0/name").asText()).hasSize(500).endsWith("…");
        assertThat(data.get("tensors").size() + data.at("/left_out/tensors").asInt()).isEqualTo(10_000);
        assertThat(data.at("/left_out/tensors").asInt()).isPositive();
    }

    @Test
    void thePathsOfBasesAreShortened() throws IOException {
        Path base = Files.createDirectories(folder.resolve(("d".repeat(200) + "/").repeat(4))).resolve("base.croft");
        Path thin = folder.resolve("thin.croft");
        assertThat(Invocation.of("convert", TRAINING, base).code()).isZero();
        assertThat(Invocation.of("convert", base, thin, "--base", base).code()).isZero();

        JsonNode data = data(page(thin, "--root", folder));

        assertThat(data.at("/bases/0/path").asText()).hasSize(500).endsWith("…");
        assertThat(data.at("/bases/0/file").asText()).hasSize(500).endsWith("…");
    }

    @Test
    void theFirstAliasesOfATensorAreListed() throws IOException {
        Map<String, Object> modules = new LinkedHashMap<>();
        TypedMap shared = PickledModules.module(Map.of("weight", Tensor.of(1f)), Map.of());
        for (int i = 0; i < 30; i++) {
            modules.put("m" + i, shared);
        }
        Path file = folder.resolve("module.croft");
        Checkpoint.save(file, PickledModules.module(Map.of(), modules));
        JsonNode all = Invocation.of("inspect --json", file).json().at("/tensors/0/aliases");
        assertThat(all).hasSize(30);

        JsonNode shown = data(page(file)).at("/tensors/0/aliases");

        assertThat(shown).hasSize(21);
        assertThat(shown.get(20).asText()).isEqualTo("and 10 more");
    }

    @Test
    void tensorsThatCannotBeReadAreInThePageAndNamed() throws IOException {
        Path page = folder.resolve("page.html");
        Invocation json = Invocation.of("inspect", "--json", torch("BAD_offset_beyond.pt"));

        Invocation made = Invocation.of("inspect", "--html", page, torch("BAD_offset_beyond.pt"));

        assertThat(made.code()).isEqualTo(json.code());
        assertThat(made.err()).isEqualTo(json.err());
        assertThat(Files.exists(page)).isEqualTo(!json.out().isEmpty());
    }

    @Test
    void aPageReplacesAPageAndLeavesNoOtherFile() throws IOException {
        Path page = folder.resolve("page.html");
        assertThat(Invocation.of("inspect", "--html", page, TRAINING).code()).isZero();
        Path link = Files.createSymbolicLink(folder.resolve("link.html"), page);
        assertThat(Invocation.of("inspect", "--html", link, torch("tied.pt")).code()).isZero();

        assertThat(link).isSymbolicLink();
        assertThat(data(Files.readString(page)).at("/file/name").asText()).isEqualTo("tied.pt");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactlyInAnyOrder(page, link);
        }
    }

    @Test
    void aPageOfSomethingElseIsNotReplaced() throws IOException {
        Path page = Files.writeString(folder.resolve("index.html"), "<!doctype html>\n<p>mine");

        assertThat(Invocation.of("inspect", "--html", page, TRAINING).code()).isEqualTo(CommandRunner.USAGE);

        assertThat(page).hasContent("<!doctype html>\n<p>mine");
    }

    @Test
    void aLinkToNoFileIsNotReplaced() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link.html"), folder.resolve("missing.html"));

        Invocation made = Invocation.of("inspect", "--html", link, TRAINING);

        assertThat(made.code()).isNotZero();
        assertThat(made.err()).contains("it is a symbolic link to a file that does not exist; name that file");
        assertThat(link).isSymbolicLink();
    }

    @Test
    void aFileThatIsNoPageIsNotReplaced() throws IOException {
        Path model = Files.copy(torch("tied.pt"), folder.resolve("model.pt"));
        byte[] before = Files.readAllBytes(model);

        Invocation refused = Invocation.of("inspect", "--html", model, TRAINING);

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains(model + ": it exists and is no page");
        assertThat(model).hasBinaryContent(before);
    }

    @Test
    void aFileThatThePageIsAboutIsNotReplaced() throws IOException {
        Path base = folder.resolve("base.croft");
        Path thin = folder.resolve("thin.croft");
        assertThat(Invocation.of("convert", TRAINING, base).code()).isZero();
        assertThat(Invocation.of("convert", base, thin, "--base", base).code()).isZero();

        for (Path target : List.of(base, thin)) {
            Invocation refused = Invocation.of("inspect", "--root", folder, "--html", target, thin);
            assertThat(refused.code()).isEqualTo(2);
            assertThat(refused.err()).hasLineCount(1).contains("would replace a file that it is about");
        }
    }

    @Test
    void aPageThatCannotBeWrittenIsAFailureOfTheOutput() {
        Invocation directory = Invocation.of("inspect", "--html", folder, TRAINING);
        assertThat(directory.code()).isEqualTo(1);
        assertThat(directory.err()).hasLineCount(1).contains(folder + ": it is a directory; name a file in it");

        Path nowhere = folder.resolve("no").resolve("page.html");
        Invocation missing = Invocation.of("inspect", "--html", nowhere, TRAINING);
        assertThat(missing.code()).isEqualTo(1);
        assertThat(missing.err()).hasLineCount(1)
                .contains(nowhere + ": the directory ", " does not exist; make it first");

        Path refused = Path.of("/proc/page.html");
        assumeTrue(Files.isDirectory(refused.getParent()), "there is no directory in which nobody can create files");
        Invocation notCreated = Invocation.of("inspect", "--html", refused, TRAINING);
        assertThat(notCreated.code()).isEqualTo(1);
        assertThat(notCreated.err()).hasLineCount(1)
                .startsWith("croft: " + refused + ": nothing can be written in its directory /proc")
                .doesNotContain(".tmp");
    }

    @Test
    void optionsThatCannotBeCombinedAreRefused() {
        Path page = folder.resolve("page.html");
        for (Invocation refused : List.of(Invocation.of("inspect", "--json", "--html", page, TRAINING),
                Invocation.of("inspect", "--html", page, TRAINING, torch("tied.pt")),
                Invocation.of("inspect", "--html", "-", TRAINING))) {
            assertThat(refused.code()).isEqualTo(2);
            assertThat(refused.err()).hasLineCount(1).contains("--html");
        }
        assertThat(page).doesNotExist();
    }

    @Test
    void theShellCompletesTheOption() {
        assertThat(Invocation.of("completion").out()).contains("--html");
        assertThat(Invocation.of("inspect", "--help").out()).contains("--html=OUT");
    }
}
