package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.format.Digest128;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.Records;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// A file with one tensor that cannot be read has the same readable tensors for every command, and none calls the file
/// damaged unless the tensor breaks a rule of the format.
class UnreadableTensorsTest {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @TempDir
    Path folder;

    private Path make(String name) throws IOException {
        return switch (name) {
            case "model.gguf" -> gguf();
            case "model.npz" -> npz();
            case "model.safetensors" -> safetensors();
            case "model.pt" -> torch();
            case "outside.croft" -> croft("TENS 1, 'bad', float64 [2]: byte offset", 4096);
            default -> croft("DTYP 1, float64: elements per block", 2);
        };
    }

    private Path gguf() throws IOException {
        ByteBuffer file = ByteBuffer.allocate(256).order(ByteOrder.LITTLE_ENDIAN);
        file.put("GGUF".getBytes(US_ASCII)).putInt(3).putLong(3).putLong(0);
        List<String> names = List.of("a", "bad", "c");
        for (int i = 0; i < names.size(); i++) {
            file.putLong(names.get(i).length()).put(names.get(i).getBytes(US_ASCII)).putInt(1).putLong(4)
                    .putInt(names.get(i).equals("bad") ? 42 : 0).putLong(32L * i);
        }
        return Files.write(folder.resolve("model.gguf"), file.array());
    }

    private Path safetensors() throws IOException {
        byte[] header = ("{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]},"
                + "'bad':{'dtype':'I4','shape':[4],'data_offsets':[4,6]},"
                + "'c':{'dtype':'U8','shape':[2],'data_offsets':[6,8]}}").replace('\'', '"').getBytes(US_ASCII);
        return Files.write(folder.resolve("model.safetensors"), ByteBuffer.allocate(8 + header.length + 8)
                .order(ByteOrder.LITTLE_ENDIAN).putLong(header.length).put(header).array());
    }

    private Path npz() throws IOException {
        Path array = folder.resolve("array.npy");
        Checkpoint.save(array, Tensor.zeros(DType.FLOAT64, 2));
        String bytes = Files.readString(array, ISO_8859_1);
        Files.delete(array);
        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(zip)) {
            for (String name : List.of("a", "bad", "c")) {
                out.putNextEntry(new ZipEntry(name + ".npy"));
                out.write((name.equals("bad") ? bytes.replace("<f8", "<q8") : bytes)
                        .getBytes(ISO_8859_1));
            }
        }
        return Files.write(folder.resolve("model.npz"), zip.toByteArray());
    }

    /// The second tensor reaches outside its storage, which is damage.
    private Path torch() throws IOException {
        Path whole = folder.resolve("whole.pt");
        Tensor all = Tensor.zeros(DType.UINT8, 100);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("a", all);
        state.put("bad", all.narrow(0, 77, 2));
        state.put("c", Tensor.of(1f));
        Checkpoint.save(whole, state);
        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        try (ZipFile in = new ZipFile(whole.toFile()); ZipOutputStream out = new ZipOutputStream(zip)) {
            out.setMethod(ZipOutputStream.STORED);
            for (ZipEntry entry : Collections.list(in.entries())) {
                String bytes = new String(in.getInputStream(entry).readAllBytes(), ISO_8859_1);
                byte[] changed = (entry.getName().endsWith("/data.pkl") ? bytes.replace("KM", "K\u00ff") : bytes)
                        .getBytes(ISO_8859_1);
                CRC32 crc = new CRC32();
                crc.update(changed);
                ZipEntry copy = new ZipEntry(entry.getName());
                copy.setSize(changed.length);
                copy.setCrc(crc.getValue());
                out.putNextEntry(copy);
                out.write(changed);
            }
        }
        Files.delete(whole);
        return Files.write(folder.resolve("model.pt"), zip.toByteArray());
    }

    /// The type of the second tensor has blocks of two elements, which is a later version of the format; or the tensor
    /// begins behind its storage, which is damage.
    private Path croft(String field, int value) throws IOException {
        Path file = folder.resolve("model.croft");
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("a", Tensor.of(1f, 2f));
        state.put("bad", Tensor.of(1.0, 2.0));
        state.put("c", Tensor.of(3f));
        Checkpoint.save(file, state);
        Map<String, Long> fields = new HashMap<>();
        Invocation.of("hexdump", "--json", file).json().get("parts").forEach(part -> part.get("lines")
                .forEach(line -> fields.put(part.get("title").asText().replaceFirst(" of snapshot.*", "") + ": "
                        + line.get("name").asText(), line.get("offset").asLong())));
        MemorySegment bytes = MemorySegment.ofArray(Files.readAllBytes(file));
        bytes.set(INT, place(fields, field), value);
        long commit = place(fields, "commit record of the first snapshot, snapshot 1: signature");
        MemorySegment index = bytes.asSlice(bytes.get(LONG, commit + 16), bytes.get(LONG, commit + 24));
        long entry = place(fields, "entry of " + field.substring(0, 4) + ": section");
        bytes.set(INT, entry + 36,
                Checksums.crc32c(index.asSlice(bytes.get(LONG, entry + 8), bytes.get(LONG, entry + 16))));
        MemorySegment directory = Records.directory(index);
        directory.set(INT, 24, Index.directoryChecksum(directory));
        put(bytes, commit + 32, Digest128.of(directory));
        put(bytes, commit + 96, Digest128.of(index));
        bytes.set(INT, commit + 764, Checksums.crc32c(bytes.asSlice(commit, 764)));
        return Files.write(file, bytes.toArray(ValueLayout.JAVA_BYTE));
    }

    private static long place(Map<String, Long> fields, String name) {
        assertThat(fields).containsKey(name);
        return fields.get(name);
    }

    private static void put(MemorySegment bytes, long at, Digest128 digest) {
        bytes.set(LONG, at, digest.low());
        bytes.set(LONG, at + 8, digest.high());
    }

    /// The exit code of every command: 4 if the tensor breaks a rule, 3 if it is of a type that is not known.
    private static int code(String name) {
        return name.equals("model.pt") || name.equals("outside.croft") ? 4 : 3;
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.gguf", "model.npz", "model.safetensors", "model.pt", "model.croft",
            "outside.croft"})
    void digestsOfTheOthersArePrinted(String name) throws IOException {
        Path file = make(name);

        Invocation text = Invocation.of("inspect", "--hash", file);
        Invocation json = Invocation.of("inspect", "--hash", "--json", file);

        assertThat(text.code()).as(text.err()).isEqualTo(code(name));
        assertThat(text.out()).contains("…");
        assertThat(json.code()).isEqualTo(code(name));
        for (JsonNode tensor : json.json().get("tensors")) {
            assertThat(tensor.get("sha256").isNull()).isEqualTo(tensor.get("name").asText().equals("bad"));
        }
        for (JsonNode storage : json.json().get("storages")) {
            assertThat(storage.get("sha256").isNull()).isEqualTo(storage.get("id").asInt() == 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.gguf", "model.npz", "model.safetensors", "model.pt", "model.croft",
            "outside.croft"})
    void everyCommandReadsTheOthersNamesTheOneAndSaysThatNothingIsDamaged(String name) throws IOException {
        Path file = make(name);
        Path target = folder.resolve("out.croft");
        Map<String, Invocation> ran = new LinkedHashMap<>();
        for (String options : List.of("", " --json", " --hash", " --hash --json")) {
            ran.put("inspect" + options, Invocation.of("inspect" + options, file));
        }
        ran.put("html", Invocation.of("inspect", file, "--html", folder.resolve("page.html")));
        ran.put("verify", Invocation.of("verify", file));
        ran.put("verify --json", Invocation.of("verify --json", file));
        ran.put("convert", Invocation.of("convert", file, target));
        ran.put("convert others", Invocation.of("convert", file, folder.resolve("out.pt")));
        ran.put("append", Invocation.of("append", target, file));
        ran.put("diff", Invocation.of("diff", file, file));
        ran.put("diff --stats", Invocation.of("diff --stats", file, file));
        ran.put("dedup", Invocation.of("dedup", file));
        ran.put("extract", Invocation.of("extract", file, "bad"));
        ran.put("extract -o", Invocation.of("extract", file, "bad", "-o", folder.resolve("bad.npy")));
        String shared = "croft-test-unreadable-" + ProcessHandle.current().pid();
        ran.put("publish", Invocation.of("shm publish", file, shared));
        try (Checkpoint published = PublishedCheckpoint.attach(shared)) {
            assertThat(published.names()).containsExactly("a", "c");
        } finally {
            PublishedCheckpoint.unpublish(shared);
        }

        ran.forEach((command, result) -> {
            assertThat(result.code()).as("%s: %s", command, result.err()).isEqualTo(code(name));
            assertThat(result.err()).as(command).containsPattern("bad|GGUF-TYPE|TORCH-TENSOR|record 1 of");
            if (code(name) == 3) {
                assertThat(result.err()).as(command).doesNotContain("is damaged", "are damaged");
            }
        });
        assertThat(Invocation.of("extract", file, "a").code()).isZero();
        assertThat(Invocation.of("extract", file, "c").code()).isZero();
        for (Path written : List.of(target, folder.resolve("out.pt"))) {
            try (Checkpoint read = Checkpoint.open(written)) {
                assertThat(read.names()).containsExactly("a", "c");
            }
        }
        List<String> readable = new ArrayList<>();
        for (JsonNode tensor : ran.get("inspect --json").json().get("tensors")) {
            if (!tensor.has("unreadable")) {
                readable.add(tensor.get("name").asText());
            }
        }
        assertThat(readable).containsExactly("a", "c");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.croft", "outside.croft"})
    void salvagingSavesTheOthersAndEndsWithTheSameCode(String name) throws IOException {
        Path target = folder.resolve("salvaged.croft");

        Invocation salvaged = Invocation.of("salvage", make(name), target);

        assertThat(salvaged.code()).as(salvaged.err()).isEqualTo(code(name));
        assertThat(salvaged.err()).contains("left out: bad");
        assertThat(salvaged.err().contains("damaged")).isEqualTo(code(name) == 4);
        try (Checkpoint read = Checkpoint.open(target)) {
            assertThat(read.names()).containsExactly("a", "c");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.gguf", "model.safetensors"})
    void theShapeInTheFileIsShownAndItsBytesAreNotCounted(String name) throws IOException {
        Path file = make(name);

        assertThat(Invocation.of("inspect", file).out()).containsPattern("bad +unreadable +\\[4\\]");
        JsonNode json = Invocation.of("inspect", "--json", "--hash", file).json();
        assertThat(json.get("tensors").get(1).get("shape").toString()).isEqualTo("[4]");
        assertThat(json.get("tensors").get(1).get("sha256").isNull()).isTrue();
        assertThat(json.get("nbytes").get("tensors").asLong()).isEqualTo(name.endsWith("gguf") ? 32 : 6);
    }

    @ParameterizedTest
    @ValueSource(strings = {"v5-stride-range", "v8-limit", "v9-reserved.flag", "v10-index"})
    void commandsAgreeOnWhichTensorsOfADamagedIndexCanBeRead(String rule) throws IOException {
        Path file = Path.of("../format-spec/src/test/resources/corpus", rule + ".croft");

        Invocation shown = Invocation.of("inspect", "--json", file);
        Invocation hashed = Invocation.of("inspect", "--json", "--hash", file);

        assertThat(shown.code()).isIn(3, 4);
        assertThat(hashed.code()).as(hashed.err()).isEqualTo(shown.code());
        assertThat(Invocation.of("verify", file).code()).isEqualTo(shown.code());
        List<String> unreadable = new ArrayList<>();
        for (JsonNode tensor : hashed.json().get("tensors")) {
            if (tensor.has("unreadable")) {
                unreadable.add(tensor.get("name").asText());
            }
            assertThat(tensor.get("sha256").isNull()).isEqualTo(tensor.has("unreadable"));
            int code = Invocation.of("extract", file, tensor.get("name").asText()).code();
            assertThat(code).isEqualTo(tensor.has("unreadable") ? shown.code() : 0);
        }
        assertThat(unreadable).isNotEmpty();
    }
}
