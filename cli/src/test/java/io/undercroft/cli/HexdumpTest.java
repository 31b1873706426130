package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HexdumpTest {
    @TempDir
    Path folder;
    private Path file;

    @BeforeEach
    void convert() {
        file = folder.resolve("a.croft");
        Invocation.of("convert", TRAINING, file);
        Invocation.of("append", file, Invocation.torch("tied.pt"), "--message", "später");
    }

    @Test
    void fieldsAreShownWithTheirBytesAndTheirMeaning() {
        Invocation shown = Invocation.of("hexdump", file);

        assertThat(shown.code()).isZero();
        assertThat(shown.out()).startsWith("header (256 bytes at 0x0)\n"
                + "  0000000000  89 43 52 46 0d 0a 1a 0a                              signature                     "
                + "  .CRF....\n").contains("chunks of 1048576 bytes", "commit slot 0, snapshot 2",
                        "commit slot 1, empty",
                        "parent record, snapshot 1", "'später'", "entry of TENS",
                        "TENS 0, 'emb.weight', float32 [2, 3]", "NAMS 1, 'head.weight'",
                        "extent 0, part 0 of storage 0");
    }

    @Test
    void everyByteOfTheHeaderTheRecordsAndTheIndexIsShown() throws IOException {
        JsonNode json = Invocation.of("hexdump --json --limit 1000000", file).json();
        BitSet shown = new BitSet();
        json.get("parts").forEach(part -> part.get("lines").forEach(line -> shown.set(line.get("offset").asInt(),
                line.get("offset").asInt() + line.get("nbytes").asInt())));

        assertThat(json.get("nbytes").asLong()).isEqualTo(Files.size(file));
        assertThat(shown.nextClearBit(0)).isGreaterThanOrEqualTo(1024);
        json.get("parts").forEach(part -> {
            if (part.get("section").asText().matches("[a-z]{4}")) {
                int start = part.get("offset").asInt();
                int end = start + part.get("nbytes").asInt();
                assertThat(shown.nextClearBit(start)).as(part.get("title").asText()).isGreaterThanOrEqualTo(end);
            }
        });
    }

    @Test
    void sectionsAndTheNumberOfRecordsAreChosen() throws IOException {
        JsonNode json = Invocation.of("hexdump --json --limit 1 --section nams --section HEADER", file).json();

        assertThat(json.get("parts")).hasSize(2);
        assertThat(json.at("/parts/0/section").asText()).isEqualTo("header");
        assertThat(json.at("/parts/1/title").asText()).isEqualTo("NAMS 0, 'emb.weight'");
        assertThat(json.at("/parts/1/omitted").asInt()).isEqualTo(1);
        assertThat(Invocation.of("hexdump --section none", file).err()).hasLineCount(1)
                .contains("only header, commits");
        assertThat(Invocation.of("hexdump --limit 1 --section nams", file).out()).contains("… and 1 more; --limit");
    }

    @Test
    void aFileOfAnotherFormatIsRefused() {
        Invocation refused = Invocation.of("hexdump", TRAINING);

        assertThat(refused.code()).isEqualTo(3);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).hasLineCount(1).contains("V12-SIGNATURE");
    }

    @Test
    void aFileWithoutItsEndIsShownAsFarAsItGoes() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        for (int length : new int[]{8, 100, 300, 1100, bytes.length / 2}) {
            Files.write(file, Arrays.copyOf(bytes, length));
            Invocation shown = Invocation.of("hexdump", file);

            assertThat(shown.code()).as("of %d bytes", length).isEqualTo(4);
            assertThat(shown.out()).startsWith("header");
            assertThat(shown.err()).hasLineCount(1).startsWith("croft: " + file).doesNotContain("fault in croft");
        }
    }

    @Test
    void damageCausesNoOtherFailureThanAMessage() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        Random random = new Random(7);
        for (int i = 0; i < 300; i++) {
            byte[] damaged = bytes.clone();
            int from = i % 2 == 0 ? 0 : bytes.length - 12_000;
            for (int k = 0; k < 1 + i % 5; k++) {
                damaged[from + random.nextInt(i % 2 == 0 ? 1100 : 12_000)] = (byte) random.nextInt();
            }
            Files.write(file, damaged);
            Invocation shown = Invocation.of("hexdump", file);

            assertThat(shown.code()).as("seed 7, round %d: %s", i, shown.err()).isIn(0, 3, 4);
            assertThat(shown.err()).doesNotContain("fault in croft");
        }
    }
}
