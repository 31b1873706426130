package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PendingSave;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.ReservedPort;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What holds of every object store.
@TestInstance(Lifecycle.PER_CLASS)
abstract class ObjectStoreTest {
    final Tensor weight = Tensor.arange(DType.INT32, 3 << 20);
    FileSystem fs;
    private String configuration;
    private String folder;

    /// {@return what the client has to know of the store}
    abstract Configuration configuration();

    /// {@return configurations of which the store takes no credentials}
    abstract List<Configuration> refused() throws IOException;

    /// {@return a configuration for a store at another port of this machine}
    abstract Configuration configuration(int port);

    abstract FileSystem connect() throws IOException;

    /// {@return the URI of a path of the store}
    abstract URI uriOf(String path);

    /// {@return the URI of a file of a store at another port of this machine}
    abstract URI uriAt(int port);

    /// {@return the URI of a file in a bucket that does not exist}
    abstract URI uriElsewhere();

    /// {@return how many requests for bytes of objects there were}
    abstract long reads();

    /// {@return how many bytes of objects were requested}
    abstract long bytesRead();

    /// Opens a file so that its requests are among those that [#reads] has.
    Checkpoint openCounted(String name) throws IOException {
        return Checkpoint.open(uri(name), opening());
    }

    @BeforeAll
    void start() throws IOException {
        configuration = ConfigurationFile.of(configuration());
        fs = connect();
    }

    @AfterAll
    void end() throws IOException {
        fs.close();
    }

    @BeforeEach
    void startFolder() {
        folder = "/" + UUID.randomUUID();
    }

    URI uri(String name) {
        return uriOf(folder + "/" + name);
    }

    Path path(String name) {
        return new Path(folder, name);
    }

    SaveOptions saving() {
        return SaveOptions.defaults().setting("hadoop.conf", configuration);
    }

    OpenOptions opening() {
        return OpenOptions.defaults().setting("hadoop.conf", configuration);
    }

    long counter(String name) {
        return ((IOStatisticsSource) fs).getIOStatistics().counters().getOrDefault(name, 0L);
    }

    static void assertKind(Kind kind, ThrowingCallable action, String... parts) {
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(action)
                .satisfies(e -> assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind))
                .withMessageContainingAll(parts);
    }

    private void assertNeitherOpensNorSaves(Kind kind, URI uri, String configuration, String part) {
        assertKind(kind,
                () -> Checkpoint.open(uri, OpenOptions.defaults().setting("hadoop.conf", configuration)), part);
        assertKind(kind, () -> Checkpoint.save(uri, Map.of("weight", weight),
                SaveOptions.defaults().setting("hadoop.conf", configuration)), part);
    }

    private void assertReadFails(Checkpoint opened) {
        assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).cause().isInstanceOf(RemoteFileException.class)
                .hasMessageContaining("open it again").extracting(e -> ((RemoteFileException) e).kind())
                .isEqualTo(Kind.CHANGED);
    }

    private List<String> names() throws IOException {
        return Arrays.stream(fs.listStatus(new Path(folder))).map(FileStatus::getPath).map(Path::getName).toList();
    }

    @Test
    void aDistributedCheckpointIsOpenedByItsIndex() throws IOException {
        DistributedFixture.copyTo(fs, path("dcp"));
        DistributedFixture.check(uri("dcp/.metadata"), opening());
    }

    @Test
    void aStateIsSavedAndOpenedByItsUri() throws IOException {
        Checkpoint.save(HadoopFiles.target(fs, path("a.croft")), Map.of("weight", weight), SaveOptions.defaults());
        Checkpoint.save(uri("a.safetensors"), Map.of("weight", weight), saving());

        assertThat(names()).containsExactly("a.croft", "a.safetensors");
        for (String name : names()) {
            for (OpenOptions options : List.of(opening(), opening().inMemory())) {
                try (Checkpoint opened = Checkpoint.open(uri(name), options)) {
                    assertThat(opened.location()).isEqualTo(uri(name).toString());
                    assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 256})
    void oneTensorOfManyTakesThreeReadsAndFewMoreBytes(int count) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put("layer" + i, Tensor.full(DType.INT32, i + 1, (16 << 20) / count));
        }
        long tensor = (64L << 20) / count;
        Checkpoint.save(uri("a.croft"), state, saving().sharing(SaveOptions.Sharing.IDENTITY));
        long index = fs.getFileStatus(path("a.croft")).getLen() - (64 << 20);
        long reads = reads();
        long bytes = bytesRead();

        try (Checkpoint opened = openCounted("a.croft")) {
            assertThat(opened.tensor("layer11").getInt(77)).isEqualTo(12);
        }

        assertThat(reads() - reads).isBetween(1L, 3L);
        assertThat(bytesRead() - bytes).isBetween(tensor, (long) (1.1 * (tensor + index)));
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 2 * S3.PART})
    void ofTwoJobsThatSaveAtOnceOneIsRefusedAndLeavesNothing(int size) throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        for (String first : List.of("made", "replaced")) {
            try (StoreOutput slow = target.create(Creation.REPLACING)) {
                slow.write(0, MemorySegment.ofArray(new byte[size]));
                Checkpoint.save(uri("a.croft"), Map.of("weight", weight), saving().message(first));
                assertKind(Kind.CONFLICT, slow::commit, "another writer");
            }
            try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
                assertThat(opened.snapshot().orElseThrow().message()).isEqualTo(first);
            }
            assertThat(names()).containsExactly("a.croft");
        }
    }

    @Test
    void nothingIsVisibleOfASaveThatFails() throws IOException {
        Checkpoint.save(uri("other.croft"), Map.of("weight", weight), saving());

        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                saving().progress((done, total) -> {
                    if (done > total / 2) {
                        throw new IllegalStateException("enough");
                    }
                }))).isInstanceOf(IllegalStateException.class).hasMessage("enough");

        assertThat(names()).containsExactly("other.croft");
    }

    @Test
    void aSaveInTheBackgroundIsOfTheStateWhenItBegan() throws IOException {
        Tensor changing = weight.copy();

        try (PendingSave save = Checkpoint.saveAsync(uri("a.croft"), Map.of("weight", changing), saving())) {
            changing.fill(7);
            assertThat(save.join().locations()).containsExactly(uri("a.croft").toString());
        }

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
        }
    }

    @Test
    void anObjectThatIsReplacedOrRemovedAfterItWasOpenedIsNotMixedUp() throws IOException {
        Checkpoint.save(uri("a.croft"), Map.of("weight", weight), saving());

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            Checkpoint.save(uri("a.croft"), Map.of("weight", Tensor.ones(DType.INT32, 3 << 20)), saving());
            assertReadFails(opened);
        }
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            fs.delete(path("a.croft"), false);
            assertReadFails(opened);
        }
    }

    @Test
    void whatIsNotThereIsReported() {
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(uri("missing.croft"), opening()), "missing.croft");
        assertNeitherOpensNorSaves(Kind.NOT_FOUND, uriElsewhere(), configuration, "bucket");
    }

    @Test
    void credentialsThatAreWrongOrMissingAreReported() throws IOException {
        for (Configuration each : refused()) {
            assertNeitherOpensNorSaves(Kind.NOT_PERMITTED, uri("a.croft"), ConfigurationFile.of(each), "credentials");
        }
    }

    @Test
    void aStoreThatCannotBeReachedIsReported() throws IOException {
        try (ReservedPort port = ReservedPort.any()) {
            assertNeitherOpensNorSaves(Kind.UNAVAILABLE, uriAt(port.number()),
                    ConfigurationFile.of(configuration(port.number())), "network");
        }
    }
}
