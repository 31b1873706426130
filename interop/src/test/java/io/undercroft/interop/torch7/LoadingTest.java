package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files of Torch7, opened as checkpoints.
class LoadingTest {
    @TempDir
    private Path folder;
    private Path model;

    @BeforeEach
    void write() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor weight = Tensor.arange(DType.FLOAT64, 1000).view(10, 100);
        state.put("weight", weight);
        state.put("tied", weight.t());
        state.put("bias", Tensor.arange(DType.FLOAT32, 10));
        state.put("empty", Tensor.zeros(DType.FLOAT32, 0));
        model = folder.resolve("model.t7");
        Checkpoint.save(model, state);
    }

    /// A file that Windows wrote, with something behind its object: the width of its longs has to be told.
    @Test
    void aFileWhoseEncodingHasToBeToldIsAdoptedAndOpensWithoutBeingTold() throws IOException {
        Path narrow = folder.resolve("narrow.t7");
        OpenOptions told = OpenOptions.defaults().format("torch7").setting("torch7.longs", "4");
        try (Checkpoint source = Checkpoint.open(model)) {
            Checkpoint.save(narrow, source.state(), SaveOptions.defaults().setting("torch7.longs", "4"));
        }
        Files.write(narrow, new byte[7], StandardOpenOption.APPEND);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(narrow));

        assertThat(adopt(narrow, told).written()).isZero();

        assertAdopted(narrow, told);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> adopt(narrow, told, SaveOptions.defaults().base(narrow)));
    }

    @Test
    void aLoneValueIsAdoptedIfItsFormatIsNamed() throws IOException {
        Path lone = Files.write(folder.resolve("lone"), new FileBuilder().string("x".repeat(300_000)).bytes());
        OpenOptions told = OpenOptions.defaults().format("torch7");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> adopt(lone, told, SaveOptions.defaults().base(lone)))
                .extracting(FormatException::code).isEqualTo("FORMAT-UNKNOWN");

        adopt(lone, told);

        try (Checkpoint c = Checkpoint.open(folder.resolve("model.croft"))) {
            assertThat(c.state()).isEqualTo("x".repeat(300_000));
        }
    }

    @Test
    void ofABigEndianFileOnlyBytesAreAdoptedAndNumbersAreCopied() throws IOException {
        Path big = folder.resolve("big.t7");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("bytes", Tensor.arange(DType.UINT8, 200));
        state.put("numbers", Tensor.arange(DType.FLOAT32, 1000));
        Checkpoint.save(big, state, SaveOptions.defaults().setting("torch7.order", "big"));
        OpenOptions told = OpenOptions.defaults().setting("torch7.order", "big");

        DedupReport report = adopt(big, told);

        assertThat(report.written()).isEqualTo(4000);
        assertThat(report.sharedStorages()).isEqualTo(200);
        assertAdopted(big, told);
    }

    private DedupReport adopt(Path file, OpenOptions opening, SaveOptions saving) throws IOException {
        try (Checkpoint source = Checkpoint.open(file, opening)) {
            return Checkpoint.save(folder.resolve("model.croft"), source.state(), saving).dedup().orElseThrow();
        }
    }

    private DedupReport adopt(Path file, OpenOptions told) throws IOException {
        return adopt(file, told, SaveOptions.defaults().base(file, told));
    }

    private void assertAdopted(Path file, OpenOptions told) throws IOException {
        OpenOptions rooted = OpenOptions.defaults().root(folder);
        try (Checkpoint source = Checkpoint.open(file, told);
                Checkpoint adopted = Checkpoint.open(folder.resolve("model.croft"), rooted)) {
            assertThat(adopted.names()).containsExactlyElementsOf(source.names());
            for (String name : source.names()) {
                assertThat(adopted.tensor(name).contentEquals(source.tensor(name))).as(name).isTrue();
            }
            assertThat(adopted.verify().damages()).isEmpty();
        }
    }

    @Test
    void someTensorsAreLoadedAndTheOthersAreOnMeta() throws IOException {
        try (Checkpoint c = Checkpoint.open(model, OpenOptions.defaults().only("weight"))) {
            assertThat(c.names()).containsExactly("weight");
            assertThat(c.storages()).containsExactly(c.tensor("weight").storage());
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(((Tensor) state.get("tied")).storage()).isSameAs(c.tensor("weight").storage());
            assertThat(((Tensor) state.get("bias")).storage().isMeta()).isTrue();
            assertThat(((Tensor) state.get("empty")).storage().isMeta()).isTrue();
            assertThat(c.tensor("weight").getDouble(9, 99)).isEqualTo(999);
        }
    }

    @Test
    void whatIsWrittenToADecodedStorageStaysInMemory() throws IOException {
        Path path = Files7.FIXTURES.resolve("tensor-double-2x3.be.t7");
        try (Checkpoint c = Checkpoint.open(path)) {
            c.tensor("").setDouble(0, 0, 42);
            assertThat(c.tensor("").getDouble(0, 0)).isEqualTo(42);
        }
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("").getDouble(0, 0)).isEqualTo(1);
        }
    }

    @Test
    void loneValuesAreReadWhenTheFormatIsNamed() throws IOException {
        Path path = Files7.FIXTURES.resolve("true.bin.t7");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(path))
                .extracting(FormatException::code).isEqualTo("FORMAT-UNKNOWN");
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().format("torch7"))) {
            assertThat(c.state()).isEqualTo(true);
        }
    }

    @Test
    void aDamagedModelIsStillTakenForOneOfTorch7() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        Path cut = Files.write(folder.resolve("cut.t7"), Arrays.copyOf(bytes, bytes.length - 100));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(cut))
                .extracting(FormatException::code).asString().startsWith("TORCH7-");
    }

    @Test
    void whatStandsBehindTheFirstObjectIsIgnored() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 7);
        try (Checkpoint c = Checkpoint.open(Files.write(folder.resolve("longer.t7"), longer))) {
            assertThat(c.names()).contains("weight");
        }
    }

    @Test
    void otherFilesAreNotTakenForOurs() throws IOException {
        List<Path> others = new ArrayList<>();
        for (Path dir : List.of(Path.of("..", "test-support", "fixtures", "pytorch"),
                Path.of("..", "test-support", "fixtures", "models"),
                Path.of("..", "docs", "decisions"))) {
            try (var files = Files.list(dir)) {
                others.addAll(files.filter(Files::isRegularFile).toList());
            }
        }
        Random random = new Random(7);
        byte[] noise = new byte[4096];
        for (int i = 0; i < 100; i++) {
            random.nextBytes(noise);
            others.add(Files.write(folder.resolve("noise" + i), noise));
        }
        others.add(Files.write(folder.resolve("zeros"), new byte[4096]));
        for (String text : everydayTexts()) {
            others.add(Files.writeString(folder.resolve("text" + others.size()), text));
        }
        assertThat(others).hasSizeGreaterThan(200);
        for (Path other : others) {
            assertThat(Files7.matches(other)).as(other.toString()).isFalse();
        }
    }

    /// Texts that begin with small numbers, as files of Torch7 do; and others.
    private static List<String> everydayTexts() {
        String ones = "1\n".repeat(200_000);
        return List.of("hello, world\n",
                "3\n1\n0\n2\n5\n1\n", "1 2 3 4 5 6 7 8 9\n", "3\n", "3 1\n", "3,1,2\n", "0\n0\n0\n",
                // Edges of a graph; all of them numbers under numbers.
                "3 1 2\n1 1 1 2\n1 2 1 3\n", "3 1 100000\n" + "1 7 1 8\n".repeat(100_000),
                "3 1 100000\n" + ones, "3\n1\n100000\n" + ones, "3\r\n1\r\n1\r\n1\r\n5\r\n1\r\n6\r\n",
                "3\t1\t1\n1\t5\t1\t6\n", "3\n1\n1\n1\n5\n\n1\n6\n", "3  1  1  1  5  1  6",
                "8\n".repeat(9), "5\n".repeat(100), "4\n".repeat(100), "2\n".repeat(100), "3\n".repeat(15),
                "6\n1\n2\n1\n1\n", "7 1 3 abc 0", "8 1 3\nabc\n0\n",
                // CSV, with and without a head, and with other separators
                "x,y,label\n1,2,3\n", "5.1,3.5,1.4,0.2,setosa\n", "3;1;2\n1;5;1;6\n", "4\t2\t\"a\"\n",
                "%%MatrixMarket matrix coordinate real general\n% rows columns entries\n3 3 2\n1 1 5.0\n2 3 1e-3\n",
                "%%MatrixMarket matrix array integer general\n2 1\n1\n5\n",
                "P2\n3 1\n255\n0 128 255\n", "P3\n1 1\n255\n1 2 3\n", "P1\n2 2\n1 0\n0 1\n", "P6\n1 1\n255\nabc",
                // word2vec and GloVe; a corpus in bags of words; LIBSVM; METIS; DIMACS
                "400000 300\nthe 0.04656 0.21318 -0.0074364\n", "the 0.418 0.24968 -0.41242\n",
                "3\n4\n2\n1 1 2\n1 3 1\n",
                "1 1:0.5 3:1\n-1 2:1\n", "3 2\n2\n1 3\n2\n", "p edge 3 2\ne 1 2\n",
                // NIST's and others' tables of numbers, and a grid of ESRI
                "4\n2\nV 1\n1 2\n", "ncols 4\nnrows 1\n1 2 3 4\n", "2\n3\n1 1 1\n", "4 4\n1 0 0 0\n0 1 0 0\n",
                "{\"weight\": [1, 2, 3]}\n", "[3, 1, 2]\n", "3", "3.0\n1.0\n", "#!/bin/sh\nexit 3\n",
                "int main() { return 3; }\n", "import torch\n", "return { 3, 1, 2 }\n", "---\n- 3\n- 1\n",
                "<table border=\"1\"/>\n", "V 1\n", "nn.Sequential {\n  (1): nn.Linear(3 -> 1)\n}\n");
    }

    @Test
    void textThatTorch7WroteIsRecognisedHoweverLargeItIs() throws IOException {
        Map<String, Object> words = new LinkedHashMap<>();
        for (int i = 0; i < 50_000; i++) {
            words.put("word" + i, i);
        }
        SaveOptions ascii = SaveOptions.defaults().setting("torch7.encoding", "ascii");
        List<Object> states = List.of(words, Map.of("w", Tensor.arange(DType.FLOAT64, 100_000)), List.of(1, 2, 3),
                Map.of(), List.of("a"));
        for (Object state : states) {
            Checkpoint.save(model, state, ascii);
            assertThat(Files7.matches(model)).as("%.40s", state).isTrue();
        }
        byte[] written = Files7.written(List.of(1, 2, 3), ascii);
        Files.write(model, Arrays.copyOf(written, written.length - 1));
        assertThat(Files7.matches(model)).as("without its last line feed").isTrue();
    }
}
