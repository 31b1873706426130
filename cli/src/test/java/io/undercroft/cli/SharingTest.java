package io.undercroft.cli;

import static io.undercroft.cli.Invocation.EMBEDDING;
import static io.undercroft.cli.Invocation.HEAD;
import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PublishedCheckpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Checkpoints that are put into shared memory, and what the commands say of it.
@Isolated("removes the shared memory that nobody holds")
@EnabledOnOs(OS.LINUX)
class SharingTest {
    private final String name = "croft-cli-" + UUID.randomUUID().toString().substring(0, 12);
    private final Path image = Path.of("/dev/shm", name);

    @TempDir
    Path folder;

    @AfterEach
    void removeTheName() throws SharedMemoryException {
        SharedMemory.unlink(name);
    }

    @Test
    void aPublishedCheckpointIsOpenedByNameAndReadAsAFile() throws IOException {
        Invocation published = Invocation.of("shm", "publish", TRAINING, name);

        assertThat(published.err()).isEmpty();
        assertThat(published.code()).isZero();
        assertThat(published.out()).hasLineCount(2)
                .startsWith(TRAINING + " (torch-zip, 1.6 MiB) -> shared memory " + name)
                .contains("113 tensors on 112 storages", "PublishedCheckpoint.attach(\"" + name + "\")",
                        image.toString(),
                        "croft shm remove " + name);
        try (Checkpoint c = PublishedCheckpoint.attach(name)) {
            assertThat(c.tensor(EMBEDDING).storage()).isSameAs(c.tensor(HEAD).storage());
        }
        assertThat(Invocation.of("verify", image).out()).contains(": no damage found", "113 tensors on 112 storages");
        assertThat(hashes(image)).isEqualTo(hashes(TRAINING));
    }

    @Test
    void theImageIsTheFileThatConvertWrites() throws IOException {
        Path converted = folder.resolve("converted.croft");
        Invocation.of("convert", TRAINING, converted);

        Invocation.of("shm", "publish", TRAINING, name);

        assertThat(image).hasSameBinaryContentAs(converted);
    }

    @Test
    void publishingAgainReplacesItAndReadersKeepWhatTheyHave() throws IOException {
        Invocation.of("shm", "publish", TRAINING, name);
        try (Checkpoint old = PublishedCheckpoint.attach(name)) {
            assertThat(Invocation.of("shm", "publish", torch("tied.pt"), name).code()).isZero();

            assertThat(old.verify().isIntact()).isTrue();
            assertThat(hashes(image)).isEqualTo(hashes(torch("tied.pt")));
        }
    }

    @Test
    void storagesMayHaveBytesOfTheirOwnToBeWrittenTo() throws IOException {
        assertThat(Invocation.of("shm", "publish", "--writable", TRAINING, name).code()).isZero();

        OpenOptions shared = OpenOptions.defaults().mapping(MapMode.SHARED);
        try (Checkpoint one = PublishedCheckpoint.attach(name, shared);
                Checkpoint other = PublishedCheckpoint.attach(name, shared)) {
            one.names().forEach(each -> assertThat(other.tensor(each).contentEquals(one.tensor(each))).isTrue());
            one.tensor(EMBEDDING).setDouble(0, 0, 42);
            assertThat(other.tensor(HEAD).getDouble(0, 0)).isEqualTo(42);
        }
    }

    @Test
    void bytesThatAreToBeWrittenToAreNotShared() {
        Invocation both = Invocation.of("shm", "publish", "--writable", "--sharing", "content", TRAINING, name);

        assertThat(both.code()).isEqualTo(2);
        assertThat(both.err()).contains("leave out --sharing");
        assertThat(image).doesNotExist();
    }

    @Test
    void whatBecameOfTheBytesIsReportedIfAsked() {
        assertThat(Invocation.of("shm", "publish", "--report", TRAINING, name).out())
                .contains("not written: tensors share a storage", "%  written");
    }

    @Test
    void unpublishingTakesTheNameAway() throws IOException {
        Invocation.of("shm", "publish", TRAINING, name);
        try (Checkpoint c = PublishedCheckpoint.attach(name)) {
            Invocation unpublished = Invocation.of("shm", "remove", name);

            assertThat(unpublished.err()).isEmpty();
            assertThat(unpublished.out()).contains(name);
            assertThat(image).doesNotExist();
            assertThat(c.verify().isIntact()).isTrue();
        }
        assertRefused(Invocation.of("shm", "remove", name), "there is no shared memory " + name);
    }

    @Test
    void sharedMemoryIsListedWithWhoHoldsIt() throws IOException {
        try (SharedMemory _ = SharedMemory.create(name, 5000, NameLifetime.WITH_LAST_HOLDER)) {
            String line = Invocation.of("shm", "list").out().lines().filter(each -> each.contains(name)).findFirst()
                    .orElseThrow();
            assertThat(line).contains("4.9 KiB", "with its last holder", "" + ProcessHandle.current().pid());

            JsonNode segment = segment(Invocation.of("shm", "list", "--json").json());
            assertThat(segment.fieldNames()).toIterable().containsExactly("name", "nbytes", "lifetime", "holders");
            assertThat(segment.get("nbytes").asLong()).isEqualTo(5000);
            assertThat(segment.get("lifetime").asText()).isEqualTo("with_last_holder");
            JsonNode holder = segment.get("holders").get(0);
            assertThat(holder.get("pid").asLong()).isEqualTo(ProcessHandle.current().pid());
            assertThat(holder.get("state").asText()).isEqualTo("alive");
            assertThat(Instant.parse(holder.get("start").asText())).isBefore(Instant.now());
            assertThat(Invocation.of("shm", "gc", "--json").json().get("segments").findValuesAsText("name"))
                    .doesNotContain(name);
        }
        assertThat(Invocation.of("shm", "list").out()).doesNotContain(name);
    }

    @Test
    void theRemovedNameIsReportedAsJson() throws IOException {
        Invocation.of("shm", "publish", torch("tied.pt"), name);

        Invocation removed = Invocation.of("shm remove --json", name);

        assertThat(removed.code()).isZero();
        assertThat(removed.out()).isEqualTo("{\"name\":\"" + name + "\"}\n");
        assertThat(image).doesNotExist();
        Invocation again = Invocation.of("shm remove --json", name);
        assertThat(again.code()).isEqualTo(CommandRunner.MISSING);
        assertThat(again.out()).isEmpty();
    }

    /// In a `/dev/shm` of its own, as names of other programs would be removed too.
    @Test
    void whatNobodyHoldsIsToldByGcAndRemovedIfThatIsAskedFor() throws Exception {
        String croft = String.join(" ", Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp \"$CROFT_CLASS_PATH\"",
                Croft.class.getName());
        String script = """
                mount -t tmpfs tmpfs /dev/shm || exit 77
                %1$s shm publish '%2$s' weights > /dev/null
                printf 'of another program' > /dev/shm/other
                echo 1; %1$s shm gc; ls /dev/shm
                echo 2; %1$s shm gc --json
                echo 3; %1$s shm list
                echo 4; %1$s shm gc --published; ls /dev/shm
                echo 5; %1$s shm gc --published
                """.formatted(croft, TRAINING);
        ProcessBuilder builder = new ProcessBuilder("unshare", "-m", "sh", "-c", script).redirectErrorStream(true);
        builder.environment().put("CROFT_CLASS_PATH", System.getProperty("java.class.path"));
        Process process = started(builder);
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int code = process.waitFor();
        assumeFalse(code == 77 || out.startsWith("unshare"), "no process may have a /dev/shm for itself");
        assertThat(code).as(out).isZero();

        String[] parts = out.split("(?m)^[1-5]\\n");
        assertThat(parts).as(out).hasSize(6);
        assertThat(parts[1]).contains("there was nothing to remove",
                "published and held by no living process, left as they are: weights; "
                        + "croft shm gc --published removes them",
                "\nweights\n");
        assertThat(parts[2]).isEqualToIgnoringWhitespace("{\"segments\":[],\"unheld\":[\"weights\"]}");
        assertThat(parts[3]).contains("weights", "on request", "none");
        assertThat(parts[4]).startsWith("removed").contains("weights", "was held by").endsWith("\nother\n");
        assertThat(parts[5]).isEqualTo("there was nothing to remove\n");
    }

    private static Process started(ProcessBuilder builder) {
        try {
            return builder.start();
        } catch (IOException e) {
            return abort("there is no unshare: " + e.getMessage());
        }
    }

    private JsonNode segment(JsonNode list) {
        for (JsonNode segment : list.get("segments")) {
            if (segment.get("name").asText().equals(name)) {
                return segment;
            }
        }
        throw new AssertionError(name + " is not listed");
    }

    @Test
    void aFileThatIsNotThereIsNamedAndNothingIsPublished() {
        assertRefused(Invocation.of("shm", "publish", folder.resolve("no.pt"), name), "no.pt: there is no such file");
        assertThat(image).doesNotExist();
    }

    @Test
    void aDamagedFileIsNotPublished() throws IOException {
        Path file = folder.resolve("damaged.croft");
        Invocation.of("convert", TRAINING, file);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 2] ^= 1;
        Files.write(file, bytes);

        assertRefused(Invocation.of("shm", "publish", file, name), file.toString(), "damaged");
        assertThat(image).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b", "..", ""})
    void aNameThatCannotBeOneIsRefused(String bad) {
        assertRefused(Invocation.of("shm", "publish", TRAINING, bad), "'" + bad + "' is no name for shared memory");
        assertRefused(Invocation.of("shm", "remove", bad), "'" + bad + "' is no name for shared memory");
    }

    private static void assertRefused(Invocation refused, String... words) {
        assertThat(refused.code()).as(refused.err()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").doesNotContain("\tat ", "Exception").hasLineCount(1)
                .contains(words);
    }

    private static JsonNode hashes(Path file) throws IOException {
        return Invocation.of("inspect", "--json", "--hash", file).json().get("tensors");
    }
}
