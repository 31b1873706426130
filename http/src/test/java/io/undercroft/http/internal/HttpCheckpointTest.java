package io.undercroft.http.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Checkpoints on a web server are what they are on this host, and cost few requests.
class HttpCheckpointTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path directory;

    @TempDir
    Path temporary;

    private WebServer server;

    @BeforeEach
    void serve() throws IOException {
        server = new WebServer(directory);
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
    }

    private OpenOptions options() {
        return OpenOptions.defaults().temporaryDirectory(temporary);
    }

    private static Tensor random(int seed, long... shape) {
        Tensor tensor = Tensor.zeros(DType.FLOAT32, shape);
        byte[] bytes = new byte[(int) tensor.storage().nbytes()];
        new Random(seed).nextBytes(bytes);
        tensor.storage().segment().copyFrom(MemorySegment.ofArray(bytes));
        return tensor;
    }

    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("first.weight", random(1, 64, 128));
        state.put("second.weight", random(2, 300, 256));
        state.put("bias", random(3, 128));
        return state;
    }

    static Stream<String> writableSuffixes() {
        return Checkpoint.formats().stream().filter(format -> format.capabilities().contains(Capability.SAVE))
                .filter(format -> !format.name().equals("npy")).map(CheckpointFormat::suffixes)
                .filter(suffixes -> !suffixes.isEmpty()).map(List::getFirst);
    }

    private static void checkEqual(Checkpoint remote, Checkpoint local) {
        assertThat(remote.format()).isEqualTo(local.format());
        assertThat(remote.names()).containsExactlyElementsOf(local.names());
        for (String name : local.names()) {
            assertThat(remote.tensor(name).contentEquals(local.tensor(name))).as(name).isTrue();
        }
    }

    @ParameterizedTest
    @MethodSource("writableSuffixes")
    void everyFormatIsReadAsFromThisHost(String suffix) throws IOException {
        Path file = directory.resolve("model" + suffix);
        Checkpoint.save(file, state());
        for (OpenOptions options : List.of(options(), options().readOnly(), options().inMemory())) {
            try (Checkpoint local = Checkpoint.open(file, options);
                    Checkpoint remote = Checkpoint.open(server.uri("model" + suffix), options)) {
                checkEqual(remote, local);
                assertThat(remote.location()).isEqualTo(server.uri("model" + suffix).toString());
                assertThat(remote.fileSizes().values()).containsExactlyElementsOf(local.fileSizes().values());
                assertThat(remote.verify().damages()).isEmpty();
                assertThat(remote.rows("second.weight", 3, 5).contentEquals(local.rows("second.weight", 3, 5)))
                        .isTrue();
            }
        }
        try (Stream<Path> left = Files.list(temporary)) {
            assertThat(left).isEmpty();
        }
    }

    /// Saves a file of about 80 MiB of which one tensor is 24 MiB, and returns the size of what is not payload.
    private long saveLarge(Path file) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a", random(1, 8 << 20));
        state.put("b", random(2, 6 << 20));
        state.put("c", random(3, 6 << 20));
        Checkpoint.save(file, state);
        return Files.size(file) - 80 * MIB;
    }

    @ParameterizedTest
    @ValueSource(strings = {".safetensors", ".pt", ".croft"})
    void oneTensorCostsItsBytesAndFewRequests(String suffix) throws IOException {
        long index = saveLarge(directory.resolve("large" + suffix));
        try (Checkpoint remote = Checkpoint.open(server.uri("large" + suffix), options());
                Checkpoint local = Checkpoint.open(directory.resolve("large" + suffix))) {
            int opening = server.seen.size();
            Tensor tensor = remote.tensor("b");
            assertThat(tensor.storage().segment().mismatch(local.tensor("b").storage().segment())).isEqualTo(-1);
            assertThat(opening).as("requests for opening: %s", server.ranges()).isLessThanOrEqualTo(4);
            // 24 MiB in parts of 8 MiB.
            assertThat(server.seen.size()).as("requests: %s", server.ranges()).isLessThanOrEqualTo(opening + 3);
            assertThat(server.bytes.get()).isLessThanOrEqualTo((long) (1.1 * (24 * MIB + index)));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void oneSmallTensorOfManyTakesThreeRequestsAndFewMoreBytes(boolean isSealed) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 256; i++) {
            state.put("layer." + i, random(i, 64 << 10));
        }
        Path file = directory.resolve("small.croft");
        if (isSealed) {
            try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                Checkpoint.save(out, state, SaveOptions.defaults());
            }
        } else {
            Checkpoint.save(file, state);
        }
        long tensor = 256 << 10;
        long index = Files.size(file) - 256 * tensor;

        try (Checkpoint remote = Checkpoint.open(server.uri("small.croft"), options())) {
            assertThat(remote.tensor("layer.77").contentEquals((Tensor) state.get("layer.77"))).isTrue();
        }
        assertThat(server.seen).as("requests: %s", server.ranges()).hasSizeLessThanOrEqualTo(3);
        assertThat(server.bytes.get()).as("requests: %s", server.ranges())
                .isBetween(tensor, (long) (1.1 * (tensor + index)));
    }

    @Test
    void oneTensorOfAGibibyteCostsItsBytes() throws IOException {
        long other = (1 << 30) - 4 * MIB;
        String header = """
                {"other":{"dtype":"U8","shape":[%s],"data_offsets":[0,%s]},\
                "wanted":{"dtype":"U8","shape":[%s],"data_offsets":[%s,%s]}}""".formatted(other, other, 4 * MIB, other,
                1 << 30);
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        try (RandomAccessFile file = new RandomAccessFile(directory.resolve("sparse.safetensors").toFile(), "rw")) {
            file.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(text.length).array());
            file.write(text);
            file.setLength(8 + text.length + (1L << 30));
            file.seek(file.length() - 1);
            file.write(7);
        }
        try (Checkpoint remote = Checkpoint.open(server.uri("sparse.safetensors"), options())) {
            MemorySegment bytes = remote.tensor("wanted").storage().segment();
            assertThat(bytes.get(ValueLayout.JAVA_BYTE, bytes.byteSize() - 1)).isEqualTo((byte) 7);
            assertThat(server.seen.size()).isLessThanOrEqualTo(2);
            assertThat(server.bytes.get()).isLessThanOrEqualTo((long) (1.1 * (4 * MIB + text.length)));
        }
    }

    @Test
    void aSetOfFilesIsOpenedByItsIndex() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 6; i++) {
            state.put("layer." + i, random(i, 100_000));
        }
        Path index = directory.resolve("model.safetensors.index.json");
        Checkpoint.save(index, state, SaveOptions.defaults().setting("safetensors.shard", "1MB"));
        try (Checkpoint local = Checkpoint.open(index);
                Checkpoint remote = Checkpoint.open(server.uri("model.safetensors.index.json"), options())) {
            assertThat(local.files().size()).isGreaterThan(2);
            checkEqual(remote, local);
            assertThat(remote.fileSizes()).hasSameSizeAs(local.files());
            assertThatThrownBy(remote::files).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(remote::path).isInstanceOf(UnsupportedOperationException.class);
            Files.delete(local.files().getLast());
        }
        assertThatThrownBy(() -> Checkpoint.open(server.uri("model.safetensors.index.json"), options()))
                .isInstanceOf(FormatException.class).hasMessageContaining("is missing");
    }

    @Test
    void aSplitGgufIsOpenedByItsFirstFile() throws IOException {
        for (int number = 0; number < 2; number++) {
            TypedMap part = new TypedMap("gguf");
            part.put("layer." + number, random(number, 1000));
            part.attributes().put("split.no", number);
            part.attributes().put("split.count", 2);
            part.attributes().put("split.tensors.count", 2);
            Checkpoint.save(directory.resolve("model-0000%s-of-00002.gguf".formatted(number + 1)), part);
        }
        try (Checkpoint local = Checkpoint.open(directory.resolve("model-00001-of-00002.gguf"));
                Checkpoint remote = Checkpoint.open(server.uri("model-00001-of-00002.gguf"), options())) {
            assertThat(remote.names()).containsExactly("layer.0", "layer.1");
            checkEqual(remote, local);
        }
        Files.delete(directory.resolve("model-00002-of-00002.gguf"));
        assertThatThrownBy(() -> Checkpoint.open(server.uri("model-00001-of-00002.gguf"), options()))
                .isInstanceOf(FormatException.class).hasMessageContaining("model-00002-of-00002.gguf");
    }

    /// Of a server that has the directory of a distributed checkpoint, the index is opened.
    @Test
    void aDistributedCheckpointIsOpenedByItsIndex() throws IOException {
        Path fixture = distributed("four");
        try (Checkpoint local = Checkpoint.open(fixture);
                Checkpoint remote = Checkpoint.open(server.uri(".metadata"), options())) {
            assertThat(remote.format()).isEqualTo("torch-dcp");
            checkEqual(remote, local);
            assertThat(remote.verify().isIntact()).isTrue();
        }
        Files.delete(directory.resolve("__3_0.distcp"));
        assertThatThrownBy(() -> Checkpoint.open(server.uri(".metadata"), options()))
                .isInstanceOf(FormatException.class).hasMessageContaining("__3_0.distcp");
    }

    private Path distributed(String name) throws IOException {
        Path fixture = Path.of("..", "test-support", "fixtures", "pytorch", "dcp", name);
        try (Stream<Path> files = Files.list(fixture)) {
            for (Path file : files.toList()) {
                Files.copy(file, directory.resolve(file.getFileName()));
            }
        }
        return fixture;
    }

    /// Of 768 columns, each of two shards has a half, in a chunk of 384 KiB.
    @ParameterizedTest
    @CsvSource({"100, 0, 1, 768, 2", "500, 383, 2, 2, 2", "0, 400, 40, 100, 1", "400, 10, 3, 3, 1"})
    void aBoxOfADistributedTensorIsFetchedWithoutTheRest(long row, long column, long rows, long columns, int shards)
            throws IOException {
        distributed("../dcp-boxes");
        try (Checkpoint remote = Checkpoint.open(server.uri(".metadata"), options())) {
            long opening = server.bytes.get();
            int requests = server.seen.size();
            Tensor slice = remote.slice("grid", new long[]{row, column}, Shape.of(rows, columns));
            for (long i = 0; i < rows * columns; i++) {
                assertThat(slice.getLong(i / columns, i % columns))
                        .isEqualTo(((row + i / columns) * 768 + column + i % columns) % 251);
            }
            assertThat(server.seen.size() - requests).isBetween(0, shards);
            // The ends of a shard are fetched when it is opened.
            assertThat(server.bytes.get() - opening).isLessThan(shards * (32L << 10));
            assertThat(remote.tensor("grid").storage().isMaterialized()).isFalse();
        }
    }

    @Test
    void theBasesOfACroftFileAreNextToIt() throws IOException {
        Path base = directory.resolve("base.croft");
        Map<String, Object> state = state();
        Checkpoint.save(base, state);
        state.put("more", random(9, 64));
        Checkpoint.save(directory.resolve("next.croft"), state, SaveOptions.defaults().base(base));
        try (Checkpoint local = Checkpoint.open(directory.resolve("next.croft"));
                Checkpoint remote = Checkpoint.open(server.uri("next.croft"), options())) {
            checkEqual(remote, local);
            assertThat(remote.bases()).hasSize(1).allMatch(each -> each.isFound());
        }
        Files.delete(base);
        try (Checkpoint remote = Checkpoint.open(server.uri("next.croft"), options())) {
            assertThatThrownBy(() -> remote.tensor("first.weight").storage().segment())
                    .isInstanceOf(FormatException.class).hasMessageContaining("it is not there");
            assertThat(remote.bases()).hasSize(1).noneMatch(each -> each.isFound());
        }
    }

    @Test
    void rowsOfCompressedChunksAreFetchedWithoutTheOthersAndWithTheirReferences() throws IOException {
        Tensor base = Tensor.arange(DType.FLOAT32, 4 << 20).view(4096, 1024).copy();
        Tensor tuned = base.copy();
        tuned.narrow(0, 1000, 2000).fill(1.5);
        Checkpoint.save(directory.resolve("base.croft"), Map.of("w", base));
        Checkpoint.save(directory.resolve("tuned.croft"), Map.of("w", tuned), SaveOptions.defaults()
                .base(directory.resolve("base.croft")).compress(SaveOptions.Compression.AGAINST_BASE));
        try (Checkpoint remote = Checkpoint.open(server.uri("tuned.croft"), options())) {
            assertThat(remote.extents(remote.tensor("w").storage())).anyMatch(Extent::isCompressed);
            long opened = server.bytes.get();
            assertThat(remote.rows("w", 1100, 1102).contentEquals(tuned.narrow(0, 1100, 2))).isTrue();
            assertThat(server.bytes.get() - opened).isLessThan(3 * MIB);
            assertThat(remote.tensor("w").contentEquals(tuned)).isTrue();
            assertThat(remote.verify().damages()).isEmpty();
        }
        try (Checkpoint remote = Checkpoint.open(server.uri("tuned.croft"), options().inMemory())) {
            assertThat(remote.tensor("w").contentEquals(tuned)).isTrue();
        }
    }

    @Test
    void aFileThatIsReplacedBetweenOpeningAndReadingFails() throws IOException {
        saveLarge(directory.resolve("large.safetensors"));
        try (Checkpoint remote = Checkpoint.open(server.uri("large.safetensors"), options())) {
            Tensor before = remote.tensor("a");
            float value = before.storage().segment().get(ValueLayout.JAVA_FLOAT, 0);
            Checkpoint.save(directory.resolve("large.safetensors"), state());
            assertThatThrownBy(() -> remote.tensor("b").storage().segment()).isInstanceOf(MappingException.class)
                    .cause().isInstanceOfSatisfying(RemoteFileException.class,
                            e -> assertThat(e.kind()).isEqualTo(Kind.CHANGED));
            assertThat(before.storage().segment().get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(value);
        }
    }

    @Test
    void severalThreadsFetchEachByteOnce() throws Exception {
        saveLarge(directory.resolve("large.safetensors"));
        try (Checkpoint remote = Checkpoint.open(server.uri("large.safetensors"), options());
                Checkpoint local = Checkpoint.open(directory.resolve("large.safetensors"));
                ExecutorService threads = Executors.newFixedThreadPool(6)) {
            List<Future<Boolean>> readers = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                String name = List.of("a", "b", "c").get(i % 3);
                readers.add(threads.submit(() -> remote.tensor(name).contentEquals(local.tensor(name))));
            }
            for (Future<Boolean> reader : readers) {
                assertThat(reader.get()).isTrue();
            }
            assertThat(server.bytes.get()).isLessThanOrEqualTo(Files.size(directory.resolve("large.safetensors"))
                    + (64 << 10));
        }
    }

    @Test
    void anInterruptedThreadDoesNotWaitForASlowServer() throws Exception {
        saveLarge(directory.resolve("large.safetensors"));
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        try (Checkpoint remote = Checkpoint.open(server.uri("large.safetensors"), options())) {
            server.on("large.safetensors", exchange -> {
                asked.countDown();
                try {
                    end.await();
                } catch (InterruptedException e) {
                    return;
                }
                server.serve(exchange);
            });
            Thread reader = Thread.currentThread();
            Thread.ofPlatform().start(() -> {
                try {
                    asked.await();
                } catch (InterruptedException e) {
                    return;
                }
                reader.interrupt();
            });
            assertThatThrownBy(() -> remote.tensor("b").storage().segment()).isInstanceOf(MappingException.class)
                    .hasCauseInstanceOf(InterruptedIOException.class);
            assertThat(Thread.interrupted()).isTrue();
            end.countDown();
            server.asUsual("large.safetensors");
            assertThat(remote.tensor("b").storage().segment().byteSize()).isEqualTo(24 * MIB);
        }
    }

    @Test
    void aRetainedStorageOutlivesTheCheckpoint() throws IOException {
        Checkpoint.save(directory.resolve("model.safetensors"), state());
        Tensor tensor;
        try (Checkpoint remote = Checkpoint.open(server.uri("model.safetensors"), options())) {
            tensor = remote.tensor("second.weight");
            tensor.storage().retain();
        }
        try (Checkpoint local = Checkpoint.open(directory.resolve("model.safetensors"))) {
            assertThat(tensor.contentEquals(local.tensor("second.weight"))).isTrue();
        }
        tensor.storage().release();
    }

    @Test
    void unknownFilesAndDamageAreReportedWithTheUri() throws IOException {
        Files.writeString(directory.resolve("page.html"), "<html>Sign in</html>");
        assertThatThrownBy(() -> Checkpoint.open(server.uri("page.html"), options()))
                .isInstanceOf(FormatException.class).hasMessageContaining(server.uri("page.html").toString());
        Files.write(directory.resolve("empty.pt"), new byte[0]);
        assertThatThrownBy(() -> Checkpoint.open(server.uri("empty.pt"), options()))
                .isInstanceOf(FormatException.class).hasMessageContaining("empty");
    }

    /// Formats with a checksum of each storage. On this host, the default policy leaves the comparison to operations
    /// that read a storage as a whole.
    @ParameterizedTest
    @ValueSource(strings = {".croft", ".pt", ".npz"})
    void damagedBytesAreRefusedWhenTheyArrive(String suffix) throws IOException {
        Path file = directory.resolve("damaged" + suffix);
        Checkpoint.save(file, state());
        long offset;
        try (Checkpoint here = Checkpoint.open(file)) {
            offset = here.extents(here.tensor("second.weight").storage()).getFirst().offset();
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{1, 2, 3, 4, 5, 6, 7, 8}), offset + 1000);
        }
        try (Checkpoint remote = Checkpoint.open(server.uri(file.getFileName().toString()), options())) {
            assertThat(remote.tensor("first.weight").getFloat(0, 0)).isEqualTo(random(1, 64, 128).getFloat(0, 0));
            Tensor damaged = remote.tensor("second.weight");
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> damaged.getFloat(0, 0))
                    .withMessageContaining("checksum").withMessageContaining("damaged" + suffix);
        }
    }

    @Test
    void otherUrisAreOpenedAsPathsOrRefused() throws IOException {
        Path file = directory.resolve("model.safetensors");
        Checkpoint.save(file, state());
        try (Checkpoint local = Checkpoint.open(file.toUri())) {
            assertThat(local.path()).isEqualTo(file);
            assertThat(local.location()).isEqualTo(file.toString());
        }
        assertThatThrownBy(() -> Checkpoint.open(URI.create("model.safetensors")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("scheme");
        assertThatThrownBy(() -> Checkpoint.open(URI.create("gopher://host/model.pt")))
                .isInstanceOf(RemoteFileException.class).hasMessageContaining("file, http, https");
        assertThatThrownBy(() -> Checkpoint.open(server.uri("model.safetensors"),
                options().mapping(MapMode.SHARED))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Checkpoint.open(server.uri("model.safetensors"),
                options().setting("https.tokn", "x"))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("https.token");
    }
}
