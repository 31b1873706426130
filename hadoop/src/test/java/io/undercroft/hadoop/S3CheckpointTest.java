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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class S3CheckpointTest {
    private static String configuration;
    private static FileSystem fs;

    private final String folder = "/" + UUID.randomUUID();
    private final Tensor weight = Tensor.arange(DType.INT32, 3 << 20);

    @BeforeAll
    static void start() throws IOException {
        configuration = ConfigurationFile.of(S3.configuration());
        fs = S3.fileSystem(S3.configuration());
    }

    @AfterAll
    static void end() throws IOException {
        fs.close();
    }

    private URI uri(String name) {
        return S3.uri(folder + "/" + name);
    }

    private Path path(String name) {
        return new Path(folder, name);
    }

    private static SaveOptions saving() {
        return SaveOptions.defaults().setting("hadoop.conf", configuration);
    }

    private static OpenOptions opening() {
        return OpenOptions.defaults().setting("hadoop.conf", configuration);
    }

    private static void assertKind(Kind kind, org.assertj.core.api.ThrowableAssert.ThrowingCallable action,
            String... parts) {
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(action)
                .satisfies(e -> assertThat(e.kind()).isEqualTo(kind)).withMessageContainingAll(parts);
    }

    @Test
    void aStateIsUploadedInPartsAndOpenedByItsUri() throws IOException {
        long uploads = statistics().counters().get("multipart_upload_completed");

        Checkpoint.save(HadoopFiles.target(fs, path("a.croft")), Map.of("weight", weight), SaveOptions.defaults());
        Checkpoint.save(uri("a.safetensors"), Map.of("weight", weight), saving());

        assertThat(statistics().counters().get("multipart_upload_completed")).isGreaterThan(uploads);
        for (String name : List.of("a.croft", "a.safetensors")) {
            try (Checkpoint opened = Checkpoint.open(uri(name), opening())) {
                assertThat(opened.location()).isEqualTo(uri(name).toString());
                assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            }
        }
    }

    private static IOStatistics statistics() {
        return ((org.apache.hadoop.fs.statistics.IOStatisticsSource) fs).getIOStatistics();
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 256})
    void oneTensorOfManyTakesThreeReadsAndFewMoreBytes(int count) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put("layer" + i, Tensor.full(DType.INT32, i + 1, (16 << 20) / count));
        }
        long tensor = (64 << 20) / count;
        Checkpoint.save(uri("a.croft"), state, saving().sharing(SaveOptions.Sharing.IDENTITY));
        long index = fs.getFileStatus(path("a.croft")).getLen() - (64 << 20);
        int reads = S3.READS.get();
        long bytes = S3.BYTES.get();

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            assertThat(opened.tensor("layer11").getInt(77)).isEqualTo(12);
        }

        assertThat(S3.READS.get() - reads).isBetween(1, 3);
        assertThat(S3.BYTES.get() - bytes).isBetween(tensor, (long) (1.1 * (tensor + index)));
    }

    @Test
    void ofTwoJobsThatSaveAtOnceOneIsRefusedAndLeavesNothing() throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        for (int size : List.of(100, 2 * S3.PART)) {
            for (String first : List.of("made", "replaced")) {
                try (StoreOutput slow = target.create(Creation.REPLACING)) {
                    slow.write(MemorySegment.ofArray(new byte[size]));
                    Checkpoint.save(uri("a.croft"), Map.of("weight", weight), saving().message(first));
                    assertKind(Kind.CONFLICT, slow::commit, "another writer");
                }
                try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
                    assertThat(opened.snapshot().orElseThrow().message()).isEqualTo(first);
                }
            }
            target.delete();
        }
    }

    @Test
    void nothingIsVisibleOfASaveThatFails() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                saving().progress((done, total) -> {
                    if (done > total / 2) {
                        throw new IllegalStateException("enough");
                    }
                }))).isInstanceOf(IllegalStateException.class).hasMessage("enough");

        assertThat(fs.exists(path("a.croft"))).isFalse();
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
    void aSaveInTheBackgroundFailsIfTheStoreDoesAndLeavesNothing() throws IOException {
        String name = path("a.croft").toUri().getPath().substring(1);
        PendingSave save = Checkpoint.saveAsync(uri("a.croft"),
                Map.of("large", Tensor.arange(DType.INT32, 16 << 20)), saving().progress((done, total) -> {
                    if (done > total / 4) {
                        S3.FAILING.add(name);
                    }
                }));

        assertKind(Kind.UNAVAILABLE, save::close, "a.croft", "nothing of it is visible");
        assertThat(S3.FAILING).contains(name);
        assertThat(fs.exists(path("a.croft"))).isFalse();
    }

    @Test
    void anObjectThatIsReplacedOrRemovedAfterItWasOpenedIsNotMixedUp() throws IOException {
        Checkpoint.save(uri("a.croft"), Map.of("weight", weight), saving());

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            Checkpoint.save(uri("a.croft"), Map.of("weight", Tensor.ones(DType.INT32, 3 << 20)), saving());
            assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).cause()
                    .isInstanceOf(RemoteFileException.class).hasMessageContaining("open it again")
                    .extracting(e -> ((RemoteFileException) e).kind()).isEqualTo(Kind.CHANGED);
        }
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            fs.delete(path("a.croft"), false);
            assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).cause()
                    .isInstanceOf(RemoteFileException.class)
                    .extracting(e -> ((RemoteFileException) e).kind()).isEqualTo(Kind.CHANGED);
        }
    }

    @Test
    void whatIsNotThereIsReported() {
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(uri("missing.croft"), opening()), "missing.croft");
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(URI.create("s3a://no-such-bucket/a.croft"), opening()),
                "bucket");
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.save(URI.create("s3a://no-such-bucket/a.croft"),
                Map.of("weight", weight), saving()), "bucket");
    }

    @Test
    void credentialsThatAreWrongOrMissingAreReported() throws IOException {
        Configuration wrong = S3.configuration();
        wrong.set("fs.s3a.secret.key", "guess");
        Configuration none = S3.configuration();
        none.unset("fs.s3a.access.key");
        none.unset("fs.s3a.secret.key");
        none.set("fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider");

        for (Configuration each : List.of(wrong, none)) {
            String file = ConfigurationFile.of(each);
            assertKind(Kind.NOT_PERMITTED,
                    () -> Checkpoint.open(uri("a.croft"), OpenOptions.defaults().setting("hadoop.conf", file)),
                    "credentials");
            assertKind(Kind.NOT_PERMITTED, () -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                    SaveOptions.defaults().setting("hadoop.conf", file)), "credentials");
        }
    }

    @Test
    void aStoreThatCannotBeReachedIsReported() throws IOException {
        Configuration nobody = S3.configuration();
        nobody.set("fs.s3a.attempts.maximum", "1");
        try (ReservedPort port = ReservedPort.any()) {
            nobody.set("fs.s3a.endpoint", "http://127.0.0.1:" + port.number());
            String file = ConfigurationFile.of(nobody);

            assertKind(Kind.UNAVAILABLE,
                    () -> Checkpoint.open(uri("a.croft"), OpenOptions.defaults().setting("hadoop.conf", file)),
                    "network");
            assertKind(Kind.UNAVAILABLE, () -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                    SaveOptions.defaults().setting("hadoop.conf", file)), "network");
        }
    }
}
