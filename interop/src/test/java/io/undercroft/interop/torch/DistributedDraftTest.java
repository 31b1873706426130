package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Distributed checkpoints that are written.
class DistributedDraftTest {
    private static final SaveOptions OPTIONS = SaveOptions.defaults().format("torch-dcp");

    @TempDir
    private Path folder;
    private Path there;

    @BeforeEach
    void makeTheDirectory() throws IOException {
        there = Files.createDirectory(folder.resolve("dcp"));
    }

    private static Map<Object, Object> map(Object... entries) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            map.put(entries[i], entries[i + 1]);
        }
        return map;
    }

    private static Tensor numbers(long... shape) {
        return Tensor.arange(DType.FLOAT32, io.undercroft.storage.Shape.of(shape).numel()).view(shape);
    }

    private static <T> T filled(T node, Map<? super String, Object> parts, Object... entries) {
        map(entries).forEach((name, part) -> parts.put((String) name, part));
        return node;
    }

    /// Tensors of PyTorch that are no plain ones.
    private static List<Object> kinds() {
        TypedMap coordinates = new TypedMap("torch.sparse_coo");
        TypedMap rows = new TypedMap("torch.sparse_csr");
        TypedMap nested = new TypedMap("torch.nested");
        Typed quantized = new Typed("torch.per_tensor_affine", Tensor.zeros(DType.QUINT8, 3, 2));
        Typed channels = new Typed("torch.per_channel_affine", Tensor.zeros(DType.QINT8, 2, 3));
        return new ArrayList<>(List.of(
                filled(coordinates, coordinates, "indices", Tensor.of(0L, 2L).view(1, 2), "values", numbers(2), "size",
                        Shape.of(3), "is_coalesced", true),
                filled(rows, rows, "crow_indices", Tensor.of(0L, 1L, 2L), "col_indices", Tensor.of(2L, 0L), "values",
                        numbers(2), "size", Shape.of(2, 3)),
                filled(nested, nested, "buffer", numbers(5), "sizes", Tensor.of(2L, 3L).view(2, 1), "strides",
                        Tensor.of(1L, 1L).view(2, 1), "storage_offsets", Tensor.of(0L, 2L)),
                filled(quantized, quantized.attributes(), "scale", 0.5, "zero_point", 3L),
                filled(channels, channels.attributes(), "scales", numbers(2).to(DType.FLOAT64), "zero_points",
                        Tensor.of(1L, 2L), "axis", 0L)));
    }

    /// A model and its optimizer, with everything that a state of PyTorch may have.
    private static Map<Object, Object> training() {
        TypedMap model = new TypedMap("collections.OrderedDict");
        model.put("0.weight", new Typed("torch.nn.parameter.Parameter",
                numbers(7, 5).withFlags(Set.of(Flag.REQUIRES_GRAD))));
        model.put("0.bias", numbers(7));
        model.put("1.weight", numbers(3, 7));
        model.put("view", numbers(5, 4).narrow(0, 1, 2).narrow(1, 2, 2));
        model.put("transposed", numbers(6, 4).transpose(0, 1));
        model.put("scalar", numbers(1).view());
        model.put("empty", Tensor.zeros(DType.FLOAT32, 0, 3));
        model.put("large", numbers(64, 33));
        List<Object> dtypes = new ArrayList<>();
        for (DType dtype : List.of(DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.INT32, DType.INT16,
                DType.INT8, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL, DType.COMPLEX64,
                DType.COMPLEX128, DType.FLOAT8_E4M3FN, DType.FLOAT8_E5M2)) {
            dtypes.add(dtype.equals(DType.BOOL) || dtype.kind() == DType.Kind.COMPLEX || dtype.itemsize() == 1
                    ? Tensor.zeros(dtype, 2, 3)
                    : Tensor.arange(DType.INT64, 6).view(2, 3).to(dtype));
        }
        Tensor tied = numbers(2, 2);
        return map("model", model, "dtypes", dtypes, "tied", map("a", tied, "b", tied), "conjugate",
                Tensor.zeros(DType.COMPLEX64, 3).withFlags(Set.of(Flag.CONJ)), "optimizer",
                map("state", map(0L, map("step", numbers(1).view(), "exp_avg", numbers(7, 5))), "param_groups",
                        List.of(map("lr", 0.1, "betas", Tuple.of(0.9, 0.999), "params", List.of(0L, 1L), "none", null,
                                "nothing", map()))),
                "sparse", kinds().getFirst(), "epoch", 3L, "text", "a/b.c", "pair", Tuple.of(numbers(2), 1L), "nested",
                List.of(numbers(2), "x", List.of(numbers(1), 5L)), "a.b", numbers(1), "list", List.of());
    }

    // ---- what PyTorch makes of it ----

    @Test
    void pyTorchLoadsItInOneProcessAndInFourAndConvertsIt() throws IOException {
        RealPython python = RealPython.with("torch");
        Checkpoint.save(there, training(), OPTIONS.setting("torch-dcp.shard", "10KB"));
        Checkpoint.save(folder.resolve("whole.pt"), training());
        // PyTorch has a list of tensors as an entry for each, also if all of them are sparse or quantized.
        Path lists = Files.createDirectories(folder.resolve("lists/dcp"));
        Map<Object, Object> kinds = map("kinds", kinds(), "nested", List.of(kinds()));
        Checkpoint.save(lists, kinds, OPTIONS);
        Checkpoint.save(folder.resolve("lists/whole.pt"), kinds);
        try (InputStream script = Objects
                .requireNonNull(DistributedDraftTest.class.getResourceAsStream("loading.py"))) {
            assertThat(python.run(new String(script.readAllBytes(), UTF_8), folder)).endsWith("loaded\n");
        }
    }

    @Test
    void anElementThatIsRepeatedBeyondAnyFileIsRefused() {
        Storage one = Storage.allocate(1);
        for (long count : new long[]{1L << 50, Long.MAX_VALUE - 1, Long.MAX_VALUE}) {
            Tensor repeated = Tensor.of(one, DType.UINT8, 0, Shape.of(count), 0);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(there, Map.of("w", repeated, "v", repeated), OPTIONS))
                    .withMessageContaining("the state would become");
            assertThat(there).isEmptyDirectory();
        }
    }

    // ---- what is written ----

    @Test
    void whatIsWrittenIsReadAndMappedInPlace() throws IOException {
        SaveReport report = Checkpoint.save(there, training(), OPTIONS);
        assertThat(report.files()).containsExactlyInAnyOrder(there.resolve(".metadata"), there.resolve("__0_0.distcp"));
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.format()).isEqualTo("torch-dcp");
            assertThat(c.tensor("model/0.weight").contentEquals(numbers(7, 5))).isTrue();
            assertThat(c.tensor("model/transposed").contentEquals(numbers(6, 4).transpose(0, 1))).isTrue();
            assertThat(c.tensor("optimizer/state/0/exp_avg").contentEquals(numbers(7, 5))).isTrue();
            Map<?, ?> state = (Map<?, ?>) Objects.requireNonNull(c.state());
            assertThat(state.keySet().stream().toList()).isEqualTo(training().keySet().stream().toList());
            assertThat(state.get("epoch")).isEqualTo(3L);
            assertThat(state.get("list")).isEqualTo(List.of());
            assertThat(c.verify().isIntact()).isTrue();
            assertThat(c.unread()).isEmpty();
            for (Storage storage : c.storages()) {
                assertThat(c.extents(storage)).allMatch(extent -> extent.offset() % Storage.ALIGNMENT == 0);
            }
            assertThat(c.tensor("model/large").storage().materialize().isDecodedOnDemand()).isFalse();
        }
    }

    @Test
    void aShardIsNoLargerThanTheSettingUnlessOneTensorIs() throws IOException {
        Map<Object, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 5; i++) {
            state.put("t" + i, numbers(500));
        }
        state.put("large", numbers(3000));
        Checkpoint.save(there, state, OPTIONS.setting("torch-dcp.shard", "8KiB"));
        try (Stream<Path> files = Files.list(there)) {
            assertThat(files.map(file -> file.getFileName().toString()).sorted())
                    .containsExactly(".metadata", "__0_0.distcp", "__0_1.distcp", "__0_2.distcp", "__0_3.distcp");
        }
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.names()).containsExactlyElementsOf(state.keySet().stream().map(Object::toString).toList());
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aStateWithoutAnythingIsAnIndex() throws IOException {
        Checkpoint.save(there, Map.of(), OPTIONS);
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.state()).isEqualTo(Map.of());
        }
    }

    @Test
    void manySmallTensorsAreRead() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor one = Tensor.of(1f);
        for (int i = 0; i < 5000; i++) {
            state.put(Integer.toString(i), one);
        }
        Checkpoint.save(there, state, OPTIONS);
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.names()).hasSize(5000);
        }
    }

    /// Slices of several files are one tensor, of one chunk.
    @Test
    void aSetOfSlicesIsSavedAsWholeTensors() throws IOException {
        Tensor whole = numbers(5, 4);
        List<Path> files = List.of(folder.resolve("0.croft"), folder.resolve("1.croft"), folder.resolve("2.croft"));
        long[][] boxes = {{0, 0, 5, 1}, {0, 1, 2, 3}, {2, 1, 3, 3}};
        for (int i = 0; i < boxes.length; i++) {
            long[] box = boxes[i];
            Checkpoint.save(files.get(i), map("model", map("w", Slice.of(whole.narrow(0, box[0], box[2]).narrow(1,
                    box[1], box[3]), whole.shape(), box[0], box[1])), "own" + i, numbers(i)));
        }
        Path set = folder.resolve("all.croftset");
        ShardSet.create(set, files);
        try (Checkpoint source = Checkpoint.open(set)) {
            SaveReport report = Checkpoint.save(there, source.state(), OPTIONS);
            assertThat(report.losses()).isEmpty();
            try (Checkpoint c = Checkpoint.open(there)) {
                Sameness.check(source.state(), c.state());
                assertThat(c.tensor("model/w").contentEquals(whole)).isTrue();
                assertThat(c.verify().isIntact()).isTrue();
            }
        }
    }

    // ---- what is lost, and what is refused ----

    @Test
    void whatIsLostIsReported() throws IOException {
        SaveReport report = Checkpoint.save(there, training(), OPTIONS.metadata(Map.of("by", "me")));
        assertThat(report.loss(Kind.SHARING).orElseThrow().names()).containsExactly("tied/a", "tied/b");
        assertThat(report.loss(Kind.REQUIRES_GRAD).orElseThrow().names()).containsExactly("model/0.weight");
        assertThat(report.loss(Kind.KEYS).orElseThrow().names()).containsExactly("optimizer/state");
        assertThat(report.loss(Kind.METADATA).orElseThrow().names()).containsExactly("by");
        assertThat(report.loss(Kind.UNREACHED).orElseThrow().names()).containsExactly("model/view");
        assertThat(report.losses()).hasSize(5);
    }

    @Test
    void tensorsInOneValueShareTheirStorageAgain() throws IOException {
        Tensor tied = numbers(4);
        SaveReport report = Checkpoint.save(there, map("pair", Tuple.of(tied, tied.narrow(0, 1, 2))), OPTIONS);
        assertThat(report.losses()).isEmpty();
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.tensor("pair/0").storage()).isSameAs(c.tensor("pair/1").storage());
        }
    }

    @Test
    void whatIsWrittenTwiceIsNotSharedAndIsKeptOnce() throws IOException {
        Tensor tied = numbers(4).withFlags(Set.of(Flag.REQUIRES_GRAD));
        Tensor part = tied.narrow(0, 1, 2);
        Tuple pair = Tuple.of(part, part.narrow(0, 0, 1));

        SaveReport report = Checkpoint.save(there, map("own", part, "pair", pair, "again", pair), OPTIONS);

        assertThat(report.losses()).containsExactly(
                SaveReport.Loss.of(Kind.SHARING, List.of("own", "pair/0", "pair/1", "again/0", "again/1")));
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.tensor("pair/0").storage()).isSameAs(c.tensor("pair/1").storage())
                    .isNotSameAs(c.tensor("again/0").storage());
            assertThat(c.tensor("again/0").is(Flag.REQUIRES_GRAD)).isTrue();
            assertThat(c.tensor("again/0").storage().nbytes()).isEqualTo(16);
        }
    }

    @Test
    void tensorsThatAreNotWrittenShareNothing() throws IOException {
        Tensor tied = numbers(4);
        TypedMap model = new TypedMap("collections.OrderedDict");
        model.put("step", 1L);
        model.attributes().put("_metadata", Tuple.of(tied, tied));

        SaveReport report = Checkpoint.save(there, map("model", model), OPTIONS);

        assertThat(report.names()).isZero();
        assertThat(report.losses()).containsExactly(
                SaveReport.Loss.of(Kind.ATTRIBUTES, List.of("model/_metadata")));
    }

    @Test
    void tensorsUnderAnEmptyKeyHaveTheNamesOfTheState() throws IOException {
        Tensor tied = numbers(2);
        Map<Object, Object> state = map("", Tuple.of(tied), "w", tied);

        assertThat(Checkpoint.save(there, state, OPTIONS).losses())
                .containsExactly(SaveReport.Loss.of(Kind.SHARING, List.of("0", "w")));
        try (Checkpoint c = Checkpoint.open(there, OpenOptions.defaults().only("0"::equals))) {
            assertThat(c.names()).containsExactly("0");
        }
    }

    private void assertRefused(Object state, String path, String... words) {
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(there, state, OPTIONS))
                .satisfies(
                        e -> assertThat(e.getMessage()).contains(path).contains(List.of(words)).doesNotContain("\n"));
        assertThat(there).isEmptyDirectory();
    }

    @Test
    void whatTheFormatDoesNotHoldIsRefusedByItsPath() {
        assertRefused(List.of(numbers(1)), "the state is a list", "Save a map with it");
        assertRefused(map("a", List.of(map("b", Tensor.zeros(DType.opaque("gguf:Q4_0", 144), 2)))), "a/0/b",
                "PyTorch has no dtype gguf:Q4_0", "or convert");
        assertRefused(map("a", map("b", Tensor.meta(DType.FLOAT32, 2))), "a/b", "on the meta device");
        assertRefused(map("a", map("b", new Object())), "a/b", "Object");
        assertRefused(map("a", map(1.5, numbers(1))), "a: ", "the key 1.5");
        assertRefused(map("a.b", numbers(1), "a", map("b", numbers(1))), "a/b", "'a.b'");
        assertRefused(map("a", map(1L, map(), "1", map())), "a: ", "two keys");
        List<Object> loop = new ArrayList<>(List.of(numbers(1)));
        loop.add(loop);
        assertRefused(map("a", loop), "a/1/1", "deep");
    }

    @Test
    void theValueThatIsRefusedIsNamed() {
        assertThatExceptionOfType(UnsavableValueException.class)
                .isThrownBy(() -> Checkpoint.save(there, map("a", map("b", List.of(1L, new TypedMap("python:m.C")))),
                        OPTIONS))
                .withMessageContaining("cannot save a/b/1 for PyTorch: it is an object of the class 'm.C'")
                .returns("a/b/1", UnsavableValueException::path);
    }

    @Test
    void mapsInVeryManyPlacesAreRefused() {
        Map<Object, Object> nested = map("w", numbers(1));
        for (int i = 0; i < 40; i++) {
            nested = map("a", nested, "b", nested);
        }
        assertRefused(nested, "", "several places");
    }

    // ---- where it is written ----

    @Test
    void anotherNameThanThatOfTheIndexIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(folder.resolve("new"), training(), OPTIONS))
                .withMessageContaining("a directory that exists").withMessageContaining(".metadata");
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> Checkpoint.save(folder.resolve("new/.metadata"), training(), OPTIONS));
    }

    /// Shards are never replaced, as the index that is there may need them.
    @Test
    void aCheckpointIsReplacedOnlyIfItsShardsHaveOtherNames() throws IOException {
        Checkpoint.save(there, map("a", Tensor.of(1f)), OPTIONS);
        assertThatExceptionOfType(FileAlreadyExistsException.class)
                .isThrownBy(() -> Checkpoint.save(there, map("a", Tensor.of(2f)), OPTIONS))
                .withMessageContaining("__0_0.distcp");
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.tensor("a").getFloat(0)).isEqualTo(1);
        }
        Path other = Files.createDirectory(folder.resolve("other"));
        new DistributedBuilder(other).tensor("a", "float32", 1).chunk("a", "__7_0.distcp", Tensor.of(3f), 0).write();
        SaveReport report = Checkpoint.save(other, map("a", Tensor.of(4f)), OPTIONS);
        assertThat(report.leftBehind()).containsExactly(other.resolve("__7_0.distcp"));
        try (Checkpoint c = Checkpoint.open(other)) {
            assertThat(c.tensor("a").getFloat(0)).isEqualTo(4);
            assertThatExceptionOfType(SourceFileException.class)
                    .isThrownBy(() -> Checkpoint.save(other, c.state(), OPTIONS));
        }
    }

    @Test
    void aModelInSeveralFilesIsSavedToADirectoryToo() throws IOException {
        Checkpoint.save(there, map("a", Tensor.of(1f)), SaveOptions.defaults().format("safetensors-index"));
        try (Checkpoint c = Checkpoint.open(there.resolve("model.safetensors.index.json"), OpenOptions.defaults())) {
            assertThat(c.tensor("a").getFloat(0)).isEqualTo(1);
        }
    }
}
