package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
        assertThat(shown.out()).startsWith("""
                header (256 bytes at 0x0)
                  0000000000  89 43 52 46 0d 0a 1a 0a                         # signature: .CRF....
                """)
                .contains("chunks of 1048576 bytes", "commit slot 0, snapshot 2",
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
    void anOlderSnapshotIsShown() throws IOException {
        Invocation older = Invocation.of("hexdump --at 1 --limit 1000", file);
        Invocation newest = Invocation.of("hexdump --at 2 --limit 1000", file);

        assertThat(older.code()).isZero();
        assertThat(older.out()).contains("chosen record, snapshot 1", "head of the index of snapshot 1",
                "'model/lm_head.weight', float32 [512, 64]").doesNotContain("'emb.weight'");
        assertThat(newest.out()).contains("head of the index of snapshot 2", "'emb.weight'")
                .doesNotContain("'model/lm_head.weight'");
        for (String json : new String[]{"", " --json"}) {
            Invocation none = Invocation.of("hexdump --at 3" + json, file);
            assertThat(none.code()).isEqualTo(CommandRunner.USAGE);
            assertThat(none.out()).isEmpty();
            assertThat(none.err()).hasLineCount(1).contains("there is no snapshot 3");
        }
    }

    @Test
    void aFileOfAnotherFormatIsRefusedWithWhatToUseInstead() throws IOException {
        Invocation refused = Invocation.of("hexdump", TRAINING);

        assertThat(refused.code()).isEqualTo(CommandRunner.USAGE);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).hasLineCount(1).contains(
                TRAINING + ": hexdump shows .croft, .croftset and safetensors",
                "torch-zip", "croft inspect --html OUT");
        Invocation unknown = Invocation.of("hexdump", Files.writeString(folder.resolve("a.txt"), "some text"));
        assertThat(unknown.code()).isEqualTo(CommandRunner.MISSING);
        assertThat(unknown.err()).hasLineCount(1).contains("FORMAT-UNKNOWN");
        Invocation directory = Invocation.of("hexdump", Files.createDirectory(folder.resolve("directory")));
        assertThat(directory.code()).isEqualTo(CommandRunner.MISSING);
        assertThat(directory.err()).hasLineCount(1).contains("it is a directory");
    }

    @Test
    void longFieldsAreShownByTheirFirstRowsAndTextsInTheirScript() throws IOException {
        Path saved = folder.resolve("texts.croft");
        Checkpoint.save(saved, Map.of("größe 重み 🜁", Tensor.of(1f), "text", "long ".repeat(100)));
        Invocation shown = Invocation.of("hexdump --limit 100", saved);

        assertThat(shown.out()).contains("'größe 重み 🜁', float32 [1] (", "# STRING: 'größe 重み 🜁'\n");
        assertThat(shown.out()).containsPattern("""
                  [0-9a-f]{10}  09 f4 03( [0-9a-f]{2}){13} # STRING: 'long long .*
                (  [0-9a-f]{10}  [0-9a-f]{2}( [0-9a-f]{2}){15}
                ){3}  … and 439 more bytes
                """);
    }

    @Test
    void aSetIsShownWithItsShards() throws IOException {
        Path set = folder.resolve("all.croftset");
        assertThat(Invocation.of("set create", set, file).code()).isZero();
        Invocation shown = Invocation.of("hexdump", set);

        assertThat(shown.err()).isEmpty();
        assertThat(shown.out()).startsWith("head of the set (64 bytes at 0x0)\n").contains("# shard count: 1\n",
                "shard 0, 'a.croft' (80 bytes at 0x40)", "paths of the shards (7 bytes at ", "# text: a.croft\n");
        assertThat(Invocation.of("hexdump --at 1", set).err()).hasLineCount(1).contains("have no snapshots");
        byte[] bytes = Files.readAllBytes(set);
        bytes[bytes.length - 1] ^= 1;
        Invocation damaged = Invocation.of("hexdump", Files.write(set, bytes));
        assertThat(damaged.code()).isEqualTo(CommandRunner.DAMAGED);
        assertThat(damaged.out()).contains("damaged: the checksum of the set does not match", "shard 0, 'a.croft'");
    }

    private Path safetensors() throws IOException {
        Path saved = folder.resolve("a.safetensors");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("w", Tensor.arange(DType.INT32, 6).view(2, 3));
        state.put("b\u0301", Tensor.of(1.5, 2.5));
        Checkpoint.save(saved, state, SaveOptions.defaults().metadata(Map.of("author", "you \"} , {\\")));
        return saved;
    }

    @Test
    void aSafetensorsFileIsShownWithItsHeaderAndItsTensors() throws IOException {
        Path saved = safetensors();
        Invocation shown = Invocation.of("hexdump", saved);
        JsonNode json = Invocation.of("hexdump --json", saved).json();

        assertThat(shown.err()).isEmpty();
        assertThat(shown.code()).isZero();
        assertThat(shown.out()).startsWith("length of the header (8 bytes at 0x0)\n")
                .contains("header in JSON", "\"w\":{\"dtype\":\"I32\",\"shape\":[2,3]", "__metadata__",
                        "'w', I32 [2, 3] (24 bytes at ", "F64 [2] (16 bytes at ")
                .doesNotContain("damaged", "gap");
        BitSet bytes = new BitSet();
        json.get("parts").forEach(part -> {
            boolean isHeader = part.get("section").asText().matches("length|header");
            (isHeader ? part.get("lines") : List.of(part)).forEach(run -> bytes.set(run.get("offset").asInt(),
                    run.get("offset").asInt() + run.get("nbytes").asInt()));
        });
        assertThat(bytes.nextClearBit(0)).isEqualTo((int) Files.size(saved));
        assertThat(Invocation.of("hexdump --section tensors --limit 1", saved).out()).startsWith("'")
                .contains("… and 1 more; --limit");
        assertThat(Invocation.of("hexdump --at 1", saved).err()).hasLineCount(1).contains("have no snapshots");
        assertThat(Invocation.of("hexdump --section tens", saved).err()).hasLineCount(1)
                .contains("only length, header, tensors, gaps");
    }

    @Test
    void gapsAndTrailingBytesOfASafetensorsFileAreShown() throws IOException {
        String header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]},"
                + "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}}";
        Path saved = folder.resolve("gaps.safetensors");
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length() + 12).order(ByteOrder.LITTLE_ENDIAN);
        Files.write(saved, bytes.putLong(header.length()).put(header.getBytes(StandardCharsets.US_ASCII)).array());

        Invocation shown = Invocation.of("hexdump", saved);

        assertThat(shown.code()).isEqualTo(CommandRunner.DAMAGED);
        assertThat(shown.err()).hasLineCount(1).contains("SAFETENSORS-LAYOUT");
        assertThat(shown.out()).contains("gap that no tensor has (2 bytes at 0x%X)".formatted(8 + header.length()),
                "'a', U8 [4] (4 bytes at ", "damaged: the tensor starts 1 bytes before the end of the one before it",
                "bytes behind the last tensor (4 bytes at ");
    }

    @Test
    void aDamagedSafetensorsFileIsShownAsFarAsItGoes() throws IOException {
        byte[] bytes = Files.readAllBytes(safetensors());
        Path cut = folder.resolve("cut.safetensors");
        for (int length : new int[]{9, 20, 100, bytes.length - 30, bytes.length - 1}) {
            Files.write(cut, Arrays.copyOf(bytes, length));
            Invocation shown = Invocation.of("hexdump", cut);

            assertThat(shown.code()).as("of %d bytes", length).isEqualTo(CommandRunner.DAMAGED);
            assertThat(shown.out()).startsWith("length of the header");
            assertThat(shown.err()).hasLineCount(1).startsWith("croft: " + cut).doesNotContain("fault in croft");
        }
        Random random = new Random(7);
        for (int i = 0; i < 300; i++) {
            byte[] damaged = bytes.clone();
            for (int k = 0; k < 1 + i % 5; k++) {
                damaged[random.nextInt(i % 3 == 0 ? 8 : bytes.length)] = (byte) random.nextInt();
            }
            Files.write(cut, damaged);
            Invocation shown = Invocation.of("hexdump --json", cut);

            assertThat(shown.code()).as("seed 7, round %d: %s", i, shown.err()).isIn(0, 3, 4);
            assertThat(shown.err()).doesNotContain("fault in croft");
        }
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
