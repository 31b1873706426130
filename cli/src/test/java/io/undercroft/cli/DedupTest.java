package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DedupTest {
    private static final long CHUNK = 1 << 20;

    @TempDir
    Path folder;

    /// States that have whole storages, chunks and zeros in common.
    private static Map<String, Object> state(int number) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("common", Tensor.arange(DType.INT32, CHUNK));
        state.put("own", Tensor.full(DType.INT64, number, 1000));
        Tensor tuned = Tensor.arange(DType.INT32, CHUNK + 5).copy();
        tuned.narrow(0, CHUNK / 2, 10).fill(number);
        state.put("tuned", tuned);
        state.put("zeros", Tensor.zeros(DType.INT32, CHUNK / 2));
        return state;
    }

    @Test
    void theBytesAreThoseThatOneFileWrites() throws IOException {
        Path one = folder.resolve("files/one.croft");
        Path two = folder.resolve("files/deep/two.safetensors");
        Path three = folder.resolve("files/three.pt");
        Files.createDirectories(two.getParent());
        Checkpoint.save(one, state(1));
        Checkpoint.save(two, state(2));
        Checkpoint.save(three, state(3));
        Files.writeString(folder.resolve("files/notes.txt"), "no tensors");
        Files.createFile(folder.resolve("files/empty.lock"));
        Files.createSymbolicLink(folder.resolve("files/again.pt"), three);

        Invocation counted = Invocation.of("dedup --json", folder.resolve("files"));
        assertThat(counted.code()).isZero();
        JsonNode json = counted.json();

        Path all = folder.resolve("all.croft");
        long written = 0;
        try (CroftFile file = CroftFile.open(all)) {
            for (Path each : new Path[]{three, two, one}) {
                try (Checkpoint checkpoint = Checkpoint.open(each)) {
                    written += file.commit(checkpoint.tree(), SaveOptions.defaults()).written();
                }
            }
        }
        assertThat(json.get("unique_nbytes").asLong()).isEqualTo(written);
        assertThat(json.get("files")).hasSize(3);
        long nbytes = Files.size(one) + Files.size(two) + Files.size(three);
        assertThat(json.get("nbytes").asLong()).isEqualTo(nbytes);
        assertThat(json.get("saved_nbytes").asLong()).isEqualTo(nbytes - written);
        assertThat(json.get("storage_nbytes").asLong()).isEqualTo(3 * (10 * CHUNK + 8000 + 20));
        assertThat(json.at("/files/0/file").asText()).endsWith("again.pt");
        assertThat(json.at("/files/1/new_nbytes").asLong()).isEqualTo(CHUNK + 8000);
    }

    @Test
    void theTextOutputIsATable() throws IOException {
        Files.copy(TRAINING, folder.resolve("a.pt"));
        Invocation.of("convert", TRAINING, folder.resolve("b.croft"));

        Invocation shown = Invocation.of("dedup", folder);

        assertThat(shown.code()).isZero();
        assertThat(shown.err()).isEmpty();
        assertThat(shown.out()).contains("a.pt", "torch-zip", "b.croft",
                "2 files, 3.2 MiB; their storages have 3.1 MiB,"
                        + " 1.6 MiB of them different\n",
                "one .croft file with all of them would save 1.6 MiB (50.");
        assertThat(folder).isDirectoryContaining("glob:**/a.pt");
        assertThat(folder.toFile().list()).hasSize(2);
    }

    @Test
    void aFileThatIsNamedTwiceCountsOnce() throws IOException {
        Path file = Files.copy(TRAINING, folder.resolve("a.pt"));

        Invocation twice = Invocation.of("dedup", folder, file, folder);

        assertThat(twice.err()).isEmpty();
        assertThat(twice.out()).isEqualTo(Invocation.of("dedup", folder).out()).contains("1 file, 1.6 MiB");
    }

    @Test
    void filesThatCannotBeReadAreNamedAndTheOthersCounted() throws IOException {
        Files.copy(TRAINING, folder.resolve("a.pt"));
        byte[] bytes = Files.readAllBytes(TRAINING);
        Files.write(folder.resolve("cut.pt"), Arrays.copyOf(bytes, bytes.length / 2));

        Invocation shown = Invocation.of("dedup", folder);

        assertThat(shown.code()).isEqualTo(4);
        assertThat(shown.err()).hasLineCount(1).contains("cut.pt");
        assertThat(shown.out()).contains("1 file, 1.6 MiB");
    }

    @Test
    void aDirectoryWithoutTensorsIsReported() throws IOException {
        Files.writeString(folder.resolve("notes.txt"), "no tensors");

        Invocation shown = Invocation.of("dedup", folder);

        assertThat(shown.code()).isEqualTo(3);
        assertThat(shown.err()).hasLineCount(1).contains("no file of a known format in " + folder);
    }

    @Test
    void storagesOfAbsentDevicesAreCountedAndThoseWithoutBytesAreNot() throws IOException {
        Files.copy(Invocation.torch("BAD_location_cuda.pt"), folder.resolve("a.pt"));
        Checkpoint.save(folder.resolve("b.croft"), Map.of("m", Tensor.meta(DType.FLOAT32, 1000)));

        JsonNode json = Invocation.of("dedup --json", folder).json();

        assertThat(json.at("/files/0/new_nbytes").asLong()).isPositive();
        assertThat(json.at("/files/1/storage_nbytes").asLong()).isZero();
        assertThat(json.at("/files/1/new_nbytes").asLong()).isZero();
    }

    @Test
    void theShardsOfAnIndexAreCounted() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        assertThat(Invocation.of("convert", TRAINING, index, "--part", "model", "--to-set", "safetensors.shard=200KB")
                .code()).isZero();

        JsonNode json = Invocation.of("dedup --json", folder).json();

        json.get("files").forEach(file -> assertThat(file.get("format").asText()).isEqualTo("safetensors"));
        assertThat(json.get("files").size()).isGreaterThan(1);

        Files.delete(Path.of(json.at("/files/0/file").asText()));
        Invocation incomplete = Invocation.of("dedup --json", folder);
        assertThat(incomplete.code()).isZero();
        assertThat(incomplete.json().get("files")).hasSize(json.get("files").size() - 1);
    }

    @Test
    void aDirectoryThatCannotBeReadIsNamedAndTheOthersCounted() throws IOException {
        Path files = Files.createDirectory(folder.resolve("files"));
        Files.copy(TRAINING, files.resolve("a.pt"));
        Files.copy(TRAINING, files.resolve("z.pt"));
        // A path that is longer than the system's limit cannot be read by any user.
        Path deep = Files.createDirectory(folder.resolve("deep"));
        Path inner = Files.createDirectories(files.resolve("m/" + "n".repeat(200)));
        for (int i = 0; i < 16; i++) {
            deep = Files.createDirectory(deep.resolve("d".repeat(200)));
            if (i < 4) {
                inner = Files.createDirectory(inner.resolve("n".repeat(200)));
            }
        }
        Path moved = inner.resolve("deep");
        Files.move(folder.resolve("deep"), moved);
        try {
            Invocation shown = Invocation.of("dedup", files);

            assertThat(shown.code()).isEqualTo(CommandRunner.MISSING);
            assertThat(shown.err()).hasLineCount(1).contains(moved.toString());
            assertThat(shown.out()).contains("a.pt", "z.pt", "2 files, 3.2 MiB");
        } finally {
            // Otherwise the directory of the test cannot be deleted.
            Files.move(moved, folder.resolve("deep"));
        }
    }

    @Test
    void aLinkToADirectoryIsFollowedIfItIsNamed() throws IOException {
        Path files = Files.createDirectory(folder.resolve("files"));
        Files.copy(TRAINING, files.resolve("a.pt"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), files);

        assertThat(Invocation.of("dedup", link).out()).contains("a.pt", "1 file, 1.6 MiB");
    }

    @Test
    void theFilesOfASplitGgufCountOnceAsOneModel() throws IOException {
        for (int number = 0; number < 2; number++) {
            TypedMap part = new TypedMap("gguf");
            part.put("layer." + number, Tensor.full(DType.FLOAT32, number + 1.0, 1000));
            part.attributes().put("split.no", number);
            part.attributes().put("split.count", 2);
            part.attributes().put("split.tensors.count", 2);
            Checkpoint.save(folder.resolve("model-0000%s-of-00002.gguf".formatted(number + 1)), part);
        }

        Invocation dedup = Invocation.of("dedup", folder);

        assertThat(dedup.code()).isZero();
        assertThat(dedup.out()).contains("model-00001-of-00002.gguf").doesNotContain("model-00002-of-00002.gguf");
    }

    /// Weights of a model whose layers compress differently.
    private static Map<String, Object> weights(Random random) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int layer = 0; layer < 4; layer++) {
            Tensor weights = Tensor.zeros(layer == 0 ? DType.FLOAT32 : DType.BFLOAT16, layer == 3 ? 5000 : 1_300_000);
            for (long i = 0; i < weights.numel(); i++) {
                weights.setDouble(i, random.nextGaussian() * 0.02);
            }
            state.put("layer." + layer, weights);
        }
        state.put("ids", Tensor.arange(DType.INT64, 1000));
        return state;
    }

    private static Map<String, Object> tuned(Map<String, Object> base, Random random) {
        Map<String, Object> state = new LinkedHashMap<>();
        base.forEach((name, each) -> {
            Tensor tuned = ((Tensor) each).copy();
            for (long i = 0; !name.equals("ids") && i < tuned.numel(); i++) {
                tuned.setDouble(i, tuned.getDouble(i) + random.nextGaussian() * 5e-5);
            }
            state.put(name, tuned);
        });
        state.put("own", Tensor.full(DType.FLOAT32, random.nextDouble(), 2000));
        return state;
    }

    @Test
    void whatCompressionWouldStoreIsEstimatedFromASampleOfTheBytes() throws IOException {
        Path files = Files.createDirectory(folder.resolve("files"));
        Random random = new Random(1);
        Map<String, Object> base = weights(random);
        List<Map<String, Object>> states = List.of(base, tuned(base, random), tuned(base, random));
        Checkpoint.save(files.resolve("a.safetensors"), states.get(0));
        Checkpoint.save(files.resolve("b.croft"), states.get(1), SaveOptions.defaults().compress(Compression.ALONE));
        Checkpoint.save(files.resolve("c.croft"), states.get(2));
        long alone = 0;
        long difference = 0;
        try (CroftFile one = CroftFile.open(folder.resolve("alone.croft"));
                CroftFile two = CroftFile.open(folder.resolve("against.croft"))) {
            for (Map<String, Object> state : states) {
                alone += stored(one.commit(state, SaveOptions.defaults().compress(Compression.ALONE)));
                difference += stored(two.commit(state, SaveOptions.defaults()
                        .compress(state == base ? Compression.NONE : Compression.AGAINST_BASE)));
            }
        }

        JsonNode estimate = Invocation.of("dedup --json", files).json().get("estimate");

        assertThat(estimate.get("alone_nbytes").asLong()).isCloseTo(alone, withinPercentage(3));
        assertThat(estimate.get("against_base_nbytes").asLong()).isCloseTo(difference, withinPercentage(3));
        assertThat(estimate.get("sampled_nbytes").asLong()).isLessThan(48 << 20);
        assertThat(Invocation.of("dedup", files).out()).contains("with --compress alone it would have about ",
                ", with --compress against-base for all but the first file with a tensor, about ",
                " MiB that were read)");
    }

    private static long stored(DedupReport report) {
        return report.written() - report.compressed();
    }

    @Test
    void withoutSuchTensorsInAnotherFileThereIsNoEstimateOfDifferences() throws IOException {
        Checkpoint.save(folder.resolve("a.croft"), weights(new Random(2)));
        Checkpoint.save(folder.resolve("b.croft"), Map.of("layer.1", Tensor.arange(DType.INT64, 5000)));

        Invocation shown = Invocation.of("dedup", folder);

        assertThat(shown.out()).contains("with --compress alone").doesNotContain("with --compress against-base");
        JsonNode estimate = Invocation.of("dedup --json", folder).json();
        assertThat(estimate.at("/estimate/against_base_nbytes")).isEqualTo(estimate.get("unique_nbytes"));
    }

    @Test
    void compressedFilesAreCountedByTheirDigestsEvenWithoutTheirBase() throws IOException {
        Random random = new Random(3);
        Path base = folder.resolve("base.croft");
        Path tuned = folder.resolve("tuned.croft");
        Map<String, Object> state = weights(random);
        Checkpoint.save(base, state);
        Checkpoint.save(tuned, tuned(state, random),
                SaveOptions.defaults().base(base).compress(Compression.AGAINST_BASE));
        JsonNode whole = Invocation.of("dedup --json", tuned).json();
        Files.delete(base);

        Invocation missing = Invocation.of("dedup --json", tuned);

        assertThat(missing.code()).isEqualTo(CommandRunner.OK);
        assertThat(missing.json().get("unique_nbytes")).isEqualTo(whole.get("unique_nbytes"));
    }
}
