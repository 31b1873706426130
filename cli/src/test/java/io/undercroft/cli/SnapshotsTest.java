package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A file of three snapshots: a training checkpoint, the same again, and its model alone.
class SnapshotsTest {
    private static final Path MODEL = Invocation.FIXTURES.resolve("models/tiny-gpt2.pt");

    @TempDir
    Path folder;
    private Path file;

    @BeforeEach
    void aFileOfThreeSnapshots() {
        file = folder.resolve("model.croft");
        Invocation.of("convert", TRAINING, file);
        Invocation.of("append", file, TRAINING, "--message", "the same again");
        Invocation.of("append", file, MODEL);
    }

    @Test
    void snapshotsAreListedTheNewestFirst() {
        Invocation shown = Invocation.of("snapshots", file);

        assertThat(shown.err()).isEmpty();
        assertThat(shown.out().lines()).hasSize(4);
        assertThat(shown.out().lines().toList().get(0))
                .matches("snapshot +time +message +file was +root digest");
        assertThat(shown.out().lines().toList().get(1)).matches(" +3  \\d{4}-\\d\\d-\\d\\dT.*Z .* MiB  [0-9a-f]{12}");
        assertThat(shown.out().lines().toList().get(2)).contains("Z  the same again");
        assertThat(shown.out().lines().toList().get(3)).matches(" +1 +1\\.6 MiB  [0-9a-f]{12}");
    }

    @Test
    void programsGetThemAsJson() throws IOException {
        JsonNode snapshots = Invocation.of("snapshots", "--json", file).json().get("snapshots");

        assertThat(snapshots).hasSize(3);
        JsonNode second = snapshots.get(1);
        assertThat(second.fieldNames()).toIterable().containsExactly("number", "time", "message", "file_nbytes",
                "root_digest");
        assertThat(second.get("number").asInt()).isEqualTo(2);
        assertThat(second.get("message").asText()).isEqualTo("the same again");
        assertThat(Instant.parse(second.get("time").asText()))
                .isBetween(Instant.now().minus(Duration.ofMinutes(10)), Instant.now());
        assertThat(snapshots.get(0).get("file_nbytes").asLong()).isEqualTo(Files.size(file));
        assertThat(snapshots.get(2).get("time").isNull()).isTrue();
        assertThat(snapshots.get(2).get("root_digest").asText()).matches("[0-9a-f]{32}");
    }

    @Test
    void messagesThatCommandTheTerminalAreEscaped() throws IOException {
        Invocation.of("append", file, MODEL, "--message", "a\u001b[31m\nb");

        assertThat(Invocation.of("snapshots", file).out()).contains("a\\u{1b}[31m\\u{a}b").doesNotContain("\u001b");
        assertThat(Invocation.of("inspect", file).out()).contains("snapshot  4, ", "a\\u{1b}[31m\\u{a}b")
                .doesNotContain("\u001b");
        assertThat(Invocation.of("snapshots", "--json", file).json().at("/snapshots/0/message").asText())
                .isEqualTo("a\u001b[31m\nb");
    }

    @Test
    void appendingWhatIsThereWritesOnlyTheIndexAndSaysSo() throws IOException {
        long before = Files.size(file);

        Invocation appended = Invocation.of("append", file, TRAINING);

        assertThat(appended.err()).isEmpty();
        assertThat(appended.out()).contains("(torch-zip) -> " + file + " (snapshot 4, ", "113 tensors on 112 storages",
                "128.0 KiB   7.4 %  not written: tensors share a storage", "are stored already",
                "KiB          written: the index").doesNotContain("%  written");
        assertThat(Files.size(file) - before).isLessThan(64 << 10);
        assertThat(Invocation.of("verify", file).out()).contains("no damage found");
    }

    @Test
    void anEarlierSnapshotCanBeLookedAtVerifiedAndConverted() throws IOException {
        Path converted = folder.resolve("second.croft");

        assertThat(Invocation.of("inspect", "--json", file).json().get("tensors")).hasSize(29);
        assertThat(Invocation.of("inspect", "--json", "--at", "2", file).json().get("tensors")).hasSize(113);
        assertThat(Invocation.of("verify", "--at", 2, file).out()).contains("no damage found", "113 tensors");
        assertThat(Invocation.of("convert", "--at", 2, file, converted).out()).contains("113 tensors");
        assertThat(hashes(converted)).isEqualTo(hashes(TRAINING));
    }

    @Test
    void anEarlierSnapshotCanBecomeTheNewestAgain() throws IOException {
        assertThat(Invocation.of("append", file, file, "--at", 1, "--message", "back").code()).isZero();

        assertThat(Invocation.of("inspect", file).out()).contains("snapshot  4, ", ", back");
        assertThat(hashes(file)).isEqualTo(hashes(TRAINING));
    }

    @Test
    void compactingKeepsTheNewestAndSaysHowMuchShorterTheFileIs() throws IOException {
        long before = Files.size(file);

        Invocation compacted = Invocation.of("compact", file, "--keep", 1);

        assertThat(compacted.err()).isEmpty();
        assertThat(compacted.out()).startsWith(file + ": 1 snapshot, ").endsWith(" MiB less than before\n");
        assertThat(Files.size(file)).isLessThan(before / 2);
        assertThat(hashes(file)).isEqualTo(hashes(MODEL));
        assertThat(Invocation.of("compact", file).out()).endsWith(" as before\n");
    }

    @Test
    void compactingKeepsAllSnapshotsUnlessTold() throws IOException {
        assertThat(Invocation.of("compact", file).out()).startsWith(file + ": 3 snapshots, ");

        assertThat(Invocation.of("snapshots", "--json", file).json().get("snapshots")).hasSize(3);
        assertThat(Invocation.of("verify", file).code()).isZero();
    }

    @Test
    void oneSnapshotCanBeExported() throws IOException {
        Path exported = folder.resolve("first.croft");

        assertThat(Invocation.of("convert", "--keep-bases", file, exported, "--at", 1).out())
                .startsWith(file + " (snapshot 1, ").contains("-> " + exported);

        assertThat(hashes(exported)).isEqualTo(hashes(TRAINING));
        assertThat(Invocation.of("snapshots", "--json", exported).json().get("snapshots")).hasSize(1);
    }

    @Test
    void aDamagedNewestSnapshotIsSaidAndTheOneBeforeShown() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 5000] ^= 1;
        Files.write(file, bytes);

        Invocation shown = Invocation.of("inspect", "--json", file);
        assertThat(shown.code()).isZero();
        assertThat(shown.err()).startsWith("croft: " + file + ": a newer snapshot cannot be opened, so this is 2: ")
                .hasLineCount(1);
        assertThat(shown.json().get("tensors")).hasSize(113);
        assertThat(Invocation.of("snapshots", file).err()).contains("so this is 2: ");
        assertThat(Invocation.of("verify", file).code()).isEqualTo(4);

        Path exported = folder.resolve("second.croft");
        assertThat(Invocation.of("convert", "--keep-bases", file, exported).err()).contains("so this is 2: ");
        assertThat(Invocation.of("verify", exported).code()).isZero();
    }

    private static JsonNode hashes(Path file) throws IOException {
        return Invocation.of("inspect", "--json", "--hash", file).json().get("tensors");
    }
}
