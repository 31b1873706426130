package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.TestData;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Small files of which a report or a copy would be very large.
@Isolated("counts the memory of the process")
class CostlyFilesTest {
    @TempDir
    Path folder;

    /// A list of many references to one long text.
    private Path manyTexts(int count) throws IOException {
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(new byte[]{(byte) 0x80, 2, ']', '(', 'X'});
        pickle.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(300_000).array());
        pickle.writeBytes("x".repeat(300_000).getBytes(US_ASCII));
        pickle.writeBytes("q\u0001".getBytes(US_ASCII));
        pickle.writeBytes("h\u0001".repeat(count - 1).getBytes(US_ASCII));
        pickle.writeBytes("e.".getBytes(US_ASCII));
        Path file = folder.resolve("texts.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            put(zip, "archive/data.pkl", pickle.toByteArray());
            put(zip, "archive/version", "3\n".getBytes(US_ASCII));
        }
        return file;
    }

    private static void put(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
    }

    @Test
    void aReportThatWouldRepeatOneTextWithoutEndIsRefusedBeforeItIsPrinted() throws IOException {
        Path file = manyTexts(300_000);
        long before = Proc.allocatedByThisThread();
        Invocation json = Invocation.of("inspect", "--json", file);
        assertThat(json.code()).isNotZero();
        assertThat(json.out()).isEmpty();
        assertThat(json.err()).contains("texts.pt").contains("the report in JSON would have more than");
        Invocation text = Invocation.of("inspect", file);
        assertThat(text.code()).isZero();
        assertThat(text.out()).hasSizeLessThan(2000);
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(2 * ((64L << 20) + 2 * Files.size(file)));
    }

    @Test
    void aCopyThatWouldRepeatOneTextWithoutEndIsRefusedByPath() throws IOException {
        Path file = manyTexts(300_000);
        for (String name : List.of("texts.croft", "texts.t7")) {
            Path target = folder.resolve(name);
            long before = Proc.allocatedByThisThread();
            Invocation convert = Invocation.of("convert", file, target);
            assertThat(Proc.allocatedByThisThread() - before).isLessThan((64L << 20) + 2 * Files.size(file));
            assertThat(convert.code()).isNotZero();
            assertThat(convert.err()).contains("the value at '224").contains("300000 characters")
                    .doesNotContain("fault in croft");
            assertThat(target).doesNotExist();
        }
    }

    @Test
    void aFewRepetitionsAreNoProblem() throws IOException {
        Path file = manyTexts(10);
        assertThat(Invocation.of("inspect", "--json", file).json().get("state")).hasSize(10);
        Path target = folder.resolve("texts.croft");
        assertThat(Invocation.of("convert", file, target).code()).isZero();
        try (Checkpoint checkpoint = Checkpoint.open(target)) {
            assertThat((List<?>) checkpoint.state()).hasSize(10);
        }
    }

    /// One long name must not make every line as long.
    @Test
    void aReportIsNotMuchLongerThanTheNamesInIt() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor tensor = Tensor.of(1f);
        state.put("k".repeat(4000), tensor);
        for (int i = 0; i < 2000; i++) {
            state.put("t" + i, tensor);
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        Invocation text = Invocation.of("inspect", file);
        assertThat(text.code()).isZero();
        assertThat(text.out().getBytes(UTF_8)).hasSizeLessThan(2000 * 500);
    }

    /// A file of a kilobyte whose tensor has 2^30 elements or more, all of them the one that is stored.
    private Path expanded(String name, float value, long... sizes) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, Map.of("w", Tensor.of(value).expand(sizes)));
        return file;
    }

    @ParameterizedTest
    @ValueSource(strings = {".pt", ".t7", ".croft"})
    void repeatedElementsAreComparedOnce(String suffix) throws IOException {
        long[][] shapes = {{1L << 30}, {1L << 33}, {Integer.MAX_VALUE, Integer.MAX_VALUE}, {3, 1L << 40}};
        for (long[] sizes : shapes) {
            Path a = expanded("a" + suffix, 1, sizes);
            Path b = expanded("b" + suffix, 3, sizes);
            Path c = expanded("c.pt", 1, sizes);
            long before = Proc.allocatedByThisThread();
            assertThat(Invocation.of("diff", a, c)).extracting(Invocation::code, Invocation::err)
                    .containsExactly(0, "");
            Invocation different = Invocation.of("diff", "--stats", "--json", a, b);
            assertThat(different.err()).isEmpty();
            long elements = Shape.of(sizes).numel();
            assertThat(different.json().at("/changed/0/statistics")).hasToString(
                    "{\"elements\":%s,\"differing\":%s,\"not_finite\":0,\"max_abs\":2.0,\"mean_abs\":2.0}"
                            .formatted(elements, elements));
            assertThat(Proc.allocatedByThisThread() - before).isLessThan(64 << 20);
        }
    }

    @Test
    void tensorsThatOverlapThemselvesAreComparedByWhatIsStored() throws IOException {
        Tensor stored = Tensor.arange(DType.FLOAT32, 1 << 18);
        Path a = folder.resolve("a.pt");
        Path b = folder.resolve("b.t7");
        Checkpoint.save(a, Map.of("w", stored.asStrided(Shape.of(1 << 17, 1 << 17), new long[]{1, 1}, 0)));
        Checkpoint.save(b, Map.of("w", stored.asStrided(Shape.of(1 << 17, 1 << 17), new long[]{1, 1}, 0)));
        assertThat(Invocation.of("diff", a, b).code()).isZero();
        Checkpoint.save(b, Map.of("w", stored.asStrided(Shape.of(1 << 17, 1 << 17), new long[]{1, 1}, 1)));
        Invocation notCompared = Invocation.of("diff", a, b);
        assertThat(notCompared.code()).isEqualTo(3);
        assertThat(notCompared.err()).hasLineCount(1).contains("'w' was not compared: ", "more than 384 MiB",
                "--large");
        assertThat(Invocation.of("diff --large", a, b)).extracting(Invocation::code, Invocation::err)
                .containsExactly(5, "");
    }

    @ParameterizedTest
    @ValueSource(strings = {".pt", ".t7", ".croft"})
    void digestsOfRepeatedElementsAreLeftOutWhenTheyAreTooManyTogether(String suffix) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor one = Tensor.of(1f);
        for (int i = 0; i < 40; i++) {
            state.put("w" + i, one.expand(16L << 20));
        }
        state.put("last", one);
        Path file = folder.resolve("many" + suffix);
        Checkpoint.save(file, state);
        Invocation hashed = Invocation.of("inspect --hash --json", file);
        assertThat(hashed.code()).isEqualTo(3);
        assertThat(hashed.err()).hasLineCount(1).contains("36 digests left out", "more than 256 MiB", "--large");
        if (suffix.equals(".pt")) {
            assertThat(Invocation.of("inspect --hash --large", file).code()).isZero();
        }
        List<JsonNode> missing = new ArrayList<>();
        hashed.json().get("tensors").forEach(tensor -> {
            if (tensor.get("sha256").isNull()) {
                assertThat(tensor.get("sha256_problem").textValue()).contains("more than 256 MiB");
                missing.add(tensor);
            } else {
                assertThat(tensor.has("sha256_problem")).isFalse();
            }
        });
        assertThat(missing).hasSize(36);
        assertThat(hashed.json().at("/tensors/40/sha256").textValue()).hasSize(64);
    }

    @Test
    void copiesOfPartsOfTensorsAreFreedWhenTheyWereCompared() throws IOException {
        Tensor tensor = Tensor.zeros(DType.FLOAT32, 4096, 4096);
        Path a = folder.resolve("a.pt");
        Path b = folder.resolve("b.pt");
        Checkpoint.save(a, Map.of("w", tensor.t()));
        tensor.fill(2);
        Checkpoint.save(b, Map.of("w", tensor.t()));
        Invocation.of("diff --stats", a, a);
        long before = Proc.anonymousBytes();
        try {
            assertThat(Invocation.of("diff --stats", a, b).out()).contains("16,777,216");
            assertThat(Proc.anonymousBytes() - before).isLessThan(64 << 20);
        } finally {
            Reference.reachabilityFence(tensor);
        }
    }

    /// A file of two kilobytes with a storage of 2^40 zeros, which are not stored.
    private Path zeros(String name) throws IOException {
        Storage storage = TestData.unstoredZeros(1L << 40);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("w", Tensor.of(storage, DType.FLOAT32, 0, Shape.of(1L << 38)));
        state.put("t", Tensor.of(storage, DType.FLOAT32, 0, Shape.of(1L << 18, 1L << 19)).t());
        state.put("v", Tensor.of(1f, 2f));
        Path file = folder.resolve(name);
        Checkpoint.save(file, state);
        assertThat(Files.size(file)).isLessThan(4096);
        return file;
    }

    @Test
    void zerosThatAreNotStoredAreNotRead() throws IOException {
        Path file = zeros("zeros.croft");
        Path copy = folder.resolve("copy.croft");
        Path salvaged = folder.resolve("salvaged.croft");
        assertThat(Invocation.of("convert --json", file, copy).json().at("/bytes/zeros").longValue())
                .isEqualTo(1L << 40);
        assertThat(Invocation.of("append", copy, file).code()).isZero();
        assertThat(Invocation.of("salvage", file, salvaged).code()).isZero();
        for (Path each : List.of(copy, salvaged)) {
            assertThat(Files.size(each)).isLessThan(16 << 10);
            assertThat(Invocation.of("verify", each).code()).isZero();
            assertThat(Invocation.of("diff", file, each)).extracting(Invocation::code, Invocation::err)
                    .containsExactly(0, "");
        }
        assertThat(Invocation.of("dedup --json", file, copy).json().get("unique_nbytes").longValue()).isEqualTo(8);
        Invocation hashed = Invocation.of("inspect --hash --json", file);
        assertThat(hashed.code()).isEqualTo(3);
        assertThat(hashed.err()).hasLineCount(1).contains("2 digests left out");
        assertThat(hashed.json().at("/tensors/2/sha256").textValue()).hasSize(64);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.pt", "a.t7", "a.npz", "a.safetensors", "a.gguf", "a.safetensors.index.json"})
    void formatsThatWouldWriteZerosOrRepeatedElementsRefuseThem(String name) throws IOException {
        Path target = folder.resolve(name);
        Invocation refused = Invocation.of("convert", zeros("zeros.croft"), target);
        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("'w'", "--large");
        assertThat(target).doesNotExist();
        if (!name.endsWith(".pt") && !name.endsWith(".t7")) {
            Map<String, Object> many = new LinkedHashMap<>();
            for (int i = 0; i < 40; i++) {
                many.put("w" + i, Tensor.of(1f).expand(16L << 20));
            }
            Path file = folder.resolve("many.pt");
            Checkpoint.save(file, many);
            assertThat(Invocation.of("convert", file, target).err()).hasLineCount(1)
                    .contains("4 bytes of its storage are repeated to the shape [16777216]", "--large");
            assertThat(target).doesNotExist();
        }
    }

    /// As many storages with the same bytes of the file as it takes to be out of proportion.
    @Test
    void storagesOfTheSameBytesAreWrittenWithinTheLimitOrIfAllowed() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 300; i++) {
            state.put("w" + i, Tensor.zeros(DType.UINT8, 1 << 20).fill(7));
        }
        Path file = folder.resolve("same.croft");
        Checkpoint.save(file, state);
        assertThat(Files.size(file)).isLessThan(2 << 20);
        assertThat(Invocation.of("convert", file, folder.resolve("a.npz")).code()).isZero();
        Path small = folder.resolve("small.croft");
        state.replaceAll((_, _) -> Tensor.zeros(DType.UINT8, 1 << 20).fill(8));
        state.replaceAll((_, tensor) -> ((Tensor) tensor).narrow(0, 0, 1 << 19).copy());
        for (int i = 300; i < 700; i++) {
            state.put("w" + i, Tensor.zeros(DType.UINT8, 1 << 19).fill(8));
        }
        Checkpoint.save(small, state);
        Invocation refused = Invocation.of("convert", small, folder.resolve("b.npz"));
        assertThat(refused.code()).isEqualTo(2);
        assertThat(Invocation.of("convert --large", small, folder.resolve("b.npz")).code()).isZero();
        assertThat(Invocation.of("convert", small, folder.resolve("b.croft")).code()).isEqualTo(2);
        assertThat(Invocation.of("convert --large", small, folder.resolve("b.croft")).code()).isZero();
    }
}
