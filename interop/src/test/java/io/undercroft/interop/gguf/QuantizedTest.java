package io.undercroft.interop.gguf;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Blocks of quantized numbers, decoded as the library of GGUF decodes them. `quantized.py` made the fixtures.
class QuantizedTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "gguf");
    private static final Path QUANTIZED = FIXTURES.resolve("quantized.gguf");

    @TempDir
    private Path folder;

    private static Map<String, String> digests() throws IOException {
        Map<String, String> digests = new LinkedHashMap<>();
        Matcher entry = Pattern.compile("\"(\\w+)\": \"(\\w+)\"")
                .matcher(Files.readString(FIXTURES.resolve("quantized.json")));
        while (entry.find()) {
            digests.put(entry.group(1), entry.group(2));
        }
        return digests;
    }

    private static String digest(Tensor numbers) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update(numbers.asByteBuffer());
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void blocksOfEachTypeHaveTheNumbersOfTheLibrary() throws IOException {
        Map<String, String> digests = digests();
        assertThat(digests).hasSize(26);
        try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
            assertThat(c.names()).containsExactlyElementsOf(digests.keySet());
            for (String name : c.names()) {
                Tensor blocks = c.tensor(name);
                assertThat(blocks.dtype()).isEqualTo(DType.blocks(name));
                Tensor numbers = blocks.to(DType.FLOAT32);
                assertThat(numbers.shape()).as(name).isEqualTo(Shape.of(4, 512)).isEqualTo(
                        blocks.shapeAs(DType.FLOAT32));
                assertThat(digest(numbers)).as(name).isEqualTo(digests.get(name));
                assertThat(blocks.toFloatArray()).as(name).isEqualTo(numbers.toFloatArray());
            }
        }
    }

    @Test
    void otherTypesAreConvertedFromTheNumbers() throws IOException {
        try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
            for (String name : c.names()) {
                Tensor numbers = c.tensor(name).to(DType.FLOAT32);
                for (DType dtype : List.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64, DType.INT32,
                        DType.FLOAT8_E4M3FN, DType.COMPLEX128)) {
                    assertThat(c.tensor(name).to(dtype).contentEquals(numbers.to(dtype))).as("%s as %s", name, dtype)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void viewsOfBlocksAreDecodedByThemselves() throws IOException {
        try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
            for (String name : c.names()) {
                Tensor blocks = c.tensor(name);
                int size = blocks.dtype().blockSize();
                Tensor numbers = blocks.to(DType.FLOAT32);
                assertThat(blocks.select(0, 2).to(DType.FLOAT32).contentEquals(numbers.select(0, 2))).isTrue();
                assertThat(blocks.narrow(0, 1, 2).to(DType.FLOAT32).contentEquals(numbers.narrow(0, 1, 2))).isTrue();
                assertThat(blocks.narrow(1, 1, 1).to(DType.FLOAT32).contentEquals(numbers.narrow(1, size, size)))
                        .isTrue();
                assertThat(blocks.select(1, 0).select(0, 3).to(DType.FLOAT32)
                        .contentEquals(numbers.select(0, 3).narrow(0, 0, size))).isTrue();
                assertThat(blocks.toString(DType.FLOAT32)).isEqualTo(numbers.toString());
                assertThat(blocks.narrow(0, 0, 0).to(DType.FLOAT32).shape()).isEqualTo(Shape.of(0, 512));
            }
        }
    }

    @Test
    void aStateIsSavedWithNumbersInEveryFormat() throws IOException {
        for (String suffix : List.of("gguf", "croft", "pt", "safetensors", "npz", "t7")) {
            Path file = folder.resolve("numbers." + suffix);
            try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
                SaveReport report = Checkpoint.save(file, c.state(), SaveOptions.defaults().dtype(DType.FLOAT32));
                assertThat(report.tensors()).isEqualTo(26);
            }
            try (Checkpoint c = Checkpoint.open(file)) {
                for (Map.Entry<String, String> digest : digests().entrySet()) {
                    Tensor numbers = c.tensor(digest.getKey());
                    assertThat(numbers.shape()).isEqualTo(Shape.of(4, 512));
                    assertThat(digest(numbers.contiguous())).as("%s in %s", digest.getKey(), file)
                            .isEqualTo(digest.getValue());
                }
            }
        }
    }

    @Test
    void oneTensorIsSavedAsAnArray() throws IOException {
        Path file = folder.resolve("q.npy");
        try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
            SaveOptions converting = SaveOptions.defaults().setting("npy.dtype", "float16");
            Checkpoint.save(file, c.tensor("Q6_K"), converting);
            try (Checkpoint saved = Checkpoint.open(file)) {
                assertThat(saved.tensor("").contentEquals(c.tensor("Q6_K").to(DType.FLOAT16))).isTrue();
            }
            Checkpoint.save(file, c.tensor("Q4_K").t(), converting);
            try (Checkpoint saved = Checkpoint.open(file)) {
                assertThat(saved.tensor("").contentEquals(c.tensor("Q4_K").t().to(DType.FLOAT16))).isTrue();
            }
        }
    }

    @Test
    void blocksThatAreCutAreRefused() throws IOException {
        byte[] whole = Files.readAllBytes(QUANTIZED);
        Path cut = folder.resolve("cut.gguf");
        for (int missing : new int[]{1, 17, 1000, whole.length / 2}) {
            Files.write(cut, Arrays.copyOf(whole, whole.length - missing));
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(cut))
                    .withMessageContaining("reaches out of the file")
                    .satisfies(e -> assertThat(e.code()).isEqualTo("GGUF-TENSOR"));
        }
    }

    @Test
    void rowsThatAreNoWholeBlocksAreRefused() throws IOException {
        Path file = folder.resolve("rows.gguf");
        for (String name : digests().keySet()) {
            int size = DType.blocks(name).blockSize();
            for (long row : new long[]{1, size - 1, size / 2, 512 - 1, Long.MAX_VALUE}) {
                ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(QUANTIZED)).order(ByteOrder.LITTLE_ENDIAN);
                bytes.putLong(rowOf(name, bytes), row);
                Files.write(file, bytes.array());
                assertThatExceptionOfType(FormatException.class).as(name).isThrownBy(() -> Checkpoint.open(file))
                        .withMessageContainingAll(file.toString(), "'" + name + "'", "rows of " + row,
                                "blocks of " + size)
                        .satisfies(e -> assertThat(e.code()).isEqualTo("GGUF-TENSOR"))
                        .satisfies(e -> assertThat(e.remedy().toString()).isNotBlank())
                        .satisfies(e -> assertThat(e.offset()).isPositive());
            }
        }
    }

    /// Returns where a file has the size of the rows of a tensor: after its name and the number of dimensions.
    private static int rowOf(String name, ByteBuffer bytes) {
        byte[] text = name.getBytes(UTF_8);
        for (int at = 0; at < bytes.limit() - 64; at++) {
            int end = at + Long.BYTES + text.length;
            if (bytes.getLong(at) == text.length && bytes.getInt(end) == 2
                    && bytes.slice(at + Long.BYTES, text.length).equals(ByteBuffer.wrap(text))) {
                return end + Integer.BYTES;
            }
        }
        throw new AssertionError(name);
    }

    @Test
    void noViewAndNoTargetHasPartOfABlock() throws IOException {
        try (Checkpoint c = Checkpoint.open(QUANTIZED)) {
            for (String name : c.names()) {
                Tensor blocks = c.tensor(name);
                long count = blocks.size(1);
                for (long length : new long[]{count + 1, 512 + count}) {
                    assertThatExceptionOfType(IndexOutOfBoundsException.class).as(name)
                            .isThrownBy(() -> blocks.narrow(1, 0, length));
                }
                Tensor target = Tensor.zeros(DType.FLOAT32, 4, 511);
                assertThatIllegalArgumentException().as(name).isThrownBy(() -> target.copyFrom(blocks))
                        .withMessageContainingAll("[4, 512]", "[4, 511]");
                Storage cut = Storage.allocate(blocks.nbytes() - 1);
                assertThatExceptionOfType(RuntimeException.class).as(name)
                        .isThrownBy(() -> Tensor.of(cut, blocks.dtype(), 0, blocks.shape()))
                        .isInstanceOfAny(IndexOutOfBoundsException.class, IllegalArgumentException.class);
            }
        }
    }

    @Test
    void aFileWithoutAnArchitectureIsReported() throws IOException {
        Path file = folder.resolve("x.gguf");
        Map<String, Tensor> state = Map.of("w", Tensor.of(1f));
        assertThat(Checkpoint.save(file, state).loss(Kind.REQUIRED_METADATA).orElseThrow().names())
                .containsExactly("general.architecture");
        SaveOptions named = SaveOptions.defaults().metadata(Map.of("general.architecture", "llama"));
        assertThat(Checkpoint.save(file, state, named).losses()).isEmpty();
        TypedMap read;
        try (Checkpoint c = Checkpoint.open(file)) {
            read = (TypedMap) c.state();
            assertThat(Checkpoint.save(folder.resolve("y.gguf"), read).losses()).isEmpty();
        }
    }

    // ---- the real library ----

    @TestFactory
    List<DynamicTest> gguf() {
        RealPython python = RealPython.with("gguf", "numpy");
        return List.of(python.test("gguf.dequantize has the same bits for all values of all bytes", this::judge));
    }

    private void judge(RealPython python) throws IOException {
        Path file = folder.resolve("judge.gguf");
        String script;
        try (InputStream in = Objects.requireNonNull(QuantizedTest.class.getResourceAsStream("quantized.py"))) {
            script = new String(in.readAllBytes(), UTF_8);
        }
        python.run(script, "judge", file);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).hasSize(52);
            for (String name : c.names()) {
                if (!name.endsWith(".numbers")) {
                    assertSameBits(name, c.tensor(name).to(DType.FLOAT32), c.tensor(name + ".numbers"));
                }
            }
        }
    }

    /// The bits of a NaN depend on the processor.
    private static void assertSameBits(String name, Tensor ours, Tensor theirs) {
        assertThat(ours.shape()).isEqualTo(theirs.shape());
        float[] a = ours.toFloatArray();
        float[] b = theirs.toFloatArray();
        for (int i = 0; i < a.length; i++) {
            if (Float.floatToIntBits(a[i]) != Float.floatToIntBits(b[i])) {
                throw new AssertionError(name + ", number " + i + ": " + a[i] + " and not " + b[i]);
            }
        }
    }
}
