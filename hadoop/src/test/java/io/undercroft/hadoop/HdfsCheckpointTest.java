package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PendingSave;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.ReservedPort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HdfsCheckpointTest {
    private final String folder = "/" + UUID.randomUUID();
    private final Tensor weight = Tensor.arange(DType.INT32, 1_000_000);
    private final List<DataNodeProperties> stopped = new ArrayList<>();
    private FileSystem fs;

    @BeforeEach
    void open() throws IOException {
        fs = Hdfs.fileSystem();
        fs.mkdirs(new Path(folder));
    }

    @AfterEach
    void restartDatanodes() throws IOException {
        for (DataNodeProperties each : stopped) {
            Hdfs.cluster().restartDataNode(each);
        }
        if (!stopped.isEmpty()) {
            Hdfs.cluster().waitActive();
        }
        fs.delete(new Path(folder), true);
    }

    private URI uri(String name) {
        return Hdfs.uri(folder + "/" + name);
    }

    private Path path(String name) {
        return new Path(folder, name);
    }

    private List<String> files() throws IOException {
        return Arrays.stream(fs.listStatus(new Path(folder))).map(FileStatus::getPath).map(Path::getName).sorted()
                .toList();
    }

    private static void assertKind(Kind kind, org.assertj.core.api.ThrowableAssert.ThrowingCallable action,
            String... parts) {
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(action)
                .satisfies(e -> assertThat(e.kind()).isEqualTo(kind)).withMessageContainingAll(parts);
    }

    @Test
    void aDistributedCheckpointIsOpenedByItsIndex() throws IOException {
        DistributedFixture.copyTo(fs, path("dcp"));
        DistributedFixture.check(uri("dcp/.metadata"), OpenOptions.defaults());
        fs.delete(path("dcp/__1_0.distcp"), false);
        assertThatThrownBy(() -> Checkpoint.open(uri("dcp/.metadata"))).hasMessageContaining("__1_0.distcp");
    }

    @Test
    void aStateIsSavedAndOpenedByItsUri() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("weight", weight);
        state.put("tied", weight.view(DType.UINT8));

        SaveReport report = Checkpoint.save(uri("a.croft"), state);

        assertThat(files()).containsExactly("a.croft");
        assertThat(report.locations()).containsExactly(uri("a.croft").toString());
        assertThat(report.nbytes()).isEqualTo(fs.getFileStatus(path("a.croft")).getLen());
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.location()).isEqualTo(uri("a.croft").toString());
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            assertThat(opened.tensor("tied").storage()).isSameAs(opened.tensor("weight").storage());
            assertThat(opened.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aCompressedStateIsWrittenAndItsChunksAreDecoded() throws IOException {
        Tensor tuned = weight.copy();
        tuned.narrow(0, 1000, 500_000).fill(3);
        SaveOptions alone = SaveOptions.defaults().compress(SaveOptions.Compression.ALONE);
        Checkpoint.save(uri("base.croft"), Map.of("weight", weight), alone);
        Checkpoint.save(uri("tuned.croft"), Map.of("weight", tuned), alone);

        assertThat(fs.getFileStatus(path("base.croft")).getLen()).isLessThan(weight.nbytes() / 2);
        for (OpenOptions options : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
            try (Checkpoint opened = Checkpoint.open(uri("tuned.croft"), options)) {
                assertThat(opened.extents(opened.tensor("weight").storage())).anyMatch(Extent::isCompressed);
                assertThat(opened.rows("weight", 900, 1100).contentEquals(tuned.narrow(0, 900, 200))).isTrue();
                assertThat(opened.tensor("weight").contentEquals(tuned)).isTrue();
                assertThat(opened.verify().isIntact()).isTrue();
            }
        }
    }

    @Test
    void otherFormatsAreWrittenToo() throws IOException {
        Checkpoint.save(uri("a.safetensors"), Map.of("weight", weight));
        Checkpoint.save(uri("a.pt"), Map.of("weight", weight));

        for (String name : List.of("a.safetensors", "a.pt")) {
            try (Checkpoint opened = Checkpoint.open(uri(name), OpenOptions.defaults().inMemory())) {
                assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            }
        }
        assertThat(files()).containsExactly("a.pt", "a.safetensors");
    }

    /// Saves 64 MiB.
    private Map<String, Tensor> saveLayers(int count) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put("layer" + i, Tensor.full(DType.INT32, i + 1, (16 << 20) / count));
        }
        Checkpoint.save(uri("a.croft"), state, SaveOptions.defaults().sharing(SaveOptions.Sharing.IDENTITY));
        return state;
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 256})
    void oneTensorOfManyTakesThreeReadsAndFewMoreBytes(int count) throws IOException {
        saveLayers(count);
        long tensor = (64L << 20) / count;
        long size = fs.getFileStatus(path("a.croft")).getLen();
        assertThat(size).isGreaterThan(64 << 20);
        long index = size - (64 << 20);

        long before = bytesRead();
        CountedSource source = new CountedSource(HadoopFiles.source(fs, path("a.croft")));
        try (Checkpoint opened = Checkpoint.open(source, OpenOptions.defaults())) {
            assertThat(opened.tensor("layer11").getInt(77)).isEqualTo(12);
            assertThat(source.reads).hasValueLessThanOrEqualTo(3);
            assertThat(source.bytes.get()).isLessThanOrEqualTo((long) (1.1 * (tensor + index)));
            assertThat(bytesRead() - before).isLessThanOrEqualTo((long) (1.1 * (tensor + index)));
        }
    }

    private static long bytesRead() {
        return FileSystem.getGlobalStorageStatistics().get("hdfs").getLong("bytesRead");
    }

    @Test
    void aDatanodeThatIsKilledWhileAFileIsReadIsNotNoticed() throws IOException {
        Map<String, Tensor> state = Map.of("a", weight, "b", Tensor.arange(DType.INT64, 1_000_000));
        Checkpoint.save(uri("a.croft"), state);

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("a").contentEquals(state.get("a"))).isTrue();
            String host = fs.getFileBlockLocations(path("a.croft"), 5 << 20, 1)[0].getNames()[0];
            stopped.add(Hdfs.cluster().stopDataNode(host));
            assertThat(opened.tensor("b").contentEquals(state.get("b"))).isTrue();
        }
    }

    @Test
    void aDatanodeThatIsKilledWhileAFileIsWrittenIsReplaced() throws IOException {
        Tensor large = Tensor.arange(DType.INT32, 8 << 20);

        Checkpoint.save(uri("a.croft"), Map.of("large", large), SaveOptions.defaults().progress((done, total) -> {
            if (stopped.isEmpty() && done > total / 2) {
                stopped.add(Hdfs.cluster().stopDataNode(0));
            }
        }));

        assertThat(stopped).hasSize(1);
        assertThat(files()).containsExactly("a.croft");
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), OpenOptions.defaults().inMemory())) {
            assertThat(opened.tensor("large").contentEquals(large)).isTrue();
        }
    }

    @Test
    void aFileThatIsReplacedOrRemovedAfterItWasOpenedIsNotMixedUp() throws IOException {
        Map<String, Tensor> state = Map.of("weight", weight, "bias", Tensor.arange(DType.INT64, 300_000));
        Checkpoint.save(uri("a.croft"), state);

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            Checkpoint.save(uri("a.croft"), Map.of("weight", Tensor.ones(DType.INT32, 2_000_000)));
            assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).isInstanceOf(MappingException.class)
                    .cause().isInstanceOf(RemoteFileException.class).hasMessageContaining("open it again")
                    .extracting(e -> ((RemoteFileException) e).kind()).isEqualTo(Kind.CHANGED);
        }
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            fs.delete(path("a.croft"), false);
            assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).cause()
                    .isInstanceOf(RemoteFileException.class)
                    .extracting(e -> ((RemoteFileException) e).kind()).isEqualTo(Kind.CHANGED);
        }
    }

    @Test
    void aLoadAsksOnceWhetherTheFileIsStillTheSame() throws IOException {
        Map<String, Tensor> state = saveLayers(16);

        CountedSource source = new CountedSource(HadoopFiles.source(fs, path("a.croft")));
        try (Checkpoint opened = Checkpoint.open(source, OpenOptions.defaults().inMemory())) {
            assertThat(opened.tensor("layer11").contentEquals(state.get("layer11"))).isTrue();
            assertThat(source.reads).hasValueGreaterThanOrEqualTo(16);
            assertThat(source.confirmations).hasValueLessThanOrEqualTo(2);
        }

        CountedSource replaced = new CountedSource(HadoopFiles.source(fs, path("a.croft")));
        replaced.onRead = number -> {
            if (number == 9) {
                assertThatCode(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight)))
                        .doesNotThrowAnyException();
            }
        };
        assertKind(Kind.CHANGED, () -> Checkpoint.open(replaced, OpenOptions.defaults().inMemory()), "open it again");
        assertThat(replaced.reads).hasValueGreaterThanOrEqualTo(9);
    }

    @Test
    void aSaveInTheBackgroundIsOfTheStateWhenItBegan() throws IOException {
        Tensor changing = weight.copy();

        try (PendingSave save = Checkpoint.saveAsync(uri("a.croft"), Map.of("weight", changing))) {
            changing.fill(7);
            assertThat(save.join().locations()).containsExactly(uri("a.croft").toString());
        }

        assertThat(files()).containsExactly("a.croft");
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
        }
    }

    @Test
    void aSaveInTheBackgroundFailsIfAllDatanodesDoAndLeavesNothing() throws IOException {
        AtomicBoolean isStopped = new AtomicBoolean();
        PendingSave save = Checkpoint.saveAsync(uri("a.croft"),
                Map.of("large", Tensor.arange(DType.INT32, 8 << 20)), SaveOptions.defaults().progress((done, total) -> {
                    if (done > total / 2 && isStopped.compareAndSet(false, true)) {
                        for (int i = 0; i < Hdfs.DATANODES; i++) {
                            stopped.add(Hdfs.cluster().stopDataNode(0));
                        }
                    }
                }));

        assertKind(Kind.UNAVAILABLE, save::close, "a.croft", "nothing of it is visible");
        assertThat(stopped).hasSize(Hdfs.DATANODES);
        assertThat(files()).isEmpty();
    }

    @Test
    void ofTwoJobsThatSaveAtOnceOneIsRefusedAndLeavesNothing() throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        for (String first : List.of("made", "replaced")) {
            try (StoreOutput slow = target.create(Creation.REPLACING)) {
                slow.write(0, MemorySegment.ofArray(new byte[100]));
                Checkpoint.save(uri("a.croft"), Map.of("weight", weight), SaveOptions.defaults().message(first));
                assertKind(Kind.CONFLICT, slow::commit, "another writer");
            }
            assertThat(files()).containsExactly("a.croft");
            try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
                assertThat(opened.snapshot().orElseThrow().message()).isEqualTo(first);
            }
        }
        assertKind(Kind.CONFLICT, () -> target.create(Creation.IF_ABSENT), "a.croft");
    }

    @Test
    void nothingIsVisibleBeforeTheEndNorOfASaveThatFails() {
        AtomicReference<List<String>> seen = new AtomicReference<>();

        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                SaveOptions.defaults().progress((done, _) -> {
                    if (done > 0) {
                        try {
                            seen.set(files());
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                        throw new IllegalStateException("enough");
                    }
                }))).isInstanceOf(IllegalStateException.class).hasMessage("enough");

        assertThat(seen.get()).hasSize(1).allMatch(name -> name.startsWith(".a.croft."));
        assertThat(fs).satisfies(_ -> assertThat(files()).isEmpty());
    }

    @Test
    void whatIsNotThereOrNoFileIsReported() {
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(uri("missing.croft")), "missing.croft", "check the URI");
        assertKind(Kind.UNSUPPORTED, () -> Checkpoint.open(Hdfs.uri(folder)), "directory");
        assertKind(Kind.UNSUPPORTED, () -> Checkpoint.save(Hdfs.uri(folder), Map.of()), "directory");
        assertKind(Kind.UNSUPPORTED, () -> Checkpoint.open(URI.create("gs://bucket/a.croft")), "gcs-connector");
        assertThatThrownBy(() -> Checkpoint.open(URI.create("hdfs://user:secret@host/a.croft")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageNotContaining("secret");
        assertThatThrownBy(() -> Checkpoint.open(URI.create(uri("a.croft") + "?x")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("%3F");
    }

    @Test
    void aFileThatTheUserMayNotReadIsReported() throws Exception {
        Checkpoint.save(uri("a.croft"), Map.of("weight", weight));
        fs.setPermission(path("a.croft"), new FsPermission((short) 0600));
        UserGroupInformation other = UserGroupInformation.createUserForTesting("other", new String[]{"others"});

        assertKind(Kind.NOT_PERMITTED, () -> other.doAs((PrivilegedExceptionAction<Object>) () -> {
            return Checkpoint.open(uri("a.croft"));
        }), "permit");
        assertKind(Kind.NOT_PERMITTED, () -> other.doAs((PrivilegedExceptionAction<Object>) () -> {
            return Checkpoint.save(Hdfs.uri("/of-root.croft"), Map.of("weight", weight));
        }), "permit");
    }

    @Test
    void aStoreThatCannotBeReachedIsReported() throws IOException {
        Configuration impatient = new Configuration(false);
        impatient.set("ipc.client.connect.max.retries", "1");
        impatient.set("ipc.client.connect.retry.interval", "10");
        String file = ConfigurationFile.of(impatient);
        try (ReservedPort port = ReservedPort.any()) {
            URI nobody = URI.create("hdfs://127.0.0.1:" + port.number() + "/a.croft");

            assertKind(Kind.UNAVAILABLE,
                    () -> Checkpoint.open(nobody, OpenOptions.defaults().setting("hadoop.conf", file)),
                    "ConnectException");
            assertKind(Kind.UNAVAILABLE, () -> Checkpoint.save(nobody, Map.of("weight", weight),
                    SaveOptions.defaults().setting("hadoop.conf", file)), "ConnectException");
        }
        assertThatThrownBy(() -> Checkpoint.open(uri("a.croft"),
                OpenOptions.defaults().setting("hadoop.conf", file + ".missing")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("hadoop.conf");
    }
}
