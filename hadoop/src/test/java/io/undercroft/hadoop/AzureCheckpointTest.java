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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

@EnabledIfEnvironmentVariable(named = Azure.VARIABLE, matches = ".+", disabledReason = Azure.MISSING)
class AzureCheckpointTest {
    private static String configuration;
    private static FileSystem fs;

    private final String folder = "/" + UUID.randomUUID();
    private final Tensor weight = Tensor.arange(DType.INT32, 3 << 20);

    @BeforeAll
    static void start() throws IOException {
        configuration = ConfigurationFile.of(Azure.configuration());
        fs = Azure.fileSystem();
    }

    @AfterAll
    static void end() throws IOException {
        fs.close();
    }

    private URI uri(String name) {
        return Azure.uri(folder + "/" + name);
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
                .satisfies(e -> assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind))
                .withMessageContainingAll(parts);
    }

    private void assertReadChanged(Checkpoint opened) {
        assertThatThrownBy(() -> opened.tensor("weight").getInt(0)).cause().isInstanceOf(RemoteFileException.class)
                .hasMessageContaining("open it again").extracting(e -> ((RemoteFileException) e).kind())
                .isEqualTo(Kind.CHANGED);
    }

    private List<String> names() throws IOException {
        return Arrays.stream(fs.listStatus(new Path(folder))).map(FileStatus::getPath).map(Path::getName)
                .toList();
    }

    @Test
    void aStateIsSavedAndOpenedByItsUri() throws IOException {
        Checkpoint.save(HadoopFiles.target(fs, path("a.croft")), Map.of("weight", weight), SaveOptions.defaults());
        Checkpoint.save(uri("a.safetensors"), Map.of("weight", weight), saving());

        assertThat(names()).containsExactly("a.croft", "a.safetensors");
        for (String name : names()) {
            try (Checkpoint opened = Checkpoint.open(uri(name), opening())) {
                assertThat(opened.location()).isEqualTo(uri(name).toString());
                assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            }
            try (Checkpoint opened = Checkpoint.open(uri(name), opening().inMemory())) {
                assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            }
        }
    }

    @Test
    void oneTensorOfManyTakesThreeReadsAndFewMoreBytes() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 16; i++) {
            state.put("layer" + i, Tensor.full(DType.INT32, i + 1, 1 << 20));
        }
        Checkpoint.save(uri("a.croft"), state, saving().sharing(SaveOptions.Sharing.IDENTITY));
        long index = fs.getFileStatus(path("a.croft")).getLen() - (64 << 20);
        long reads = counter("get_responses");
        long bytes = counter("bytes_received");

        try (Checkpoint opened = Checkpoint.open(HadoopFiles.source(fs, path("a.croft")), OpenOptions.defaults())) {
            assertThat(opened.tensor("layer11").getInt(77)).isEqualTo(12);
        }

        // One of them is for the status.
        assertThat(counter("get_responses") - reads).isBetween(2L, 4L);
        assertThat(counter("bytes_received") - bytes).isBetween(4L << 20, (long) (1.1 * ((4 << 20) + index)));
    }

    private static long counter(String name) {
        return ((IOStatisticsSource) fs).getIOStatistics().counters().getOrDefault(name, 0L);
    }

    @Test
    void ofTwoJobsThatSaveAtOnceOneIsRefusedAndLeavesNothing() throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        for (String first : List.of("made", "replaced")) {
            try (StoreOutput slow = target.create(Creation.REPLACING)) {
                slow.write(MemorySegment.ofArray(new byte[100]));
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
    void savesLeaveNoThreadsOfClientsBehind() throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        Checkpoint.save(target, Map.of("weight", weight), SaveOptions.defaults());
        long before = threadsOfPools();

        for (int i = 0; i < 6; i++) {
            Checkpoint.save(target, Map.of("weight", weight), SaveOptions.defaults());
        }

        assertThat(threadsOfPools()).isLessThan(before + 6);
    }

    private static long threadsOfPools() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("pool-"))
                .count();
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
    void aBlobThatIsReplacedOrRemovedAfterItWasOpenedIsNotMixedUp() throws IOException {
        Checkpoint.save(uri("a.croft"), Map.of("weight", weight), saving());

        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            Checkpoint.save(uri("a.croft"), Map.of("weight", Tensor.ones(DType.INT32, 3 << 20)), saving());
            assertReadChanged(opened);
        }
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"), opening())) {
            fs.delete(path("a.croft"), false);
            assertReadChanged(opened);
        }
    }

    @Test
    void whatIsNotThereIsReported() {
        URI elsewhere = Azure.uri("no-such-container", "/a.croft");

        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(uri("missing.croft"), opening()), "missing.croft");
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.open(elsewhere, opening()), "container");
        assertKind(Kind.NOT_FOUND, () -> Checkpoint.save(elsewhere, Map.of("weight", weight), saving()), "container");
    }

    @Test
    void credentialsThatAreWrongOrMissingAreReported() throws IOException {
        String account = "fs.azure.account.key." + Azure.uri("/").getAuthority().replaceFirst(".*@", "");
        Configuration wrong = Azure.configuration();
        wrong.set(account, "bm90IHRoZSBrZXk=");
        Configuration none = Azure.configuration();
        none.unset(account);

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
        try (ReservedPort port = ReservedPort.any()) {
            URI nobody = Azure.uri(Azure.CONTAINER, port.number(), "/a.croft");
            Configuration configuration = Azure.configuration();
            configuration.set("fs.azure.account.key." + nobody.getAuthority().replaceFirst(".*@", ""), "a2V5");
            String file = ConfigurationFile.of(configuration);
            assertKind(Kind.UNAVAILABLE,
                    () -> Checkpoint.open(nobody, OpenOptions.defaults().setting("hadoop.conf", file)), "network");
        }
    }
}
