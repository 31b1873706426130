package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.ElementLimit;
import io.undercroft.storage.DType;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.TestData;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What each command may cost for a file of some kilobytes whose elements have any size: 64 MiB and twice the size of
/// the file on the heap, garbage included; a number of operations that follows from the size of the file and from the
/// bytes of elements that [ElementLimit#most] allows; and files of not more than these bytes. None ends with
/// a fault.
@ResourceLock(Operations.LOCK)
class CostlyVerbsTest {
    private static final long MEMORY = 64L << 20;
    private static final List<String> FORMATS = List.of("croft", "pt", "t7", "npz", "npy", "safetensors", "gguf",
            "safetensors.index.json");

    @TempDir
    private Path folder;

    /// What is in a file that was made to be costly.
    private interface Costly {
        Object state();
    }

    /// Few stored elements, repeated by strides of 0.
    private static Object expanded() {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor one = Tensor.of(1d, 2d);
        Tensor row = Tensor.zeros(DType.FLOAT64, 64);
        state.put("w", one.select(0, 0).expand(Integer.MAX_VALUE, Integer.MAX_VALUE));
        state.put("v", one.expand(1L << 32, 2));
        for (int i = 0; i < 20; i++) {
            state.put("m" + i, i % 10 == 0 ? one.expand(1 << 20, 2) : row.expand(1 << 18, 64));
        }
        return state;
    }

    /// The square of what is stored.
    private static Object overlapping() {
        return Map.of("w", Tensor.arange(DType.INT64, 1 << 15).asStrided(Shape.of(1 << 14, 1 << 14), new long[]{1, 1},
                0));
    }

    private static Object zeros() {
        Storage storage = TestData.unstoredZeros(1L << 40);
        return Map.of("w", Tensor.of(storage, DType.FLOAT64, 0, Shape.of(1L << 18, 1L << 19)).t());
    }

    /// Storages that have the same bytes of the file.
    private static Object equal() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 300; i++) {
            state.put(i == 0 ? "w" : "w" + i, Tensor.zeros(DType.FLOAT64, 1 << 15).fill(7));
        }
        return state;
    }

    /// Tensors of other layouts whose parts are repeated.
    private static Object layouts() {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor index = Tensor.of(0L);
        for (int i = 0; i < 8; i++) {
            state.put("w" + i,
                    new SparseCooTensor(index.expand(2, 1L << (30 + i)), Tensor.of(1d).expand(1L << (30 + i)),
                            Shape.of(1L << 31, 1L << 31), Coalescence.UNCOALESCED));
            state.put("q" + i, new QuantizedTensor(Tensor.zeros(DType.QINT8, 1).expand(1L << (28 + i), 3),
                    new Quantizer.PerTensor(0.5, 0)));
        }
        return state;
    }

    /// Very many elements of nothing, and no elements in very many dimensions.
    private static Object empty() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 100; i++) {
            state.put(i == 0 ? "w" : "w" + i, Tensor.zeros(DType.opaque("wide", 1 << 20), 1L << 40, 0, 1L << 20));
        }
        return state;
    }

    /// Storages that compress to a thousandth.
    private static Object compressible() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 200; i++) {
            state.put(i == 0 ? "w" : "w" + i, Tensor.full(DType.INT64, i + 1, 1 << 18));
        }
        return state;
    }

    /// Lists that hold the next one twice, with one long text at the end.
    private static Object references() {
        Object value = "x".repeat(50_000);
        for (int depth = 0; depth < 60; depth++) {
            value = List.of(value, value);
        }
        return Map.of("w", Tensor.of(1f), "list", value);
    }

    private Path array(String name, String descr, String shape) throws IOException {
        byte[] text = ("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }")
                .getBytes(StandardCharsets.UTF_8);
        return Files.write(folder.resolve(name), ByteBuffer.allocate(12 + text.length).order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0}).putInt(text.length).put(text).array());
    }

    private Path archive(Path array, int count) throws IOException {
        Path file = folder.resolve("a.npz");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            for (int i = 0; i < count; i++) {
                zip.putNextEntry(new ZipEntry((i == 0 ? "w" : "w" + i) + ".npy"));
                Files.copy(array, zip);
            }
        }
        return file;
    }

    @ParameterizedTest
    @ValueSource(strings = {"expanded", "overlapping", "zeros", "equal", "layouts", "empty", "references",
            "compressible"})
    void eachCommandCostsInProportionToTheFile(String name) throws IOException {
        Costly costly = switch (name) {
            case "expanded" -> CostlyVerbsTest::expanded;
            case "overlapping" -> CostlyVerbsTest::overlapping;
            case "zeros" -> CostlyVerbsTest::zeros;
            case "equal" -> CostlyVerbsTest::equal;
            case "layouts" -> CostlyVerbsTest::layouts;
            case "empty" -> CostlyVerbsTest::empty;
            case "compressible" -> CostlyVerbsTest::compressible;
            default -> CostlyVerbsTest::references;
        };
        List<String> formats = List.of("croft", "pt", "t7", "npz", "safetensors", "gguf");
        boolean isCompressed = name.equals("compressible");
        for (String suffix : name.equals("equal") || isCompressed ? List.of("croft") : formats) {
            Path file = folder.resolve(name + "." + suffix);
            try {
                Checkpoint.save(file, costly.state(), SaveOptions.defaults()
                        .compress(isCompressed ? SaveOptions.Compression.ALONE : SaveOptions.Compression.NONE));
            } catch (IllegalArgumentException e) {
                // Not every format has such tensors, and most store each element.
                continue;
            }
            if (Files.size(file) < 1 << 20) {
                checkAll(file);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"'<U500000000'", "'|S2147483647'", "'|V2147483647'",
            "[('w', '<U500000000'), ('b', [('c', '<f4', (3,))], (1099511627776,))]"})
    void elementsOfAnySizeCostNothingIfThereAreNone(String descr) throws IOException {
        Path array = array("w.npy", descr, "(3, 0)");
        checkAll(array);
        checkAll(archive(array, 100));
    }

    private void checkAll(Path file) throws IOException {
        String path = file.toString();
        String out = folder.resolve("out").toString();
        check(file, "inspect", path);
        check(file, "inspect", "--json", "--hash", path);
        check(file, "inspect", "--html", out + ".html", path);
        check(file, "verify", path);
        check(file, "hexdump", path);
        check(file, "dedup", path);
        check(file, "extract", path, "w");
        check(file, "extract", path, "w", "-o", out + ".npy");
        check(file, "diff", "--stats", path, path);
        for (String format : FORMATS) {
            check(file, "convert", path, out + "." + format);
        }
        check(file, "diff", "--stats", path, out + ".croft");
        check(file, "append", out + ".croft", path);
        check(file, "salvage", path, out + ".salvaged.croft");
    }

    private void check(Path file, String... words) throws IOException {
        long most = ElementLimit.most(Files.size(file));
        String ended = (String) Operations.bounded(file, MEMORY + 2 * Files.size(file), most, CostlyVerbsTest.class,
                "command", (Object) words);
        assertThat(ended).as(String.join(" ", words)).doesNotContain("fault in croft").matches("(?s)[02345] .*");
        try (Stream<Path> written = Files.list(folder)) {
            assertThat(written.mapToLong(each -> each.toFile().length()).max().orElseThrow())
                    .isLessThan(most);
        }
    }

    /// Called in the copy whose operations are counted.
    @SuppressWarnings("UnusedMethod")
    private static String command(String... words) throws ReflectiveOperationException {
        Method execute = Class.forName("io.undercroft.cli.Croft").getDeclaredMethod("execute", TextOutput.class,
                PrintWriter.class, String[].class);
        execute.setAccessible(true);
        StringWriter err = new StringWriter();
        int code = (int) execute.invoke(null, new TextOutput(OutputStream.nullOutputStream()),
                new PrintWriter(err, true),
                words);
        return code + " " + err;
    }
}
