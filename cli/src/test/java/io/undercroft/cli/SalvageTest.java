package io.undercroft.cli;

import static io.undercroft.cli.Invocation.EMBEDDING;
import static io.undercroft.cli.Invocation.HEAD;
import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SalvageTest {
    @TempDir
    Path folder;
    private Path file;
    private Path rescued;

    @BeforeEach
    void aFile() {
        file = folder.resolve("model.croft");
        rescued = folder.resolve("rescued.croft");
        Invocation.of("convert", TRAINING, file);
    }

    @Test
    void soundTensorsAreSavedAndTheOthersListed() throws IOException {
        damageTheEmbedding();

        Invocation salvaged = Invocation.of("salvage", file, rescued);

        assertThat(salvaged.code()).isEqualTo(4);
        assertThat(salvaged.out()).startsWith(file + " (snapshot 1, ").endsWith(": 111 of 113 tensors\n");
        assertThat(salvaged.err().lines()).allMatch(line -> line.startsWith("croft: " + file + ": "));
        assertThat(salvaged.err()).contains("are damaged: ", "left out: " + HEAD + ", " + EMBEDDING);
        Map<String, JsonNode> expected = hashes(TRAINING);
        expected.remove(EMBEDDING);
        expected.remove(HEAD);
        assertThat(hashes(rescued)).isEqualTo(expected);
        assertThat(Invocation.of("verify", rescued).code()).isZero();
    }

    @Test
    void aSoundFileIsSavedWhole() throws IOException {
        Invocation salvaged = Invocation.of("salvage", file, rescued);

        assertThat(salvaged.code()).isZero();
        assertThat(salvaged.err()).isEmpty();
        assertThat(salvaged.out()).endsWith(": 113 of 113 tensors\n");
        assertThat(hashes(rescued)).isEqualTo(hashes(TRAINING));
        assertThat(Invocation.of("inspect", rescued).out()).contains("1 storage is shared by several tensors");
    }

    @Test
    void aFileOfAnotherFormatIsRefused() {
        Invocation refused = Invocation.of("salvage", TRAINING, rescued);

        assertThat(refused.code()).isEqualTo(3);
        assertThat(refused.err()).contains(TRAINING.toString()).hasLineCount(1);
        assertThat(rescued).doesNotExist();
    }

    @Test
    void anAdoptedFileIsNotReadUnlessItIsSaidWhereItIs() throws IOException {
        Path torch = Files.copy(TRAINING, folder.resolve("model.pt"));
        Invocation.of("convert", torch, file, "--base", torch);

        Invocation refused = Invocation.of("salvage", file, rescued);
        assertThat(refused.err()).startsWith("croft: " + file + ": bytes are in ").contains("--root").hasLineCount(1);
    }

    private void damageTheEmbedding() throws IOException {
        long offset;
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            MemorySegment bytes = MemorySegment.ofArray(Files.readAllBytes(file));
            MemorySegment needle = checkpoint.tensor(EMBEDDING).storage().segment().asSlice(1000, 64);
            offset = 0;
            while (bytes.asSlice(offset, 64).mismatch(needle) >= 0) {
                offset++;
            }
        }
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.seek(offset);
            int value = out.read();
            out.seek(offset);
            out.write(value ^ 0x10);
        }
    }

    private static Map<String, JsonNode> hashes(Path file) throws IOException {
        Map<String, JsonNode> hashes = new HashMap<>();
        Invocation.of("inspect", "--json", "--hash", file).json().get("tensors")
                .forEach(tensor -> hashes.put(tensor.get("name").asText(), tensor.get("sha256")));
        return hashes;
    }
}
