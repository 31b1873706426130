package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// A file takes little more than the bytes of the tensors in it.
class SizeLawsTest {
    private static final int MIB = 1 << 20;
    private static final long ALLOWANCE = 8 << 10;
    /// Where something changes: a cache line, a page, what Windows maps, a chunk.
    private static final List<Integer> BORDERS = List.of(1, 63, 64, 65, 4095, 4096, 4097, 65_535, 65_536, 65_537,
            100_000,
            MIB - 1, MIB, MIB + 1, MIB + 65_537, 3 * MIB - 1, 3 * MIB + 1);
    /// The records, the checksum and the alignment of a small tensor, and the tags and lengths in the state tree.
    private static final int RECORDS = 170;

    private final Random random = new Random(16);
    private Scratch scratch;

    @BeforeEach
    void makeScratch() throws IOException {
        scratch = Scratch.make();
    }

    @AfterEach
    void closeScratch() throws IOException {
        scratch.close();
    }

    @Test
    void aFileOfOneTensorIsWithinTheBoundWhateverItsSize() throws IOException {
        for (int nbytes : BORDERS) {
            assertBounded(state(1, _ -> nbytes));
        }
        assertThat(size(state(1, _ -> 40))).isLessThan(3 << 10);
        assertThat(size(Map.of())).isLessThan(2 << 10);
    }

    @Test
    void aFileOfSeveralTensorsIsWithinTheBoundWhateverTheirSizes() throws IOException {
        for (int tries = 0; tries < 40; tries++) {
            int largest = BORDERS.get(random.nextInt(BORDERS.size()));
            assertBounded(state(1 + random.nextInt(24), _ -> 1 + random.nextInt(largest)));
            assertBounded(state(1 + random.nextInt(12), _ -> BORDERS.get(random.nextInt(BORDERS.size()))));
        }
        assertBounded(state(20, _ -> 512));
    }

    @Test
    void aFileOfManySmallTensorsIsWithinTheBound() throws IOException {
        assertBounded(state(200, _ -> 12_500));
        assertBounded(state(400, _ -> 3 << 10));
        assertBounded(state(4000, _ -> 2000));
        assertBounded(state(400, _ -> 1700));
        assertBounded(state(100, i -> i % 2 == 0 ? 65_536 : 64));
        assertBounded(state(30, _ -> 70_000));
        assertBounded(state(10, _ -> 600_000));
        for (int tries = 0; tries < 10; tries++) {
            assertBounded(state(25 + random.nextInt(300), _ -> 2000 + random.nextInt(100_000)));
        }
    }

    /// No format that says what its tensors are stores thousands of a few bytes each within a tenth more.
    @Test
    void aTensorTakesLittleMoreThanItsBytesAndItsName() throws IOException {
        for (int nbytes : new int[]{1, 8, 64, 400, 1000}) {
            Map<String, Object> state = state(3000, _ -> nbytes);
            long names = state.keySet().stream().mapToLong(String::length).sum();
            assertThat(size(state)).as("3000 tensors of %d bytes", nbytes)
                    .isLessThanOrEqualTo(payload(state.values()) + 3000 * RECORDS + names + ALLOWANCE);
        }
    }

    @Test
    void aTensorOfANestedStateTakesLittleMoreThanItsBytesItsNameAndItsKey() throws IOException {
        Map<String, Object> layers = new LinkedHashMap<>();
        state(3000, _ -> 400).forEach((name, tensor) -> layers.put(name, Map.of("weight", tensor)));
        long names = layers.keySet().stream().mapToLong(name -> name.length() + "/weight".length()).sum();
        long keys = layers.keySet().stream().mapToLong(name -> name.length() + "weight".length()).sum();
        assertThat(size(layers)).isLessThanOrEqualTo(3000 * (400 + RECORDS) + names + keys + ALLOWANCE);
    }

    @Test
    void aTensorOfManyChunksTakesFortyBytesAChunk() throws IOException {
        long few = size(state(1, _ -> 2 * MIB)) - 2 * MIB;
        long many = size(state(1, _ -> 34 * MIB)) - 34 * MIB;
        assertThat(many - few).isEqualTo(32 * 40);
    }

    @Test
    void aSmallSnapshotThatIsAppendedTakesLittleMoreThanAPage() throws IOException {
        Path path = scratch.file("grows.croft");
        SaveOptions options = SaveOptions.defaults().sharing(Sharing.CONTENT);
        Checkpoint.save(path, state(3, _ -> 500), options);
        CroftFile.open(path).commit(state(3, _ -> 500), options);
        for (int commits = 0; commits < 10; commits++) {
            long before = Files.size(path);
            CroftFile.open(path).commit(state(3, _ -> 500), options);
            assertThat(Files.size(path) - before).isLessThan(2 * 4096);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pytorch", "models", "safetensors", "numpy", "gguf", "torch7"})
    void aConvertedFileIsWithinATenthOfItsSource(String folder) throws IOException {
        int converted = 0;
        for (Path source : files(Repository.path("test-support/fixtures/" + folder))) {
            Path target = scratch.file("converted.croft");
            try (Checkpoint checkpoint = Checkpoint.open(source)) {
                Checkpoint.save(target, checkpoint.tree(), SaveOptions.defaults());
                long bytes = payload(checkpoint.names().stream().map(checkpoint::tensor).toList());
                assertThat(Files.size(target)).as("%s, of %d bytes, with %d bytes in tensors", source.getFileName(),
                        Files.size(source), bytes).isLessThanOrEqualTo(bound(Math.max(Files.size(source), bytes)));
                converted++;
            } catch (FormatException | IllegalArgumentException | UnsupportedOperationException e) {
                assertThat(e).as("a file that is no checkpoint, or is broken on purpose").isNotNull();
            }
        }
        assertThat(converted).isPositive();
    }

    private static List<Path> files(Path folder) {
        try (Stream<Path> found = Files.list(folder)) {
            return found.filter(Files::isRegularFile)
                    .filter(file -> file.toString().matches(".*\\.(pt|safetensors|npz|npy|gguf|t7)")).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<String, Object> state(int tensors, IntUnaryOperator size) {
        Map<String, Object> state = new LinkedHashMap<>();
        IntStream.range(0, tensors).forEach(i -> {
            byte[] bytes = new byte[size.applyAsInt(i)];
            random.nextBytes(bytes);
            state.put("model.layers." + i + ".attention.weight", Tensor.of(bytes));
        });
        return state;
    }

    private void assertBounded(Map<String, Object> state) throws IOException {
        long payload = payload(state.values());
        assertThat(size(state)).as("%d tensors, %d bytes", state.size(), payload).isLessThanOrEqualTo(bound(payload));
    }

    private static long bound(long payload) {
        return payload + payload / 10 + ALLOWANCE;
    }

    private static long payload(Iterable<?> tensors) {
        Set<Storage> storages = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Object tensor : tensors) {
            storages.add(((Tensor) tensor).storage());
        }
        return storages.stream().mapToLong(Storage::nbytes).sum();
    }

    private long size(Map<String, Object> state) throws IOException {
        Path path = scratch.file("sized.croft");
        Checkpoint.save(path, state, SaveOptions.defaults());
        return Files.size(path);
    }
}
