package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/// Directories of `torch.distributed.checkpoint`.
@Isolated("counts the bytes that any thread reads")
class DistributedCheckpointTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "pytorch", "dcp");

    @TempDir
    private Path folder;
    private DistributedBuilder builder;

    @BeforeEach
    void begin() {
        builder = new DistributedBuilder(folder);
    }

    // ---- what PyTorch saved ----

    @TestFactory
    Stream<DynamicTest> fixturesAreWhatPyTorchMakesOfThem() throws IOException {
        List<Path> directories;
        try (Stream<Path> files = Files.list(FIXTURES)) {
            directories = files.filter(Files::isDirectory).sorted().toList();
        }
        assertThat(directories).hasSizeGreaterThan(2);
        return directories.stream().map(each -> DynamicTest.dynamicTest(each.getFileName().toString(),
                () -> assertIsWhatPyTorchMakesOfIt(each)));
    }

    /// One process, two and four with gloo, in one file a process and one for each entry; a model of FSDP2.
    @TestFactory
    Stream<DynamicTest> whatPyTorchSavesIsRead() throws IOException {
        RealPython python = RealPython.with("torch");
        return python
                .run(script(), folder, "plain", "files", "quantized", "threads", "two", "four", "four-files", "fsdp2")
                .lines()
                .filter(line -> Files.isDirectory(folder.resolve(line)))
                .map(name -> python.test(name, _ -> assertIsWhatPyTorchMakesOfIt(folder.resolve(name))));
    }

    private static String script() throws IOException {
        try (InputStream source = Objects
                .requireNonNull(DistributedCheckpointTest.class.getResourceAsStream("distributed.py"))) {
            return new String(source.readAllBytes(), UTF_8);
        }
    }

    /// Consolidated files have an index. Others have parts of tensors under the names of these.
    @TestFactory
    Stream<DynamicTest> filesOfSafetensorsAreReadOrRefused() throws IOException {
        RealPython python = RealPython.with("torch");
        python.run(script(), folder, "hugging-face");
        return Stream.of(
                python.test("hf", _ -> assertEqualsFileOfPyTorch(folder.resolve("hf"))),
                python.test("hf-one", _ -> assertEqualsFileOfPyTorch(folder.resolve("hf-one"))),
                python.test("hf-parts", _ -> {
                    Path parts = folder.resolve("hf-parts");
                    assertThatExceptionOfType(FileSystemException.class)
                            .isThrownBy(() -> Checkpoint.open(parts).close())
                            .withMessageContaining("enable_consolidation=True");
                    for (int process = 1; process <= 2; process++) {
                        try (Checkpoint c = Checkpoint.open(parts.resolve(
                                "shard-0000%s-model-00001-of-00001.safetensors".formatted(process)))) {
                            assertThat(c.unread()).singleElement().satisfies(part -> assertThat(part.what())
                                    .contains("this one has parts of tensors"));
                        }
                    }
                }),
                python.test("safetensors", _ -> {
                    for (String name : List.of("safetensors", "safetensors-one")) {
                        assertThatExceptionOfType(FormatException.class)
                                .isThrownBy(() -> Checkpoint.open(folder.resolve(name)).close())
                                .withMessageContaining("Save it without this option")
                                .returns("DCP-UNSUPPORTED", FormatException::code);
                    }
                }));
    }

    private static void assertEqualsFileOfPyTorch(Path directory) throws IOException {
        try (Checkpoint c = Checkpoint.open(directory);
                Checkpoint expected = Checkpoint.open(directory.resolveSibling(directory.getFileName() + ".pt"))) {
            assertThat(c.format()).isEqualTo("safetensors-index");
            assertThat(c.unread()).isEmpty();
            assertThat(c.names()).containsExactlyInAnyOrderElementsOf(expected.names());
            c.names().forEach(name -> Sameness.check(expected.tensor(name), c.tensor(name)));
        }
    }

    private static void assertIsWhatPyTorchMakesOfIt(Path directory) throws IOException {
        Path whole = directory.resolveSibling(directory.getFileName() + ".pt");
        try (Checkpoint c = Checkpoint.open(directory); Checkpoint expected = Checkpoint.open(whole)) {
            assertThat(c.format()).isEqualTo("torch-dcp");
            Sameness.check(expected.state(), c.state());
            assertThat(c.verify().damages()).isEmpty();
            assertThat(c.verify().unverifiedBytes()).isZero();
            assertThat(c.unread()).isEmpty();
            assertThat(c.foreignClasses()).isEmpty();
        }
        try (Checkpoint c = Checkpoint.open(directory, OpenOptions.defaults().inMemory());
                Checkpoint expected = Checkpoint.open(whole)) {
            Sameness.check(expected.state(), c.state());
        }
    }

    /// The index has them as tensors of their dtypes.
    @Test
    void quantizedTensorsAndThoseOfSubclassesAreRead() throws IOException {
        Typed quantized = new Typed("torch.per_tensor_affine", Tensor.zeros(DType.QUINT8, 2, 3));
        quantized.attributes().put("scale", 0.5);
        quantized.attributes().put("zero_point", 3L);
        builder.tensor("q", "quint8", 2, 3).described("q", new long[]{2, 3}, 0, 0).stored("q", "a", quantized, 0, 0);
        builder.tensor("s", "float32", 2).described("s", new long[]{2}, 0)
                .stored("s", "a", new Typed("m.Sub", Tensor.of(1f, 2f)), 0);
        try (Checkpoint c = Checkpoint.open(builder.write())) {
            Sameness.check(quantized, ((Map<?, ?>) Objects.requireNonNull(c.state())).get("q"));
            assertThat(c.tensor("s").toFloatArray()).containsExactly(1, 2);
            assertThat(c.verify().isIntact()).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(folder, OpenOptions.defaults().only("s"))) {
            assertThat(c.names()).containsExactly("s");
        }
    }

    @Test
    void aSparseTensorWhereADenseOneIsToBeIsNamed() throws IOException {
        TypedMap sparse = new TypedMap("torch.sparse_coo");
        sparse.put("indices", Tensor.zeros(DType.INT64, 1, 1));
        sparse.put("values", Tensor.of(1f));
        sparse.put("size", Shape.of(2));
        sparse.put("is_coalesced", true);
        builder.tensor("s", "float32", 2).described("s", new long[]{2}, 0).stored("s", "a", sparse, 0);
        builder.write();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(folder).close())
                .withMessageContaining("is no tensor, but of type torch.sparse_coo");
    }

    // ---- what is read, and when ----

    /// Rows, columns and a rest in three shards, and values.
    private Path small() throws IOException {
        Tensor grid = Tensor.arange(DType.FLOAT32, 35).view(5, 7);
        builder.tensor("grid", "float32", 5, 7);
        for (int row = 0; row < 5; row += 3) {
            for (int column = 0; column < 7; column += 4) {
                builder.chunk("grid", column == 0 ? "__0_0.distcp" : "__1_0.distcp",
                        grid.narrow(0, row, Math.min(3, 5 - row)).narrow(1, column, Math.min(4, 7 - column))
                                .contiguous(),
                        row, column);
            }
        }
        builder.tensor("one", "int64", 2).chunk("one", "__1_0.distcp", Tensor.of(5L, 6L), 0);
        builder.tensor("empty", "float32", 0, 3).described("empty", new long[]{0, 3}, 0, 0);
        builder.tensor("transposed", "float32", 7, 5).chunk("transposed", "__2_0.distcp", grid.transpose(0, 1), 0, 0);
        builder.value("epoch", "__0_0.distcp", 3L).value("note", "__0_0.distcp",
                Map.of("inner", Tensor.of(1f), "text", "x"));
        builder.path("grid", "model", "grid").path("one", "list", 1).path("epoch", "list", 0);
        return builder.write();
    }

    @Test
    void tensorsOfSeveralShardsAreOne() throws IOException {
        try (Checkpoint c = Checkpoint.open(small())) {
            assertThat(c.names()).containsExactlyInAnyOrder("model/grid", "list/1", "empty", "transposed",
                    "note/inner");
            Tensor grid = c.tensor("model/grid");
            assertThat(grid.storage().isMaterialized()).isFalse();
            assertThat(grid.contentEquals(Tensor.arange(DType.FLOAT32, 35).view(5, 7))).isTrue();
            assertThat(c.tensor("transposed").isContiguous()).isTrue();
            assertThat(c.tensor("transposed").contentEquals(grid.transpose(0, 1))).isTrue();
            assertThat(c.tensor("list/1").toLongArray()).containsExactly(5, 6);
            assertThat(c.tensor("empty").shape().toArray()).containsExactly(0, 3);
            assertThat(((Map<?, ?>) Objects.requireNonNull(c.state())).get("list")).isInstanceOf(List.class)
                    .asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.LIST).startsWith(3L);
            assertThat(c.files()).hasSize(4);
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    // ---- boxes ----

    private static final int SIDE = 1024;
    private static final Tensor SQUARE = Tensor.arange(DType.FLOAT32, SIDE * SIDE).view(SIDE, SIDE);

    /// Four chunks of 512 x 512, in two shards.
    private Path square() throws IOException {
        builder.tensor("square", "float32", SIDE, SIDE);
        for (int row = 0; row < SIDE; row += SIDE / 2) {
            for (int column = 0; column < SIDE; column += SIDE / 2) {
                builder.chunk("square", "__%s_0.distcp".formatted(row * 2 / SIDE), SQUARE
                        .narrow(0, row, SIDE / 2).narrow(1, column, SIDE / 2).contiguous(), row, column);
            }
        }
        return builder.write();
    }

    /// Rows, columns, a box in one chunk, in two, in all, at their edges, and one element.
    @Test
    void boxesAreReadWithoutTheRest() throws IOException {
        long[][] boxes = {{0, 0, 10, SIDE}, {SIDE - 3, 0, 3, SIDE}, {0, 600, SIDE, 2}, {100, 100, 50, 60},
                {500, 100, 20, 7}, {511, 511, 2, 2}, {512, 512, 512, 512}, {1023, 1023, 1, 1}, {0, 511, 1, 1}};
        try (Checkpoint c = Checkpoint.open(square())) {
            Tensor whole = c.tensor("square");
            for (int round = 0; round < 2; round++) {
                for (long[] box : boxes) {
                    long before = Proc.bytesReadByThisProcess();
                    Tensor slice = c.slice("square", new long[]{box[0], box[1]}, Shape.of(box[2], box[3]));
                    long read = Proc.bytesReadByThisProcess() - before;
                    assertThat(slice.contentEquals(SQUARE.narrow(0, box[0], box[2]).narrow(1, box[1], box[3])))
                            .as(Arrays.toString(box)).isTrue();
                    if (round > 0) {
                        // A column is read with what is between its elements in a chunk.
                        assertThat(read).as(Arrays.toString(box))
                                .isLessThan((box[1] == 600 ? 2 << 20 : slice.nbytes() * (box[3] < 100 ? 60 : 1))
                                        + (64 << 10));
                    }
                }
            }
            assertThat(c.rows("square", 5, 7).contentEquals(SQUARE.narrow(0, 5, 2))).isTrue();
            assertThat(whole.storage().isMaterialized()).isFalse();
            assertThat(whole.contentEquals(SQUARE)).isTrue();
            assertThat(c.slice("square", new long[]{1, 2}, Shape.of(1, 1)).getFloat(0, 0)).isEqualTo(SIDE + 2);
            for (long[] wrong : new long[][]{{SIDE, 0}, {-1, 0}, {0}, {0, 0, 0}}) {
                assertThatExceptionOfType(IndexOutOfBoundsException.class)
                        .isThrownBy(() -> c.slice("square", wrong, Shape.of(1, 1)))
                        .withMessageContaining("of 'square', which has the shape");
            }
        }
    }

    /// The chunks of the others are damaged. With checksums that are compared when a storage is touched, so is a part.
    @Test
    void chunksThatDoNotMeetABoxAreNotOpened() throws IOException {
        square();
        byte[] shard = builder.shards().get("__0_0.distcp").toByteArray();
        byte[] damaged = shard.clone();
        Arrays.fill(damaged, 0, shard.length / 2, (byte) 7);
        builder.shards().get("__0_0.distcp").reset();
        builder.shards().get("__0_0.distcp").writeBytes(damaged);
        Path there = builder.write();
        for (ChecksumPolicy policy : ChecksumPolicy.values()) {
            if (policy == ChecksumPolicy.EAGER) {
                continue;
            }
            try (Checkpoint c = Checkpoint.open(there, OpenOptions.defaults().checksums(policy))) {
                Sameness.check(SQUARE.narrow(1, 512, 512).contiguous(),
                        c.slice("square", new long[]{0, 512}, Shape.of(SIDE, 512)));
                assertThat(c.slice("square", new long[]{2, 600}, Shape.of(1, 1)).getFloat(0, 0))
                        .isEqualTo(2 * SIDE + 600);
                assertThatExceptionOfType(FormatException.class)
                        .isThrownBy(() -> c.slice("square", new long[]{0, 0}, Shape.of(1, 1)));
            }
        }
    }

    @Test
    void anIndexIsOpenedAsItsDirectory() throws IOException {
        try (Checkpoint c = Checkpoint.open(small().resolve(".metadata"))) {
            assertThat(c.format()).isEqualTo("torch-dcp");
        }
    }

    @Test
    void someTensorsAreOpened() throws IOException {
        Path there = small();
        try (Checkpoint c = Checkpoint.open(there, OpenOptions.defaults().only("list/*"))) {
            assertThat(c.names()).containsExactly("list/1");
            assertThat(c.storages()).hasSize(1);
            Map<?, ?> state = (Map<?, ?>) Objects.requireNonNull(c.state());
            assertThat(((Tensor) ((Map<?, ?>) Objects.requireNonNull(state.get("note"))).get("inner")).device()
                    .isMeta()).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(there, OpenOptions.defaults().only("note/inner"))) {
            assertThat(c.tensor("note/inner").getFloat(0)).isEqualTo(1);
        }
        try (Checkpoint c = Checkpoint.open(there, OpenOptions.defaults().onMeta())) {
            assertThat(c.storages()).hasSize(5).allMatch(Storage::isMeta);
        }
    }

    /// Its chunks are in files that are closed with the checkpoint.
    @Test
    void whatIsRetainedOutlivesTheCheckpoint() throws IOException {
        Storage storage;
        Tensor grid;
        try (Checkpoint c = Checkpoint.open(small())) {
            grid = c.tensor("model/grid");
            storage = grid.storage().retain();
        }
        assertThat(grid.getFloat(4, 6)).isEqualTo(34);
        storage.release();
    }

    @Test
    void bytesThatNoEntryHasAreReported() throws IOException {
        small();
        builder.shards().get("__0_0.distcp").writeBytes(new byte[10]);
        try (Checkpoint c = Checkpoint.open(builder.write())) {
            assertThat(c.unread()).singleElement().satisfies(part -> {
                assertThat(part.nbytes()).isEqualTo(10);
                assertThat(part.what()).contains("__0_0.distcp");
            });
        }
    }

    // ---- what is wrong ----

    private void assertRefused(String code, String... words) throws IOException {
        Path there = builder.write();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(there).close())
                .satisfies(e -> assertThat(e.getMessage()).contains(words).doesNotContain("\n"))
                .returns(code, FormatException::code);
    }

    @Test
    void aMissingACutAndAForeignShardAreNamed() throws IOException {
        small();
        byte[] whole = builder.shards().get("__1_0.distcp").toByteArray();
        assertShardIsRefused("SHARD-INDEX", null, "'__1_0.distcp' is missing");
        assertShardIsRefused("DCP-SHARD", Arrays.copyOf(whole, whole.length - 1), "__1_0.distcp",
                "up to byte " + whole.length);
        ByteArrayOutputStream foreign = new ByteArrayOutputStream();
        new DistributedBuilder(Files.createDirectory(folder.resolve("other"))).tensor("w", "int32", 1)
                .chunk("w", "a", Tensor.of(1), 0).shards().values().forEach(each -> foreign.writeBytes(
                        each.toByteArray()));
        assertShardIsRefused("ZIP-END", Arrays.copyOf(foreign.toByteArray(), whole.length), "__1_0.distcp");
        assertShardIsRefused("ZIP-END", new byte[whole.length], "__1_0.distcp");
        assertShardIsRefused("DCP-SHARD", "version https://git-lfs.github.com/spec/v1\n".getBytes(UTF_8),
                "__1_0.distcp", "a pointer of Git LFS", "git lfs pull");
    }

    private void assertShardIsRefused(String code, byte[] bytes, String... words) throws IOException {
        builder.shards().remove("__1_0.distcp");
        Files.deleteIfExists(folder.resolve("__1_0.distcp"));
        if (bytes != null) {
            builder.shards().put("__1_0.distcp", new ByteArrayOutputStream());
            builder.shards().get("__1_0.distcp").writeBytes(bytes);
        }
        assertRefused(code, words);
    }

    @Test
    void anotherTensorInAShardIsRefused() throws IOException {
        builder.tensor("a", "float32", 2).described("a", new long[]{2}, 0).stored("a", "s", Tensor.of(1, 2), 0);
        assertRefused("DCP-SHARD", "has a tensor of int32", "float32");
    }

    /// Not the last one of its shard, so that it is found when it is touched.
    @Test
    void anotherTensorInTheMiddleOfAShardIsDamage() throws IOException {
        builder.tensor("a", "float32", 2).described("a", new long[]{2}, 0).stored("a", "s", Tensor.of(1f, 2f, 3f), 0);
        builder.tensor("b", "float32", 1).chunk("b", "s", Tensor.of(4f), 0);
        try (Checkpoint c = Checkpoint.open(builder.write())) {
            assertThat(c.tensor("b").getFloat(0)).isEqualTo(4);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("a").getFloat(0))
                    .withMessageContaining("DCP-SHARD").withMessageContaining("s");
            assertThat(c.verify().damages()).singleElement()
                    .satisfies(damage -> assertThat(damage.where()).contains("in the shard s"));
        }
    }

    @Test
    void pathsOutOfTheDirectoryAreRefused() throws IOException {
        for (String path : List.of("../s", "/etc/passwd", "a/../../s", "C:s", "")) {
            builder = new DistributedBuilder(folder);
            builder.tensor("a", "float32", 1).described("a", new long[]{1}, 0).range("a", path, 0, 100, 0);
            assertRefused("DCP-INDEX", "no plain name");
        }
    }

    @Test
    void chunksThatOverlapOrLackElementsAreRefused() throws IOException {
        Tensor row = Tensor.of(1f, 2f);
        builder.tensor("a", "float32", 2, 2).chunk("a", "s", row.view(1, 2), 0, 0);
        assertRefused("DCP-INDEX", "the element [1, 0] in no chunk");
        builder.chunk("a", "s", row.view(2, 1), 0, 1);
        assertRefused("DCP-INDEX", "the element [0, 1] in several chunks");
        builder = new DistributedBuilder(folder);
        builder.tensor("a", "float32", 2).chunk("a", "s", Tensor.of(1f), 2);
        assertRefused("DCP-INDEX", "not inside");
        builder = new DistributedBuilder(folder);
        builder.tensor("a", "float32", 2).described("a", new long[]{2}, 0).stored("a", "s", Tensor.of(1f), 1);
        assertRefused("DCP-INDEX", "from the element [0] on, is in no file");
    }

    @Test
    void entriesThatShareBytesOrAreTooSmallAreRefused() throws IOException {
        builder.tensor("a", "float32", 1).chunk("a", "s", Tensor.of(1f), 0);
        builder.tensor("b", "float32", 1).described("b", new long[]{1}, 0).range("b", "s", 10, 20, 0);
        assertRefused("DCP-INDEX", "two entries overlap, at byte 10 of 's'");
        builder = new DistributedBuilder(folder);
        builder.tensor("a", "float32", 1L << 50).described("a", new long[]{1L << 50}, 0)
                .stored("a", "s", Tensor.of(1f), 0);
        assertRefused("DCP-INDEX", "a chunk of [1125899906842624]");
        builder = new DistributedBuilder(folder);
        builder.tensor("a", "float32", 1).described("a", new long[]{1}, 0).range("a", "s", Long.MAX_VALUE, 5, 0);
        assertRefused("DCP-INDEX", "has 5 bytes at byte 9223372036854775807");
        builder = new DistributedBuilder(folder);
        builder.tensor("a", "float32", 1).chunk("a", "s", Tensor.of(1f), 0).stored("a", "s", Tensor.of(1f), 0);
        assertRefused("DCP-INDEX", "'a' is there twice");
    }

    @Test
    void pathsThatContradictEachOtherAreRefused() throws IOException {
        builder.value("a", "s", Map.of()).value("b", "s", 1L).path("a", "x").path("b", "x", "y");
        assertRefused("DCP-INDEX", "x.y");
        builder.path("b", "x");
        assertRefused("DCP-INDEX", "where the entry 'x' is to be");
        builder.path("b", "z", 1_000_000_000);
        assertRefused("DCP-INDEX", "z.1000000000");
        builder.path("b", "z", -1);
        assertRefused("DCP-INDEX", "z.-1");
    }

    @Test
    void anIndexOfSafetensorsIsRefused() throws IOException {
        builder.tensor("a", "float32", 2).described("a", new long[]{2}, 0).range("a", "s", 0, 8, 0);
        builder.tensor("b", "float32", 1).described("b", new long[]{1}, 0).range("b", "s", 0, 4, 0);
        assertRefused("DCP-UNSUPPORTED", "SerializationFormat.SAFETENSORS");
    }

    @Test
    void whatOtherProgramsMakeOfBytesIsRefused() throws IOException {
        builder.tensor("a", "float32", 1).chunk("a", "s", Tensor.of(1f), 0).transform("zstd");
        assertRefused("DCP-UNSUPPORTED", "'a' is transformed by 'zstd'");
    }

    @Test
    void aMillionChunksCostWhatTheirIndexJustifies() throws IOException {
        // One description that is in the list a million times.
        PickleBuilder pickle = new PickleBuilder().global("torch.distributed.checkpoint.metadata", "Metadata").ops(")")
                .bytes(0x81).ops("}(").text("storage_data").ops("}").text("state_dict_metadata").ops("}(").text("a")
                .global("torch.distributed.checkpoint.metadata", "TensorStorageMetadata").ops(")").bytes(0x81)
                .ops("}(").text("properties").global("torch.distributed.checkpoint.metadata", "TensorProperties")
                .ops(")").bytes(0x81).ops("(").global("torch", "float32")
                .global("torch.serialization", "_get_layout").text("torch.strided").bytes(0x85).ops("Rtb")
                .text("size").global("torch", "Size").ops("(").integer(4).ops("t").bytes(0x85).ops("R")
                .text("chunks").ops("(")
                .global("torch.distributed.checkpoint.metadata", "ChunkStorageMetadata").ops(")").bytes(0x81)
                .ops("}(").text("offsets").global("torch", "Size").ops("(").integer(0).ops("t").bytes(0x85).ops("R")
                .text("sizes").global("torch", "Size").ops("(").integer(0).ops("t").bytes(0x85).ops("Rubq")
                .bytes(1);
        for (int i = 0; i < 1_000_000; i++) {
            pickle.bytes('h', 1);
        }
        Files.write(folder.resolve(".metadata"), pickle.ops("lubuub").stop());
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(folder).close())
                .returns("COST-MEMORY", FormatException::code);
    }

    @Test
    void hundredsOfChunksAreOneTensor() throws IOException {
        builder.tensor("a", "uint8", 300);
        Tensor one = Tensor.zeros(DType.UINT8, 1);
        for (int i = 0; i < 300; i++) {
            builder.chunk("a", "s", one, i);
        }
        try (Checkpoint c = Checkpoint.open(builder.write())) {
            assertThat(c.tensor("a").getLong(299)).isZero();
        }
    }

    /// No code of it is run, and what it names is listed.
    @Test
    void aHostilePickleIsNotRun() throws IOException {
        Path index = folder.resolve(".metadata");
        byte[] call = new PickleBuilder().global("posix", "system").text("touch /tmp/x").bytes(0x85).ops("R").stop();
        Files.write(index, call);
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.format()).isEqualTo("pickle");
        }
        Files.write(index, new PickleBuilder().global("torch.distributed.checkpoint.metadata", "Metadata")
                .raw(Arrays.copyOfRange(call, 2, call.length)).stop());
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(folder).close());
        small();
        Files.write(index, new PickleBuilder().raw(replaced(Files.readAllBytes(index))).stop());
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.foreignClasses()).anyMatch(each -> each.name().equals("posix.system") && each.isDangerous());
        }
    }

    /// Puts a call in place of the value of `storage_meta`.
    private static byte[] replaced(byte[] pickle) {
        byte[] key = new PickleBuilder().text("storage_meta").stop();
        int at = new String(pickle, java.nio.charset.StandardCharsets.ISO_8859_1)
                .indexOf(new String(key, 2, key.length - 3, java.nio.charset.StandardCharsets.ISO_8859_1))
                + key.length - 3;
        byte[] call = new PickleBuilder().global("posix", "system").text("touch /tmp/x").bytes(0x85).ops("R").stop();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(pickle, 2, at - 2);
        out.write(call, 2, call.length - 3);
        out.write(pickle, at + 1, pickle.length - at - 2);
        return out.toByteArray();
    }

    /// Always the same damage, in the index and in the shards.
    @Test
    void damagedCheckpointsOpenOrAreRefused() throws IOException {
        small();
        Random random = new Random(11);
        List<Path> files = new ArrayList<>(List.of(folder.resolve(".metadata")));
        builder.shards().keySet().forEach(each -> files.add(folder.resolve(each)));
        int refused = 0;
        for (int round = 0; round < 600; round++) {
            Path file = files.get(round % files.size());
            byte[] intact = Files.readAllBytes(file);
            byte[] damaged = PickleBuilder.damaged(intact, random);
            Files.write(file,
                    random.nextInt(8) == 0 ? Arrays.copyOf(damaged, random.nextInt(damaged.length)) : damaged);
            try (Checkpoint c = Checkpoint.open(folder)) {
                var _ = c.verify();
                c.storages().forEach(Storage::materialize);
            } catch (FormatException | IOException _) {
                refused++;
            }
            Files.write(file, intact);
        }
        assertThat(refused).isGreaterThan(100);
    }
}
