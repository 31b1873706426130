package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// A file with one tensor that cannot be read has the same readable tensors for every command, and none calls the file
/// damaged.
class UnreadableTensorsTest {
    @TempDir
    Path folder;

    private Path make(String name) throws IOException {
        return switch (name) {
            case "model.gguf" -> gguf();
            case "model.npz" -> npz();
            default -> safetensors();
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

    @ParameterizedTest
    @ValueSource(strings = {"model.gguf", "model.npz", "model.safetensors"})
    void digestsOfTheOthersArePrinted(String name) throws IOException {
        Path file = make(name);

        Invocation text = Invocation.of("inspect", "--hash", file);
        Invocation json = Invocation.of("inspect", "--hash", "--json", file);

        assertThat(text.code()).isEqualTo(3);
        assertThat(text.out()).contains("…");
        assertThat(json.code()).isEqualTo(3);
        for (JsonNode tensor : json.json().get("tensors")) {
            assertThat(tensor.get("sha256").isNull()).isEqualTo(tensor.get("name").asText().equals("bad"));
        }
        for (JsonNode storage : json.json().get("storages")) {
            assertThat(storage.get("sha256").isNull()).isEqualTo(storage.get("id").asInt() == 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.gguf", "model.npz", "model.safetensors"})
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

        ran.forEach((command, result) -> {
            assertThat(result.code()).as("%s: %s", command, result.err()).isEqualTo(3);
            assertThat(result.err()).as(command).containsPattern("bad|GGUF-TYPE").doesNotContain("is damaged",
                    "are damaged");
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
}
