package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractStringAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Tensors whose slices are in several shards.
class SlicedSetTest {
    private static final SaveOptions RUN = SaveOptions.defaults().run("run 7", 4);

    @TempDir
    private Path folder;

    /// A matrix whose element at a row and a column is 100 times the row plus the column.
    private static Tensor matrix(int rows, int columns) {
        Tensor matrix = Tensor.zeros(DType.FLOAT32, rows, columns);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                matrix.setFloat(row, column, 100 * row + column);
            }
        }
        return matrix;
    }

    private static Slice box(Tensor whole, int row, int column, int rows, int columns) {
        return Slice.of(whole.narrow(0, row, rows).narrow(1, column, columns), whole.shape(), row, column);
    }

    private Path manifest() {
        return folder.resolve("model.croftset");
    }

    private Path saved(String name, Map<String, ?> state) throws IOException {
        return saved(name, state, SaveOptions.defaults());
    }

    private Path saved(String name, Map<String, ?> state, SaveOptions options) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, state, options);
        return file;
    }

    /// A matrix of 4 by 6 in four files, each with 2 by 3 of it, and a bias that all have.
    private List<Path> quarters() throws IOException {
        Tensor whole = matrix(4, 6);
        Tensor bias = Tensor.arange(DType.INT64, 5);
        List<Path> files = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("weight", box(whole, number / 2 * 2, number % 2 * 3, 2, 3));
            state.put("bias", Slice.whole(bias).replica(number, 4));
            state.put("rank", Tensor.of((long) number));
            if (number == 3) {
                state.put("last", Tensor.of(3L));
            }
            files.add(saved(number + ".croft", state, RUN));
        }
        return files;
    }

    private ShardSet quarteredSet() throws IOException {
        ShardSet.create(manifest(), quarters());
        return ShardSet.open(manifest());
    }

    @Test
    void theSlicesOfSeveralFilesAreOneTensor() throws IOException {
        try (ShardSet set = quarteredSet()) {
            assertThat(set.names()).containsExactly("bias", "last", "weight");
            assertThat(set.run()).contains("run 7");
            assertThat(set.spec("weight")).hasToString("float32 [4, 6]");
            assertThat(set.parts("weight").sequencedKeySet()).containsExactly(0, 1, 2, 3);
            assertThat(set.parts("weight").get(2)).hasToString("float32 [2, 3] at [2, 0] of [4, 6]");
            assertThat(set.tensor("weight").contentEquals(matrix(4, 6))).isTrue();
            assertThat(set.tensor("weight").isContiguous()).isTrue();
            assertThat(set.tensor("bias").toLongArray()).containsExactly(0, 1, 2, 3, 4);
            assertThat(set.tensor("last").toLongArray()).containsExactly(3);
        }
    }

    @Test
    void aTensorIsFoundByTheKeysThatLeadToIt() throws IOException {
        ShardSet.create(manifest(), List.of(saved("a.croft", Map.of("params/dense", Tensor.of(3f)))));
        try (ShardSet set = ShardSet.open(manifest())) {
            assertThat(set.names()).containsExactly("params~1dense");
            assertThat(set.tensor("params/dense").getFloat(0)).isEqualTo(3);
        }
    }

    @Test
    void aReaderWithAnotherLayoutGetsItsOwnSlices() throws IOException {
        try (ShardSet set = quarteredSet()) {
            for (int columns = 1; columns <= 6; columns++) {
                for (int column = 0; column + columns <= 6; column++) {
                    Tensor slice = set.tensor("weight", new long[]{1, column}, Shape.of(2, columns));
                    assertThat(slice.contentEquals(matrix(4, 6).narrow(0, 1, 2).narrow(1, column, columns))).isTrue();
                }
            }
            assertThat(set.tensor("weight", new long[]{4, 0}, Shape.of(0, 6)).shape()).isEqualTo(Shape.of(0, 6));
        }
    }

    @Test
    void aReplicatedTensorIsStoredOnce() throws IOException {
        try (ShardSet set = quarteredSet()) {
            int stored = set.parts("bias").firstEntry().getKey();
            for (int number = 0; number < 4; number++) {
                assertThat(set.shards().get(number).tensor("bias").device().isMeta()).isEqualTo(number != stored);
                assertThat(set.shards().get(number).tensor("bias").shape()).isEqualTo(Shape.of(5));
            }
        }
    }

    @Test
    void replicasAreSpreadOverTheWriters() throws IOException {
        List<Path> files = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            Map<String, Object> state = new LinkedHashMap<>();
            for (int layer = 0; layer < 200; layer++) {
                state.put("layer " + layer, Slice.whole(Tensor.of(layer)).replica(number, 4));
            }
            files.add(saved(number + ".croft", state));
        }
        ShardSet.create(manifest(), files);
        try (ShardSet set = ShardSet.open(manifest())) {
            int[] stored = new int[4];
            set.names().forEach(name -> stored[set.parts(name).firstEntry().getKey()]++);
            assertThat(IntStream.of(stored).sum()).isEqualTo(200);
            assertThat(IntStream.of(stored)).allMatch(count -> count > 25);
        }
    }

    @Test
    void whatLiesInOnePartIsAViewAndAllElseACopyThatStays() throws IOException {
        ShardSet set = quarteredSet();
        Tensor view = set.tensor("weight", new long[]{2, 3}, Shape.of(1, 3));
        Tensor part = set.tensor("weight", new long[]{0, 0}, Shape.of(2, 3));
        Tensor columns = set.tensor("weight", new long[]{0, 0}, Shape.of(2, 2));
        Tensor across = set.tensor("weight", new long[]{1, 0}, Shape.of(2, 6));
        part.setFloat(0, 0, 7);
        assertThat(set.tensor("weight", new long[]{0, 0}, Shape.of(2, 3)).getFloat(0, 0)).isEqualTo(7);
        assertThat(view.getFloat(0, 2)).isEqualTo(205);
        set.close();
        assertThatIllegalStateException().isThrownBy(() -> view.getFloat(0, 0));
        assertThatIllegalStateException().isThrownBy(() -> part.getFloat(0, 0));
        assertThat(columns.getFloat(1, 1)).isEqualTo(101);
        assertThat(across.contentEquals(matrix(4, 6).narrow(0, 1, 2))).isTrue();
        assertThatIllegalStateException().isThrownBy(() -> set.tensor("weight"));
    }

    @Test
    void manyRequestsAreReadTogetherAndTiesAreKept() throws IOException {
        Tensor whole = matrix(4, 6);
        List<Path> files = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            Slice slice = box(whole, 2 * number, 0, 2, 6);
            files.add(saved(number + ".croft", Map.of("embed", slice, "head", slice,
                    "other", box(whole.copy(), 2 * number, 0, 2, 6))));
        }
        ShardSet.create(manifest(), files);
        try (ShardSet set = ShardSet.open(manifest())) {
            List<Tensor> read = set.tensors(Stream.of("embed", "head", "other", "embed")
                    .map(name -> new Request(name, new long[]{1, 1}, Shape.of(2, 5), Device.CPU)).toList());
            assertThat(read).allMatch(tensor -> tensor.contentEquals(whole.narrow(0, 1, 2).narrow(1, 1, 5)));
            assertThat(read.get(1).storage()).isSameAs(read.getFirst().storage());
            assertThat(read.get(3).storage()).isSameAs(read.getFirst().storage());
            assertThat(read.get(2).storage()).isNotSameAs(read.getFirst().storage());
            Tensor first = set.tensor("embed", new long[]{0, 0}, Shape.of(2, 6));
            assertThat(set.tensor("head", new long[]{0, 0}, Shape.of(2, 6)).storage()).isSameAs(first.storage());
        }
    }

    @Test
    void requestsForDevicesAreUploaded() throws IOException {
        PretendDevice.Memory device = PretendDevice.fresh();
        try (ShardSet set = quarteredSet()) {
            List<Tensor> read = set.tensors(List.of(
                    new Request("weight", new long[]{0, 1}, Shape.of(4, 4), device.device()),
                    new Request("bias", new long[]{1}, Shape.of(3), device.device()),
                    new Request("bias", new long[]{1}, Shape.of(3), Device.META),
                    new Request("bias", new long[]{5}, Shape.of(0), device.device())));
            assertThat(read).extracting(Tensor::device).containsExactly(device.device(), device.device(), Device.META,
                    device.device());
            assertThat(read.get(0).cpu().contentEquals(matrix(4, 6).narrow(1, 1, 4))).isTrue();
            assertThat(read.get(1).cpu().toLongArray()).containsExactly(1, 2, 3);
            assertThat(device.uploaded.get()).isEqualTo(4 * 4 * 4 + 3 * 8);
            read.forEach(tensor -> tensor.storage().release());
            assertThat(device.live.get()).isZero();
        }
        try (ShardSet set = ShardSet.open(manifest(), OpenOptions.defaults().device(device.device()))) {
            assertThat(set.tensor("weight").device()).isEqualTo(device.device());
        }
        try (ShardSet set = ShardSet.open(manifest(), OpenOptions.defaults().onMeta())) {
            assertThat(set.tensor("weight").device()).isEqualTo(Device.META);
        }
    }

    @Test
    void aDeviceThatIsFullKeepsNoMemory() throws IOException {
        PretendDevice.Memory device = PretendDevice.fresh();
        device.largestAllocation = 30;
        try (ShardSet set = quarteredSet()) {
            assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> set.tensors(List.of(
                    new Request("bias", new long[]{1}, Shape.of(3), device.device()),
                    new Request("weight", new long[]{0, 1}, Shape.of(4, 4), device.device()))));
            assertThat(device.live.get()).isZero();
        }
    }

    @Test
    void elementsOfEveryKindArePutTogether() throws IOException {
        for (Tensor whole : List.of(Tensor.of(new Complex(1, 2), new Complex(3, 4), new Complex(5, 6)).conj(),
                Tensor.arange(DType.INT8, 12).t(), Tensor.arange(DType.INT64, 12).view(3, 4).t(),
                Tensor.of(Storage.copyOf(new byte[]{0x12, 0x34, 0x56, 0x78, 0x0A}), DType.of("quint4x2"), 0,
                        Shape.of(10)),
                Tensor.zeros(DType.opaque("gguf.q4_0", 144), 6))) {
            Path set = folder.resolve(whole.dtype().name() + whole.dim() + ".croftset");
            List<Path> files = new ArrayList<>();
            for (int number = 0; number < 2; number++) {
                long half = whole.size(0) / 2;
                long start = number * half;
                Tensor local = whole.narrow(0, start, number == 0 ? half : whole.size(0) - half);
                long[] offset = new long[whole.dim()];
                offset[0] = start;
                files.add(saved(set.getFileName() + "." + number + ".croft",
                        Map.of("x", Slice.of(local, whole.shape(), offset))));
            }
            ShardSet.create(set, files);
            try (ShardSet opened = ShardSet.open(set)) {
                assertThat(opened.tensor("x").contentEquals(whole)).as("%s", whole).isTrue();
                assertThat(opened.tensor("x").isContiguous()).isTrue();
            }
        }
    }

    @Test
    void elementsThatShareAByteComeFromTwoShards() throws IOException {
        Tensor whole = Tensor.of(Storage.copyOf(new byte[]{0x12, 0x34, 0x56, 0x78, 0x0A}), DType.of("quint4x2"), 0,
                Shape.of(10));
        ShardSet.create(manifest(), List.of(
                saved("a.croft", Map.of("x", Slice.of(whole.narrow(0, 0, 5), whole.shape(), 0))),
                saved("b.croft", Map.of("x", Slice.of(whole.narrow(0, 5, 5), whole.shape(), 5)))));
        try (ShardSet set = ShardSet.open(manifest())) {
            // Two threads that wrote the byte in the middle would lose an element in some of the rounds.
            for (int round = 0; round < 10_000; round++) {
                assertThat(set.tensor("x").contentEquals(whole)).isTrue();
            }
        }
    }

    @Test
    void emptySlicesAndEmptyTensorsHaveNoParts() throws IOException {
        Tensor one = Tensor.of(1.5f, 2.5f);
        Path a = saved("a.croft", Map.of("x", Slice.whole(one), "none", Slice.whole(Tensor.zeros(DType.INT8, 3, 0))));
        Path b = saved("b.croft", Map.of("x", Slice.of(Tensor.zeros(DType.FLOAT32, 0), Shape.of(2), 2)));
        ShardSet.create(manifest(), List.of(a, b));
        try (ShardSet set = ShardSet.open(manifest())) {
            assertThat(set.parts("x")).hasSize(1);
            assertThat(set.tensor("x").toFloatArray()).containsExactly(1.5f, 2.5f);
            assertThat(set.parts("none")).isEmpty();
            assertThat(set.tensor("none").shape()).isEqualTo(Shape.of(3, 0));
        }
    }

    @Test
    void anyReaderOfAShardSeesItsLocalTensors() throws IOException {
        quarters();
        try (Checkpoint shard = Checkpoint.open(folder.resolve("1.croft"))) {
            assertThat(shard.tensor("weight").contentEquals(matrix(4, 6).narrow(0, 0, 2).narrow(1, 3, 3))).isTrue();
            Slice slice = Slice.of(shard.stateMap().get("weight")).orElseThrow();
            assertThat(slice.local()).isSameAs(shard.tensor("weight"));
            assertThat(slice.offset()).containsExactly(0, 3);
            assertThat(Slice.of(shard.stateMap().get("bias")).orElseThrow()).hasToString(
                    "int64 [5] at [0] of [5], replica 1 of 4");
            assertThat(Slice.of(shard.stateMap().get("rank"))).isEmpty();
            assertThat(shard.metadata()).isEmpty();
            assertThat(shard.verify().isIntact()).isTrue();
            Map<String, Object> state = Map.of("weight", box(Tensor.zeros(DType.FLOAT32, 4, 6), 0, 3, 2, 3));
            assertThat(shard.loadMatching(state).missing()).isEmpty();
        }
    }

    @Test
    void aSetWithoutSlicesInItsManifestFindsThemInTheShards() throws IOException {
        List<Path> files = quarters();
        List<Shard> shards = new ArrayList<>();
        for (Path file : files) {
            CommitRecord commit = CroftImage.snapshot(Files.readAllBytes(file)).commit();
            shards.add(Shard.of(String.valueOf(file.getFileName()), commit));
        }
        Files.write(manifest(), SetManifest.canonical(shards, Optional.empty()).encode());
        try (ShardSet set = ShardSet.open(manifest())) {
            assertThat(set.names()).containsExactly("bias", "last", "weight");
            assertThat(set.tensor("weight").contentEquals(matrix(4, 6))).isTrue();
        }
        Files.write(manifest(), SetManifest.canonical(shards.subList(0, 3), Optional.empty()).encode());
        try (ShardSet set = ShardSet.open(manifest())) {
            assertRefused("V21-SHARD", set::names).contains("there are 3 shards");
        }
    }

    @Test
    void aPointerOfGitLfsInPlaceOfAShardIsRefusedAsOne() throws IOException {
        ShardSet.create(manifest(), quarters());
        Files.writeString(folder.resolve("1.croft"), "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest()))
                .withMessageContainingAll("1.croft", "a pointer of Git LFS", "git lfs pull");
    }

    @Test
    void onlyTheShardsOfChosenTensorsAreLookedAt() throws IOException {
        ShardSet.create(manifest(), quarters());
        assertThatExceptionOfType(NoSuchElementException.class)
                .isThrownBy(() -> ShardSet.open(manifest(), OpenOptions.defaults().only("no such")));
        Files.delete(folder.resolve("1.croft"));
        assertRefused("V21-SHARD", () -> ShardSet.open(manifest())).contains("'1.croft'");
        try (ShardSet set = ShardSet.open(manifest(), OpenOptions.defaults().only("last"))) {
            assertThat(set.names()).containsExactly("last");
            assertThat(set.tensor("last").getLong(0)).isEqualTo(3);
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> set.tensor("weight"));
            assertRefused("V21-SHARD", () -> set.shards().get(1)).contains("'1.croft'");
        }
        assertRefused("V21-SHARD", () -> ShardSet.open(manifest(), OpenOptions.defaults().only("weight")));
    }

    @Test
    void whatIsMissingIsNamedAndNothingIsSaved() throws IOException {
        List<Path> files = quarters();
        assertRefused("V21-SHARD", () -> ShardSet.create(manifest(), files.subList(0, 3)))
                .contains("there are 3 shards of the run 'run 7' of 4 shards");
        int stored;
        ShardSet.create(manifest(), files);
        try (ShardSet set = ShardSet.open(manifest())) {
            stored = set.parts("bias").firstEntry().getKey();
        }
        Files.delete(manifest());
        for (int number = 0; number < 4; number++) {
            try (Checkpoint shard = Checkpoint.open(files.get(number))) {
                Checkpoint.save(folder.resolve(number + ".tmp.croft"), shard.state());
            }
            Files.move(folder.resolve(number + ".tmp.croft"), files.get(number), StandardCopyOption.REPLACE_EXISTING);
        }
        List<Path> rest = new ArrayList<>(files);
        rest.remove(stored);
        assertRefused("V22-SLICE", () -> ShardSet.create(manifest(), rest)).contains("'weight' of float32 [4, 6]",
                "no shard has the elements from [%s, %s]".formatted(stored / 2 * 2, stored % 2 * 3),
                "another tensor has a fault, too");
        assertThatIllegalArgumentException().isThrownBy(() -> ShardSet.create(manifest(), List.of()));
        assertThat(manifest()).doesNotExist();
        assertThat(folder.resolve("model.croftset.lock")).doesNotExist();
    }

    @Test
    void aReplicaThatNobodyStoresIsNamedWithTheShardThatDescribesIt() throws IOException {
        List<Path> files = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            files.add(saved(number + ".croft", Map.of("bias", Slice.whole(Tensor.of(1f)).replica(number, 3))));
        }
        for (int number = 0; number < 3; number++) {
            try (Checkpoint shard = Checkpoint.open(files.get(number))) {
                if (!shard.tensor("bias").device().isMeta()) {
                    files.remove(number);
                    break;
                }
            }
        }
        assertRefused("V22-SLICE", () -> ShardSet.create(manifest(), files)).contains("'bias'",
                "which '" + files.getFirst().getFileName() + "' describes as its replica");
    }

    @Test
    void shardsOfAnotherRunAreRefused() throws IOException {
        List<Path> files = quarters();
        Checkpoint.save(files.get(2), Map.of(), SaveOptions.defaults().run("run 8", 4));
        assertRefused("V21-SHARD", () -> ShardSet.create(manifest(), files)).contains("'2.croft' is of the run 'run 8'",
                "'0.croft' of the run 'run 7' of 4 shards");
        Checkpoint.save(files.get(2), Map.of());
        assertRefused("V21-SHARD", () -> ShardSet.save(manifest(), files)).contains("'2.croft' is of no run");
    }

    @Test
    void slicesThatContradictEachOtherAreRefused() throws IOException {
        Tensor whole = matrix(4, 6);
        Path first = saved("a.croft", Map.of("w", box(whole, 0, 0, 2, 6)));
        for (Object wrong : List.of(box(whole, 1, 0, 3, 6), box(whole, 0, 0, 2, 6), box(whole, 3, 0, 1, 6),
                Slice.of(whole.narrow(0, 2, 2).to(DType.FLOAT64), whole.shape(), 2, 0),
                Slice.of(whole.narrow(0, 2, 2), Shape.of(5, 6), 2, 0), Slice.whole(whole.narrow(0, 0, 2)),
                Slice.whole(Tensor.of(1f)), whole.narrow(0, 2, 2))) {
            Path second = saved("b.croft", Map.of("w", wrong));
            assertRefused("V22-SLICE", () -> ShardSet.create(manifest(), List.of(first, second))).contains("'w'");
        }
    }

    @Test
    void aNodeOfASliceThatIsMalformedIsRefused() throws IOException {
        for (Map<String, Object> attributes : List.of(Map.<String, Object>of(),
                Map.<String, Object>of("shape", Shape.of(4)),
                Map.<String, Object>of("shape", Shape.of(4), "offset", 3L),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(3)),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(Long.MAX_VALUE)),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(0, 0)),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(0), "replica", 1L),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(0), "replicas", 1L << 40),
                Map.<String, Object>of("shape", Shape.of(4), "offset", Shape.of(0), "replicas", "two"))) {
            Typed node = new Typed("undercroft.Slice", Tensor.of(1f, 2f));
            node.attributes().putAll(attributes);
            assertThatIllegalArgumentException().isThrownBy(() -> Slice.of(node));
            assertThatIllegalArgumentException().isThrownBy(() -> saved("a.croft", Map.of("w", node)))
                    .withMessageContaining("'w'");
        }
    }

    @Test
    void aSliceOutsideItsTensorIsNotMade() {
        Tensor local = Tensor.of(1f, 2f);
        for (long offset : new long[]{-1, 3, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThatIllegalArgumentException().isThrownBy(() -> Slice.of(local, Shape.of(4), offset));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> Slice.of(local, Shape.of(4, 1), 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> Slice.of(local, Shape.of(4)));
        for (int replica : new int[]{-1, 2}) {
            assertThatIllegalArgumentException().isThrownBy(() -> Slice.whole(local).replica(replica, 2));
        }
    }

    @Test
    void oneTensorIsNotTwoSlices() {
        Tensor local = Tensor.of(1f, 2f);
        assertThatIllegalArgumentException().isThrownBy(() -> saved("a.croft",
                Map.of("a", Slice.of(local, Shape.of(4), 0), "b", Slice.of(local, Shape.of(4), 2))))
                .withMessageContaining("one tensor is two slices");
    }

    /// A manifest that does not say what is in the shards.
    @Test
    void aShardWithAnotherTensorThanTheManifestSaysIsRefusedWhenThatIsRead() throws IOException {
        Path file = saved("a.croft", Map.of("w", Tensor.of(1f, 2f, 3f)));
        Shard shard = Shard.of("a.croft", CroftImage.snapshot(Files.readAllBytes(file)).commit());
        DTypeRecord float32 = new DTypeRecord("float32", 32);
        for (SlicedTensor wrong : List.of(whole("w", float32, 4), whole("w", new DTypeRecord("int32", 32), 3),
                whole("x", float32, 3), whole("w", float32, 3, 1))) {
            Files.write(manifest(), SetManifest
                    .canonical(List.of(shard), Optional.of(SetIndex.of(null, List.of(wrong)))).encode());
            try (ShardSet set = ShardSet.open(manifest())) {
                assertRefused("V22-SLICE", () -> set.tensor(wrong.name())).contains("the manifest says");
            }
        }
    }

    private static SlicedTensor whole(String name, DTypeRecord dtype, long... shape) {
        return SlicedTensor.of(name, dtype, shape, List.of(new SlicePart(0, new long[shape.length], shape)));
    }

    @Test
    void requestsOutsideATensorAreRefused() throws IOException {
        try (ShardSet set = quarteredSet()) {
            for (long[] offset : new long[][]{{0, 6}, {4, 0}, {-1, 0}, {Long.MAX_VALUE, 0}, {0}, {0, 0, 0}}) {
                assertThatExceptionOfType(IndexOutOfBoundsException.class)
                        .isThrownBy(() -> set.tensor("weight", offset, Shape.of(1, 1)));
            }
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> set.tensor("weight", new long[]{1, 1}, Shape.of(Long.MAX_VALUE, 1)));
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> set.tensor("rank"))
                    .withMessageContaining("is read from the shard");
        }
    }

    @Test
    void ofSeveralWritersOneMakesTheSet() throws Exception {
        List<Path> files = quarters();
        CyclicBarrier start = new CyclicBarrier(4);
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<Boolean>> all = IntStream.range(0, 4).mapToObj(_ -> threads.submit(() -> {
                start.await();
                try {
                    ShardSet.create(manifest(), files);
                    return true;
                } catch (FileAlreadyExistsException | LockedException _) {
                    return false;
                }
            })).toList();
            int made = 0;
            for (Future<Boolean> each : all) {
                made += each.get() ? 1 : 0;
            }
            assertThat(made).isEqualTo(1);
        }
        byte[] before = Files.readAllBytes(manifest());
        assertThatExceptionOfType(FileAlreadyExistsException.class)
                .isThrownBy(() -> ShardSet.create(manifest(), files.subList(0, 1)))
                .withMessageContaining("another writer has made this set");
        assertThat(Files.readAllBytes(manifest())).isEqualTo(before);
        ShardSet.save(manifest(), files.reversed());
        assertThat(Files.readAllBytes(manifest())).isNotEqualTo(before);
    }

    @Test
    void aSetIsOpenedAsOneFile() throws IOException {
        Tensor whole = matrix(4, 6);
        Slice tied = box(whole, 2, 0, 2, 6);
        Path a = saved("a.croft", Map.of("model", Map.of("w", box(whole, 0, 0, 2, 6), "one", Tensor.of(1f, 2f))));
        Path b = saved("b.croft", Map.of("model", Map.of("w", tied), "other", Map.of("a/b", Tensor.of(3L))));
        ShardSet.create(manifest(), List.of(a, b));
        try (Checkpoint set = Checkpoint.open(manifest())) {
            assertThat(set.format()).isEqualTo("croft");
            assertThat(set.names()).containsExactly("model/one", "model/w", "other/a~1b");
            assertThat(set.tensor("model/w").contentEquals(whole)).isTrue();
            assertThat(set.tensor("other/a/b").getLong(0)).isEqualTo(3);
            assertThat(set.files()).containsExactly(manifest(), a.toRealPath(), b.toRealPath());
            assertThat(set.verify().isIntact()).isTrue();
            Checkpoint.save(folder.resolve("joined.croft"), set.state());
        }
        try (Checkpoint joined = Checkpoint.open(folder.resolve("joined.croft"))) {
            assertThat(joined.tensor("model/w").contentEquals(whole)).isTrue();
        }
        PretendDevice.Memory device = PretendDevice.fresh();
        try (Checkpoint set = Checkpoint.open(manifest(),
                OpenOptions.defaults().device(device.device()).only("**/w"))) {
            assertThat(set.names()).containsExactly("model/w");
            assertThat(set.tensor("model/w").cpu().contentEquals(whole)).isTrue();
        }
        assertThat(device.live.get()).isZero();
    }

    @Test
    void aSetInAStoreIsLoadedIntoMemoryByFewRequests() throws Exception {
        int shards = 2;
        int count = 100;
        Tensor whole = matrix(64, 2048);
        List<URI> uris = new ArrayList<>();
        Files.createDirectory(folder.resolve("parts"));
        for (int number = 0; number < shards; number++) {
            Map<String, Tensor> state = new LinkedHashMap<>();
            state.put("sliced", whole);
            for (int i = 0; i < count; i++) {
                state.put("shard%s.layer%s".formatted(number, i), Tensor.full(DType.INT32, number * count + i, 30_000));
            }
            Map<String, Object> saved = new LinkedHashMap<>(state);
            saved.put("sliced", box(whole, 0, 1024 * number, 64, 1024));
            uris.add(FolderStore.uri(folder.resolve("parts").resolve(number + ".croft")));
            Checkpoint.save(uris.getLast(), saved, SaveOptions.defaults().run("run 7", shards));
        }
        URI manifest = FolderStore.uri(manifest());
        ShardSet.create(manifest, uris);

        int before = FolderStore.requests(folder);
        try (Checkpoint opened = Checkpoint.open(manifest)) {
            assertThat(opened.names()).hasSize(shards * count + 1);
        }
        int toOpen = FolderStore.requests(folder) - before;
        before = FolderStore.requests(folder);
        try (Checkpoint opened = Checkpoint.open(manifest, OpenOptions.defaults().inMemory())) {
            int requests = FolderStore.requests(folder) - before;
            assertThat(requests).isLessThanOrEqualTo(toOpen + 3 * shards + 2);
            for (int i = 0; i < shards * count; i++) {
                assertThat(opened.tensor("shard%s.layer%s".formatted(i / count, i % count)).getLong(29_999))
                        .isEqualTo(i);
            }
            assertThat(opened.tensor("sliced").contentEquals(whole)).isTrue();
            assertThat(FolderStore.requests(folder) - before).isEqualTo(requests);
        }
    }

    /// More shards than stay open.
    @Test
    void aSetOfManyShardsInAStoreIsLoadedIntoMemoryByFewRequests() throws Exception {
        int shards = 300;
        int count = 8;
        List<URI> uris = new ArrayList<>();
        Files.createDirectory(folder.resolve("parts"));
        for (int number = 0; number < shards; number++) {
            Map<String, Tensor> state = new LinkedHashMap<>();
            for (int i = 0; i < count; i++) {
                state.put("shard%s.layer%s".formatted(number, i), Tensor.full(DType.INT32, number * count + i, 5000));
            }
            uris.add(FolderStore.uri(folder.resolve("parts").resolve(number + ".croft")));
            Checkpoint.save(uris.getLast(), state, SaveOptions.defaults().run("run 7", shards));
        }
        URI manifest = FolderStore.uri(manifest());
        ShardSet.create(manifest, uris);

        int before = FolderStore.requests(folder);
        Checkpoint.open(manifest).close();
        int toOpen = FolderStore.requests(folder) - before;
        before = FolderStore.requests(folder);
        try (Checkpoint opened = Checkpoint.open(manifest, OpenOptions.defaults().inMemory())) {
            // A shard is opened again by two requests, and its tensors are one.
            assertThat(FolderStore.requests(folder) - before).isLessThanOrEqualTo(toOpen + 3 * shards);
            for (int i = 0; i < shards * count; i++) {
                assertThat(opened.tensor("shard%s.layer%s".formatted(i / count, i % count)).getLong(4999))
                        .isEqualTo(i);
            }
        }
    }

    @Test
    void aSetInAStoreIsMadeOnceAndReadByRanges() throws Exception {
        Tensor whole = matrix(64, 2048);
        List<URI> shards = new ArrayList<>();
        Files.createDirectory(folder.resolve("parts"));
        for (int number = 0; number < 2; number++) {
            URI shard = FolderStore.uri(folder.resolve("parts").resolve("shard %s.croft".formatted(number)));
            Checkpoint.save(shard, Map.of("weight", box(whole, 0, 1024 * number, 64, 1024)),
                    SaveOptions.defaults().run("run 7", 2));
            shards.add(shard);
        }
        URI manifest = FolderStore.uri(manifest());
        ShardSet.create(manifest, shards);
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(set.location()).isEqualTo(manifest.toString());
            assertThat(set.run()).contains("run 7");
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(set::path);
            assertThat(set.tensor("weight", new long[]{3, 1000}, Shape.of(20, 40))
                    .contentEquals(whole.narrow(0, 3, 20).narrow(1, 1000, 40))).isTrue();
            assertThat(set.tensor("weight").contentEquals(whole)).isTrue();
            assertThat(set.tensor("weight", new long[]{0, 0}, Shape.of(64, 1024))
                    .contentEquals(whole.narrow(1, 0, 1024))).isTrue();
        }
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(() -> ShardSet.create(manifest, shards))
                .extracting(RemoteFileException::kind).isEqualTo(RemoteFileException.Kind.CONFLICT);
        assertThatIllegalArgumentException().isThrownBy(() -> ShardSet
                .create(FolderStore.uri(folder.resolve("parts").resolve("x.croftset")), List.of(manifest)))
                .withMessageContaining("not below the directory");
        Files.delete(Path.of(shards.getFirst().getPath()));
        assertRefused("V21-SHARD", () -> ShardSet.open(manifest)).contains("'parts/shard 0.croft'");
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder("model.croftset", "parts");
        }
    }

    private static AbstractStringAssert<?> assertRefused(String code, ThrowingCallable use) {
        return assertThatExceptionOfType(FormatException.class).isThrownBy(use)
                .satisfies(e -> assertThat(e.code()).isEqualTo(code)).extracting(Throwable::getMessage).asString();
    }
}
