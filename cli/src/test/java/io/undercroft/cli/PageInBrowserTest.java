package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/// The page of `inspect --html` in a real Chromium. Screenshots for manual review are in `target/pages`.
@EnabledIfEnvironmentVariable(named = "UNDERCROFT_CHROMIUM", matches = ".+", disabledReason = "UNDERCROFT_CHROMIUM "
        + "names no browser")
class PageInBrowserTest {
    private static final Path SCREENSHOTS = Path.of("target", "pages");

    @TempDir
    static Path profile;
    private static Chromium browser;

    @TempDir
    Path folder;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        browser = new Chromium(Chromium.program().orElseThrow(), profile);
    }

    @AfterAll
    static void stop() {
        browser.close();
    }

    @BeforeEach
    void wideAndLight() throws IOException, InterruptedException {
        browser.size(1400, 1000);
        browser.dark(false);
    }

    @AfterEach
    void thePageLoadsNothingAndBreaksNoRule() {
        assertThat(browser.problems()).isEmpty();
        assertThat(browser.requests()).isEmpty();
    }

    private void open(Path file, Object... options) throws IOException, InterruptedException {
        Path page = folder.resolve("page.html");
        Invocation made = Invocation.of(
                Stream.concat(Arrays.stream(new Object[]{"inspect", "--html", page, file}),
                        Arrays.stream(options)).toArray());
        assertThat(made.code()).as(made.err()).isZero();
        browser.open(page);
    }

    private static BufferedImage screenshot(String name) throws IOException, InterruptedException {
        Path file = SCREENSHOTS.resolve(name + ".png");
        browser.screenshot(file);
        return ImageIO.read(file.toFile());
    }

    private static int brightness(int rgb) {
        return ((rgb >> 16 & 0xFF) + (rgb >> 8 & 0xFF) + (rgb & 0xFF)) / 3;
    }

    @Test
    void tiedWeightsAreShownInTheListAndInTheirStorage() throws IOException, InterruptedException {
        open(TRAINING);
        assertThat(browser.text("#name")).isEqualTo("tiny-gpt2-training.pt");
        assertThat(browser.text("#summary")).contains("torch-zip, 1.6 MiB", "113 tensors", "112 storages of 1.6 MiB");
        assertThat(browser.text("#row-0")).contains("model/transformer.wte.weight", "[512, 64]", "128.0 KiB", "tied");

        browser.evaluate("document.querySelector('#row-0').click()");

        assertThat(browser.text("#detail")).contains("2 tensors on it", "model/lm_head.weight", "128.0 KiB at byte ");
        browser.evaluate("document.querySelectorAll('.users button')[1].click()");
        assertThat(browser.text("#detail h2")).isEqualTo("model/lm_head.weight");
    }

    @Test
    void everythingCanBeDoneByTheKeyboard() throws IOException, InterruptedException {
        open(TRAINING);
        browser.press("/");
        browser.type("attn.c_attn.weight step");
        browser.until("document.querySelector('#found').innerText === '0 of 113'");
        browser.evaluate("document.activeElement.value = ''");
        browser.type("c_attn.weight");
        browser.until("document.querySelector('#found').innerText === '2 of 113'");
        browser.press("ArrowDown");
        browser.press("ArrowDown");

        assertThat(browser.text("#detail h2")).isEqualTo("model/transformer.h.1.attn.c_attn.weight");
        assertThat(browser.evaluate("document.activeElement.getAttribute('aria-activedescendant')").asText())
                .isEqualTo("row-1");
        browser.press("Enter");
        assertThat(browser.evaluate("document.activeElement.id").asText()).isEqualTo("detail");

        browser.evaluate("document.querySelector('#map').focus()");
        for (String key : new String[]{"Home", "ArrowRight", "+", "+"}) {
            browser.press(key);
        }
        assertThat(browser.text("#map-status")).startsWith("Storage 0, 128.0 KiB at byte ");
        assertThat(browser.text("#map-range")).contains(" of 1.6 MiB");
        browser.press("Enter");
        assertThat(browser.text("#detail h2")).isEqualTo("Storage 0");
    }

    @Test
    void theListIsSortedByAColumnUpDownAndNotAtAll() throws IOException, InterruptedException {
        open(TRAINING);
        String first = "document.querySelector('#row-0 .number').innerText";
        String column = "document.querySelectorAll('#columns button')[3].click()";
        browser.evaluate(column);
        assertThat(browser.evaluate(first).asText()).isEqualTo("4 B");
        browser.evaluate(column);
        assertThat(browser.evaluate(first).asText()).isEqualTo("128.0 KiB");
        browser.evaluate(column);
        assertThat(browser.text("#row-0")).contains("model/transformer.wte.weight");
    }

    /// Compares with the elements that the library reads.
    @Test
    void statisticsAreThoseOfTheElementsInTheFile() throws IOException, InterruptedException {
        Map<String, Object> state = new LinkedHashMap<>();
        float[] elements = new float[300_000];
        for (int i = 0; i < elements.length; i++) {
            int thousands = i / 1000;
            elements[i] = i % 1000 + thousands * 0.25f;
        }
        elements[0] = Float.NaN;
        elements[1] = Float.POSITIVE_INFINITY;
        elements[2] = Float.NEGATIVE_INFINITY;
        elements[3] = Float.NaN;
        Tensor wide = Tensor.of(elements, 300, 1000);
        state.put("wide", wide);
        state.put("column", wide.select(1, 7));
        state.put("transposed", wide.narrow(0, 1, 299).transpose(0, 1));
        state.put("block", wide.narrow(0, 10, 100).narrow(1, 20, 33));
        state.put("zeros", Tensor.zeros(DType.FLOAT64, 100_000));
        for (DType dtype : new DType[]{DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.INT32,
                DType.INT16, DType.INT8, DType.UINT8, DType.BOOL, DType.FLOAT8_E4M3FN, DType.FLOAT8_E5M2,
                DType.FLOAT8_E4M3FNUZ, DType.FLOAT8_E5M2FNUZ}) {
            state.put(dtype.name(), Tensor.arange(DType.FLOAT32, 100).to(dtype));
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state, SaveOptions.defaults().chunkSize(1 << 16));
        open(file);
        browser.choose("#file", file);
        browser.until("source.size === 1");

        JsonNode all = browser.evaluate("""
                (async () => {
                    const all = {};
                    for (const t of tensors) {
                        all[t.name] = obstacle(t) ?? await statistics(t, REAL, { cancelled: false }, () => {});
                    }
                    return JSON.parse(JSON.stringify(all, (_, v) => Object.is(v, Infinity) ? "Infinity"
                        : Object.is(v, -Infinity) ? "-Infinity" : v));
                })()""");

        assertThat(all).hasSameSizeAs(state.keySet());
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            for (String name : state.keySet()) {
                double[] stored = checkpoint.tensor(name).to(DType.FLOAT64).contiguous().toDoubleArray();
                double[] numbers = Arrays.stream(stored).filter(x -> !Double.isNaN(x)).toArray();
                double[] finite = Arrays.stream(numbers).filter(Double::isFinite).toArray();
                JsonNode found = all.get(name);
                assertThat(found.path("nan").asInt()).as(name).isEqualTo(stored.length - numbers.length);
                assertThat(found.get("infinite").asInt()).as(name).isEqualTo(numbers.length - finite.length);
                assertThat(Double.parseDouble(found.get("min").asText())).as(name)
                        .isEqualTo(Arrays.stream(numbers).min().orElseThrow());
                assertThat(Double.parseDouble(found.get("max").asText())).as(name)
                        .isEqualTo(Arrays.stream(numbers).max().orElseThrow());
                if (finite.length == numbers.length) {
                    assertThat(found.get("mean").asDouble()).as(name)
                            .isCloseTo(Arrays.stream(numbers).average().orElseThrow(), within(1e-9));
                }
                long sum = 0;
                for (JsonNode bin : found.get("bins")) {
                    sum += bin.asLong();
                }
                assertThat(sum).as(name).isEqualTo(finite.length);
            }
        }
    }

    @Test
    void statisticsOfComplexTensorsAreThoseOfBothParts() throws IOException, InterruptedException {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor stored = Tensor.of(new Complex(1, -2), new Complex(3, 5), new Complex(Double.NaN, 0),
                new Complex(-4, Double.POSITIVE_INFINITY));
        for (DType dtype : new DType[]{DType.COMPLEX128, DType.COMPLEX64, DType.COMPLEX32}) {
            state.put(dtype.name(), stored.to(dtype));
        }
        state.put("conj", stored.conj());
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        open(file);
        browser.choose("#file", file);
        browser.until("source.size === 1");

        for (int i = 0; i < state.size(); i++) {
            String name = state.keySet().stream().toList().get(i);
            browser.evaluate("activate(" + i + ")");
            browser.until("document.querySelectorAll('#statistics svg').length === 2");
            String shown = browser.text("#statistics");
            String imaginary = shown.substring(shown.indexOf("Imaginary part"));

            assertThat(shown).as(name).containsPattern("Real part\\s+Minimum\\s+-4\\s+Maximum\\s+3\\s+Mean\\s+0")
                    .containsPattern("NaN\\s+1\\s");
            assertThat(imaginary).as(name).containsPattern(name.equals("conj")
                    ? "Minimum\\s+-Infinity\\s+Maximum\\s+2\\s"
                    : "Minimum\\s+-2\\s+Maximum\\s+Infinity\\s").containsPattern("Infinite\\s+1\\s");
        }
        screenshot("complex");
    }

    @Test
    void statisticsOfQuantizedTensorsAreThoseOfTheStoredIntegers() throws IOException, InterruptedException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("qint8", Tensor.of(Storage.copyOf((byte) -5, (byte) 3), DType.QINT8, 0, Shape.of(2), 1));
        state.put("quint8", Tensor.of(Storage.copyOf((byte) -5, (byte) 3), DType.QUINT8, 0, Shape.of(2), 1));
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        open(file);
        browser.choose("#file", file);
        browser.until("source.size === 1");

        browser.evaluate("activate(0)");
        browser.until("document.querySelector('#statistics svg')");
        assertThat(browser.text("#statistics")).contains("Of the integers that are stored.")
                .containsPattern("Minimum\\s+-5\\s+Maximum\\s+3\\s+Mean\\s+-1\\s");
        browser.evaluate("activate(1)");
        browser.until("document.querySelector('#statistics svg')");
        assertThat(browser.text("#statistics")).containsPattern("Minimum\\s+3\\s+Maximum\\s+251\\s");
    }

    @Test
    void statisticsAreShownWhenATensorIsOpenedAndOfTheFileOfThePageOnly() throws IOException, InterruptedException {
        open(TRAINING);
        browser.evaluate("document.querySelector('#row-0').click()");
        assertThat(browser.text("#statistics")).contains("Choose the file above to see them.");
        browser.choose("#file", Invocation.torch("tied.pt"));
        browser.until("document.querySelector('#source-status').innerText.startsWith('This is another file')");
        assertThat(browser.text("#statistics")).contains("Choose the file above to see them.");

        browser.choose("#file", TRAINING);
        browser.until("document.querySelector('#statistics svg')");

        assertThat(browser.text("#statistics")).containsPattern("Minimum\\s+-0\\.0810559\\s")
                .containsPattern("NaN\\s+0\\s");
        screenshot("light");
    }

    @Test
    void thePageIsDarkWhereTheSystemIs() throws IOException, InterruptedException {
        open(TRAINING);
        assertThat(brightness(screenshot("wide").getRGB(2, 500))).isGreaterThan(240);
        browser.dark(true);
        assertThat(brightness(screenshot("dark").getRGB(2, 500))).isLessThan(40);
    }

    @Test
    void aNarrowPageScrollsInOneDirection() throws IOException, InterruptedException {
        browser.size(400, 900);
        open(TRAINING);
        assertThat(browser.evaluate("document.documentElement.scrollWidth <= innerWidth").asBoolean()).isTrue();
        screenshot("narrow");
    }

    @Test
    void onlyTheRowsInViewAreCreatedForTenThousandTensors() throws IOException, InterruptedException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 10_000; i++) {
            state.put("layer." + i, Tensor.zeros(DType.FLOAT32, 1 + i % 50));
        }
        Path file = folder.resolve("many.safetensors");
        Checkpoint.save(file, state);
        open(file);
        browser.evaluate("document.querySelector('#list').focus()");
        browser.press("End");

        assertThat(browser.text("#detail h2")).isEqualTo("layer.9999");
        browser.until("document.querySelector('#row-9999')");
        assertThat(browser.evaluate("document.querySelectorAll('.row').length").asInt()).isLessThan(100);
        screenshot("many");
    }

    @Test
    void theMapOfACroftFileHasAllItsParts() throws IOException, InterruptedException {
        Path file = folder.resolve("a.croft");
        Tensor weights = Tensor.arange(DType.INT64, 10_000);
        Checkpoint.save(file, Map.of("w", weights, "same", weights.copy()));
        CroftFile.open(file).commit(Map.of("w", Tensor.arange(DType.INT64, 20_000)), "second");

        open(file, "--at", "1");

        assertThat(browser.text("#legend")).contains("Header: 256 B", "Index: ", "Commit slots: 8.0 KiB",
                "Commit record: 1.5 KiB", "Bytes of several storages: 78.1 KiB", "Padding, and other snapshots");
        JsonNode cover = browser.evaluate("segments.map(s => [s.from, s.to])");
        long end = 0;
        for (JsonNode segment : cover) {
            assertThat(segment.get(0).asLong()).isEqualTo(end);
            end = segment.get(1).asLong();
        }
        assertThat(end).isEqualTo(Files.size(file));
        screenshot("croft");
    }

    @Test
    void aModelOfSeveralFilesHasOneMapAndStatisticsOfTheChosenFiles() throws IOException, InterruptedException {
        Path index = PageTest.shards(folder);
        Path second = folder.resolve("model-00002-of-00002.safetensors");
        open(folder);

        assertThat(browser.text("#summary")).contains("3.9 MiB in 3 files", "4 storages of 3.9 MiB");
        assertThat(browser.text("#notes")).isEmpty();
        assertThat(browser.text("#row-0")).contains("1000.0 KiB");
        assertThat(browser.text("#legend")).contains("Header: ", " in 3", "Storage: 3.9 MiB");
        assertThat(browser.text("#map-range")).contains("byte 0 of " + index.getFileName(), second.getFileName() + "");
        long end = 0;
        for (JsonNode segment : browser.evaluate("segments.map(s => [s.from, s.to])")) {
            assertThat(segment.get(0).asLong()).isEqualTo(end);
            end = segment.get(1).asLong();
        }
        assertThat(end).isEqualTo(browser.evaluate("data.file.nbytes").asLong());
        browser.evaluate("select(tensors[3])");
        assertThat(browser.text("#statistics")).contains("Choose the file " + second.getFileName() + " above");
        browser.choose("#file", second);
        browser.until("document.querySelector('#statistics svg')");
        assertThat(browser.text("#statistics")).containsPattern("Maximum\\s+1,023,996\\s");
        browser.evaluate("select(tensors[0])");
        assertThat(browser.text("#statistics")).contains("Choose the file model-00001-of-00002.safetensors above");
        screenshot("shards");
    }

    @Test
    void compressedStoragesAreShownWithTheBytesThatTheyTakeAndWithoutStatistics()
            throws IOException, InterruptedException {
        Path file = PageTest.compressed(folder);
        open(file);
        JsonNode json = Invocation.of("inspect --json", file).json();
        String stored = Text.bytes(json.at("/nbytes/disk").asLong());

        assertThat(browser.text("#summary")).contains("2 storages of 781.3 KiB · " + stored + " stored");
        browser.evaluate("select(tensors.find(t => t.name === 'w'))");
        assertThat(browser.text("#detail")).contains("Bytes of it are compressed.", stored + ", compressed",
                "781.3 KiB, compressed to ");
        assertThat(browser.text("#map-section")).doesNotContain("Bytes of several storages");
        browser.evaluate("go(segments.findIndex(part => part.stored))");
        assertThat(browser.text("#map-status")).contains(" of 781.3 KiB compressed at byte ");
        browser.evaluate("show('storages')");
        assertThat(browser.text("#list")).contains(stored);
        assertThat(browser.evaluate("segments.at(-1).to").asLong()).isEqualTo(Files.size(file));
        screenshot("compressed");
    }

    @Test
    void headersStandOverTheirColumnsAndNoSizeIsCut() throws IOException, InterruptedException {
        PageTest.shards(folder);
        open(folder);
        for (int width : new int[]{1400, 1000}) {
            browser.size(width, 900);
            for (String view : new String[]{"tensors", "storages"}) {
                browser.evaluate("show('" + view + "')");
                assertThat(browser.evaluate("""
                        [...document.querySelectorAll('#columns > *')].map((head, i) => {
                            const cell = document.querySelector('#row-0').children[i];
                            const box = head.getBoundingClientRect(), under = cell.getBoundingClientRect();
                            return Math.max(Math.abs(box.left - under.left), Math.abs(box.right - under.right)) < 1.5
                                && (!head.className.includes('number') || cell.scrollWidth <= Math.ceil(under.width));
                        }).every(is => is)""").asBoolean()).as(view + " " + width).isTrue();
            }
        }
    }

    @Test
    void metadataAndValuesAreNoWarnings() throws IOException, InterruptedException {
        open(TRAINING);
        assertThat(browser.text("#notes")).isEmpty();
        assertThat(browser.text("#about")).contains("values of the state");
        browser.evaluate("document.querySelector('#about').open = true");
        assertThat(browser.text("#about")).contains("optimizer/param_groups/0/lr", "0.001");
    }

    @Test
    void hundredThousandHostileNamesAreShownAsText() throws IOException, InterruptedException {
        Map<String, Object> state = new LinkedHashMap<>();
        String[] hostile = {"<script>window.ran = 1</script>", "'\"><svg onload='window.ran=1'>",
                "javascript:window.ran=1",
                "\u202e\u2066txt.exe\u200b\ufeff", "\u0000\u001b[2J\r\n", "${window.ran = 1}", "constructor"};
        Tensor shared = Tensor.arange(DType.INT8, 100_000);
        for (int i = 0; i < 100_000; i++) {
            state.put(i + hostile[i % hostile.length], shared.narrow(0, i, 1));
        }
        state.put("values", Map.of(hostile[0], hostile[1], hostile[3], hostile[4]));
        Path file = folder.resolve("hostile.croft");
        Checkpoint.save(file, state);
        open(file);

        for (int i = 0; i < hostile.length; i++) {
            browser.evaluate("activate(" + i + ")");
            String shown = browser.text("#detail h2");
            assertThat(shown).startsWith(i + "").matches("[\\x20-\\x7e]+");
        }
        browser.evaluate("document.querySelector('#about').open = true");
        browser.evaluate("select(storages[0])");
        assertThat(browser.evaluate("typeof window.ran").asText()).isEqualTo("undefined");
        assertThat(browser.evaluate("document.scripts.length + ' ' + document.querySelectorAll('svg, img').length")
                .asText()).isEqualTo("1 0");
        assertThat(browser.text("#about")).contains("<script>window.ran = 1<~1script>".replace("~1", "/"))
                .doesNotContain("\u202e", "\u001b");
        assertThat(browser.evaluate("document.querySelectorAll('.row').length").asInt()).isLessThan(100);
        browser.size(400, 900);
        assertThat(browser.evaluate("document.documentElement.scrollWidth <= innerWidth").asBoolean()).isTrue();
    }

    @Test
    void viewsThatOverlapAreBelowOneAnother() throws IOException, InterruptedException {
        Tensor flat = Tensor.arange(DType.FLOAT32, 4000);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a", flat.narrow(0, 0, 1000));
        state.put("b", flat.narrow(0, 1000, 2000));
        state.put("c", flat.narrow(0, 500, 1000));
        state.put("d", flat.narrow(0, 3000, 500));
        Path file = folder.resolve("views.pt");
        Checkpoint.save(file, state);
        open(file);

        assertThat(browser.evaluate("tensors.map(t => t.how)").toString())
                .isEqualTo("[\"overlap\",\"overlap\",\"overlap\",\"\"]");
        assertThat(browser.evaluate("lanes(storages[0].users, 9).placed.map(p => p.t.name + p.lane).join()").asText())
                .isEqualTo("a0,c1,b0,d0");
        browser.evaluate("select(tensors[2])");
        assertThat(browser.text(".users")).containsPattern("a\\s+overlaps").containsPattern("d\\s+separate bytes");
        screenshot("overlaps");
    }

    @Test
    void namesRunNoCodeAndHideNoText() throws IOException, InterruptedException {
        String hostile = "</script><script>window.ran = 1</script><!--<img src=x onerror='window.ran = 1'>"
                + "\"&amp;\u202eabc\u0007";
        Map<String, Object> state = new LinkedHashMap<>();
        state.put(hostile, Tensor.of(1f));
        state.put("__proto__", Tensor.of(Storage.allocate(8), DType.opaque("__proto__", 8), 0,
                Shape.of(2), 1));
        state.put("x".repeat(4000), Tensor.of(2f));
        Path file = folder.resolve("hostile<img src=x onerror=alert(1)>.croft");
        Checkpoint.save(file, state, SaveOptions.defaults().message(hostile).metadata(Map.of(hostile, hostile)));
        open(file);
        for (int i = 0; i < 3; i++) {
            browser.evaluate("activate(" + i + ")");
        }
        browser.evaluate("select(storages[0])");
        browser.evaluate("show('tensors')");

        assertThat(browser.evaluate("typeof window.ran").asText()).isEqualTo("undefined");
        assertThat(browser.evaluate("document.scripts.length + ' ' + document.images.length").asText())
                .isEqualTo("1 0");
        String shown = browser.text("body");
        assertThat(shown).contains("</script><script>window.ran".replace("/", "~1"), "\\u{202e}abc\\u{7}")
                .doesNotContain("\u202e", "\u0007");
        screenshot("hostile");
    }
}
