package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateMismatchException;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Files of PyTorch, loaded in all the ways that there are.
class LoadingTest {
    private static final OpenOptions OPTIONS = OpenOptions.defaults();
    private static final Path TRAINING = Fixtures.MODELS.resolve("tiny-gpt2-training.pt");
    private static final String WTE = "model/transformer.wte.weight";
    private static final String HEAD = "model/lm_head.weight";

    @TempDir
    private Path folder;

    static List<String> fixtures() {
        return Fixtures.names("(?!BAD|UNSAFE|UNSUPPORTED|uint8_pk56).*\\.pt");
    }

    @ParameterizedTest
    @MethodSource("fixtures")
    void inMemoryAndOnMetaTensorsAndSharingAreThoseOfTheMappedFile(String fixture) throws IOException {
        Path path = Fixtures.PYTORCH.resolve(fixture);
        try (Checkpoint mapped = Checkpoint.open(path);
                Checkpoint read = Checkpoint.open(path, OPTIONS.inMemory());
                Checkpoint meta = Checkpoint.open(path, OPTIONS.onMeta())) {
            assertThat(geometry(read)).isEqualTo(geometry(mapped));
            assertThat(geometry(meta)).isEqualTo(geometry(mapped));
            assertThat(meta.storages()).allMatch(Storage::isMeta);
            assertThat(read.storages()).hasSameSizeAs(mapped.storages()).allMatch(Storage::isMaterialized);
            for (int i = 0; i < mapped.storages().size(); i++) {
                assertThat(read.storages().get(i).contentEquals(mapped.storages().get(i))).isTrue();
            }
        }
    }

    private static List<String> geometry(Checkpoint c) {
        return c.names().stream().map(name -> {
            Tensor tensor = c.tensor(name);
            return "%s %s %s %s %s in storage %s of %s".formatted(name, tensor.dtype(), tensor.shape(),
                    Arrays.toString(tensor.stride()), tensor.storageOffset(), c.storages().indexOf(tensor.storage()),
                    tensor.storage().nbytes());
        }).toList();
    }

    @Test
    void someTensorsAreLoadedAndTheOthersAreOnMeta() throws IOException {
        try (Checkpoint c = Checkpoint.open(TRAINING, OPTIONS.only("model/*.weight").inMemory());
                Checkpoint all = Checkpoint.open(TRAINING)) {
            assertThat(c.names()).isNotEmpty().allMatch(name -> name.matches("model/[^/]*\\.weight"))
                    .hasSize((int) all.names().stream().filter(name -> name.matches("model/[^/]*\\.weight")).count());
            c.names().forEach(name -> assertThat(c.tensor(name).contentEquals(all.tensor(name))).isTrue());
            assertThat(c.tensor(WTE).storage()).isSameAs(c.tensor(HEAD).storage());
            assertThat(c.storages()).allMatch(Storage::isMaterialized).doesNotHaveDuplicates();
            Map<String, TensorSpec> whole = TensorSpec.ofState(all.state());
            assertThat(TensorSpec.ofState(c.state())).isEqualTo(whole);
            Tensor other = (Tensor) ((Map<?, ?>) ((Map<?, ?>) c.state()).get("model"))
                    .get("transformer.h.0.ln_1.bias");
            assertThat(other.storage().isMeta()).isTrue();
        }
    }

    @Test
    void rowsAreCopiedOutOfTheMapping() throws IOException {
        try (Checkpoint c = Checkpoint.open(TRAINING)) {
            Tensor rows = c.rows(WTE, 3, 5);
            assertThat(rows.contentEquals(c.tensor(WTE).narrow(0, 3, 2))).isTrue();
            assertThat(rows.storage().nbytes()).isEqualTo(rows.nbytes());
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void rowsTouchTheirOwnPagesOnly() throws IOException {
        Path path = TorchZips.write(folder.resolve("large.pt"), 1 << 22);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.rows("", 1 << 20, (1 << 20) + 10).numel()).isEqualTo(10);
            // The system maps what it has in one piece around the pages that are touched: up to 2 MiB of these 16.
            assertThat(residentKibibytes(path)).isBetween(4L, 4096L);
        }
    }

    private static long residentKibibytes(Path path) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/smaps"))) {
            List<String> all = lines.toList();
            long sum = 0;
            for (int i = 0; i < all.size(); i++) {
                if (all.get(i).contains(path.toString())) {
                    String rss = all.subList(i, all.size()).stream().filter(line -> line.startsWith("Rss:")).findFirst()
                            .orElseThrow();
                    sum += Long.parseLong(rss.replaceAll("\\D", ""));
                }
            }
            return sum;
        }
    }

    @Test
    void aModelTakesTheWeightsOfAFile() throws IOException {
        try (Checkpoint c = Checkpoint.open(TRAINING, OPTIONS.only("model/**"))) {
            StorageCopier copy = StorageCopier.into(Allocator.offHeap());
            Map<String, Tensor> live = new LinkedHashMap<>();
            c.names().forEach(name -> live.put(name.substring("model/".length()), copy.copy(c.tensor(name))));
            live.values().forEach(tensor -> tensor.storage().fill((byte) 0));
            assertThat(c.loadInto(Map.of("model", live)).isExact()).isTrue();
            live.forEach((name, tensor) -> assertThat(tensor.contentEquals(c.tensor("model/" + name))).as(name)
                    .isTrue());
        }
    }

    /// More than there is memory for; but for its ends it is a hole in the file.
    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileOf70GibibytesOpensAndGivesItsEndsWithoutTheRest() throws IOException {
        long numel = 70L << 28;
        Path path = SparseZip.write(folder.resolve("sparse.pt"), numel);
        assertThat(Files.size(path)).isGreaterThan(4 * numel);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.rows("", 0, 2).toFloatArray()).containsExactly(1, 0);
            assertThat(c.rows("", numel - 2, numel).toFloatArray()).containsExactly(0, 2);
            assertThat(c.tensor("").getFloat(numel / 2)).isZero();
            assertThat(c.tensor("").getFloat(numel - 1)).isEqualTo(2);
            assertThat(residentKibibytes(path)).isBetween(4L, 16384L);
        }
    }

    @Test
    void recordsThatAreCompressedAreLoadedInAllWays() throws IOException {
        int numel = 1 << 18;
        Path path = TorchZips.write(folder.resolve("deflated.pt"), numel, ZipEntry.DEFLATED);
        assertThat(Files.size(path)).isLessThan(numel);
        Path plain = TorchZips.write(folder.resolve("plain.pt"), numel);
        Map<String, TensorSpec> expected = Map.of("", new TensorSpec(DType.FLOAT32, Shape.of(numel)));
        try (Checkpoint stored = Checkpoint.open(plain)) {
            Tensor whole = stored.tensor("");
            for (OpenOptions options : List.of(OPTIONS, OPTIONS.inMemory(), OPTIONS.only(""),
                    OPTIONS.inMemory().only("").strict(expected))) {
                try (Checkpoint c = Checkpoint.open(path, options)) {
                    assertThat(c.rows("", 5, 99).contentEquals(whole.narrow(0, 5, 94))).isTrue();
                    Tensor live = Tensor.zeros(DType.FLOAT32, numel);
                    assertThat(c.loadInto(live).isExact()).isTrue();
                    assertThat(live.contentEquals(whole)).isTrue();
                    assertThat(c.tensor("").contentEquals(whole)).isTrue();
                }
            }
            try (Checkpoint none = Checkpoint.open(path, OPTIONS.inMemory().only(_ -> false))) {
                assertThat(none.names()).isEmpty();
                assertThat(((Tensor) none.state()).storage().isMeta()).isTrue();
            }
        }
    }

    /// A `.croft` file whose bytes are in one of PyTorch.
    @Test
    void adoptedFilesAreLoadedInAllWays() throws IOException {
        Path torch = Files.copy(TRAINING, folder.resolve("training.pt"));
        Path croft = folder.resolve("training.croft");
        try (Checkpoint source = Checkpoint.open(torch)) {
            Checkpoint.save(croft, source.state(), SaveOptions.defaults().base(torch));
            OpenOptions below = OPTIONS.root(folder);
            for (OpenOptions options : List.of(below, below.inMemory(), below.only("model/**").inMemory(),
                    below.checksums(ChecksumPolicy.NONE), below.inMemory().checksums(ChecksumPolicy.EAGER))) {
                try (Checkpoint c = Checkpoint.open(croft, options)) {
                    assertThat(c.rows(WTE, 3, 5).contentEquals(source.tensor(WTE).narrow(0, 3, 2))).isTrue();
                    c.names().forEach(name -> assertThat(c.tensor(name).contentEquals(source.tensor(name))).as(name)
                            .isTrue());
                    assertThat(c.tensor(WTE).storage()).isSameAs(c.tensor(HEAD).storage());
                }
            }
            try (Checkpoint read = Checkpoint.open(croft, below.inMemory())) {
                Files.delete(torch);
                assertThat(read.tensor(HEAD).contentEquals(source.tensor(HEAD))).isTrue();
            }
        }
    }

    @Test
    void whatIsExpectedIsCompared() {
        Map<String, TensorSpec> expected = Map.of(WTE, new TensorSpec(DType.FLOAT32, Shape.of(1)));
        assertThatExceptionOfType(StateMismatchException.class)
                .isThrownBy(() -> Checkpoint.open(TRAINING, OPTIONS.only(WTE).strict(expected)))
                .withMessageContainingAll(TRAINING.toString(), "1 mismatched");
    }
}
